"""Hold ``jitwatch lint --fix`` against what upstream projects changed in the same kernels.

    python -m tests.benchmarks.bench_upstream_fixes --cases CASES.jsonl --sources DIR [--every]

Not run in CI: the sources are other people's. A line of CASES is a fix of one kernel: ``id``, ``status``, ``kernel``
and ``changed_params``, each with ``name``, ``role`` and ``change``, a list of words (``added to do_not_specialize``,
``constexpr removed``, ``parameter removed``, ``removed from autotune key``). DIR/<id> holds the file before it
(``before.py``) and, where it is another one, the file of the launch (``launch.py``).

The fixes, unsafe ones too, are applied to a copy. A parameter is freed as far as upstream freed it when it is no
larger a part of the compile key, and in no tuning key that upstream took it out of. A kernel is the *same* when that
holds for all of upstream's parameters and nothing else changed, a *superset* when something else was freed as well.
"""

from __future__ import annotations

import argparse
import enum
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jitwatch.source import analyse_module, link
from jitwatch.source.lengths import ON_ALIGNMENT, OPT_OUT, judge
from jitwatch.source.model import Kernel, Project
from jitwatch.source.remedies import costs_width
from jitwatch.source.wording import need, origin

LENGTH = "length/count"


class Part(enum.IntEnum):
    """How much of an argument is in the compile key."""

    NOTHING = 0
    """It is opted out, or gone."""
    ONE = 1
    """The value 1 and all others."""
    CLASSES = 2
    VALUE = 3


@dataclass(frozen=True)
class Freedom:
    """What one parameter of a kernel still splits."""

    part: Part
    tuned: bool
    """It is in an autotuner's key."""

    def reaches(self, other: Freedom) -> bool:
        """Whether it splits no more than the other."""
        return self.part <= other.part and self.tuned <= other.tuned


FREE = Freedom(Part.NOTHING, False)


@dataclass(frozen=True)
class Miss:
    """A parameter that upstream freed further."""

    name: str
    is_length: bool
    in_key: bool
    """Upstream took it out of the compile key, and not of a tuning key alone."""
    reason: str

    def __str__(self) -> str:
        return f"{self.name}{'' if self.is_length else ' (no length)'}: {self.reason}"


@dataclass(frozen=True)
class Compared:
    """One fix of upstream's beside jitwatch's."""

    name: str
    lengths: bool
    """Upstream changed a length or a count."""
    misses: tuple[Miss, ...]
    more: tuple[str, ...]
    """What jitwatch freed besides."""

    def verdict(self, misses: Sequence[Miss]) -> str:
        """One word for it, given the misses that count."""
        if misses:
            return "misses"
        return "superset" if self.more else "same"


def freedoms(kernels: Sequence[Kernel]) -> dict[str, Freedom]:
    """Each parameter by name; of several definitions of a kernel, the one that splits most."""
    found: dict[str, Freedom] = {}
    for kernel in kernels:
        tuned = {each.name for each in kernel.listed("key")}
        out = {each.name for each in kernel.listed(OPT_OUT)}
        divisible = {each.name for each in kernel.listed(ON_ALIGNMENT)}
        for parameter in kernel.parameters:
            name = parameter.name
            part = Part.ONE if name in divisible else Part.CLASSES
            part = Part.VALUE if parameter.is_constexpr else Part.NOTHING if name in out else part
            here = Freedom(part, name in tuned)
            other = found.get(name, here)
            found[name] = Freedom(max(here.part, other.part), here.tuned or other.tuned)
    return found


def upstream(change: Sequence[str], before: Freedom) -> Freedom:
    """What upstream left of a parameter."""
    said = " ".join(change)
    if "parameter removed" in said:
        return FREE
    part = before.part
    if "constexpr removed" in said:
        part = min(part, Part.CLASSES)
    if "added to do_not_specialize" in said:
        part = Part.ONE if "added to do_not_specialize_on_alignment" in said else Part.NOTHING
    return Freedom(part, before.tuned and "removed from autotune key" not in said)


def project_of(folder: Path) -> Project:
    """The files of a case, read as the linter reads them."""
    return link([analyse_module(str(path), path.read_bytes()) for path in sorted(folder.glob("*.py"))])


def kernels_of(project: Project, name: str) -> list[Kernel]:
    """The definitions of a kernel."""
    return [each for kernels in project.kernels.values() for each in kernels if each.name == name]


def fixed(folder: Path) -> list[dict[str, Any]]:
    """Apply the fixes to the files of a folder; returns the findings that are left."""
    command = [
        sys.executable,
        "-m",
        "jitwatch",
        "lint",
        "--fix",
        "--unsafe-fixes",
        "--isolated",
        "--no-cache",
    ]
    got = subprocess.run([*command, "--format", "json", str(folder)], capture_output=True, text=True)
    if got.returncode not in (0, 1):
        raise SystemExit(f"{folder.name}: {got.stderr.strip()}")
    left: list[dict[str, Any]] = json.loads(got.stdout)
    return left


def why(project: Project, kernel: Kernel, name: str, left: Sequence[dict[str, Any]]) -> str:
    """Why jitwatch did not free a parameter: what it still says of it, or what it takes it for."""
    for finding in left:
        if finding["kernel"] == kernel.name and finding["parameter"] == name:
            return f"{finding['code']}: {finding['remedy']}"
    parameter = kernel.parameter(name)
    assert parameter is not None, "only parameters of the kernel as it was are compared"
    judgement = judge(project, kernel, parameter)
    if judgement.varies and costs_width(kernel, parameter):
        return f"a length, but it {need(parameter)}: an opt-out costs the width of loads and stores"
    return f"taken for: {judgement.origin.value}, {judgement.cardinality.value}{origin(judgement)}"


def compare(case: dict[str, Any], source: Path, folder: Path) -> Compared:
    """Fix a copy of a case in ``folder``, and compare."""
    for name in ("before.py", "launch.py"):
        if (source / name).exists():
            shutil.copyfile(source / name, folder / name)
    project = project_of(folder)
    kernels = kernels_of(project, case["kernel"])
    before, left = freedoms(kernels), fixed(folder)
    after = freedoms(kernels_of(project_of(folder), case["kernel"]))
    changed = {each["name"]: each for each in case["changed_params"] if each["name"] in before}
    wanted = {name: upstream(each["change"], before[name]) for name, each in changed.items()}
    misses = [
        Miss(
            name,
            each["role"] == LENGTH,
            wanted[name].part < before[name].part,
            why(project, kernels[0], name, left),
        )
        for name, each in changed.items()
        if not after.get(name, FREE).reaches(wanted[name])
    ]
    more = [
        name for name in before.keys() - changed.keys() if not before[name].reaches(after.get(name, FREE))
    ]
    lengths = any(each["role"] == LENGTH for each in changed.values())
    return Compared(case["id"], lengths, tuple(misses), tuple(sorted(more)))


def cases_of(path: Path, sources: Path, every: bool) -> Iterator[dict[str, Any]]:
    """Yield the merged fixes whose sources are there: those that opt something out, or every one."""
    for line in path.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        words = " ".join(word for each in case["changed_params"] for word in each["change"])
        wanted = every or "added to do_not_specialize" in words
        if wanted and case["status"].startswith("merged") and (sources / case["id"] / "before.py").exists():
            yield case


def print_share(what: str, verdicts: Counter[str]) -> None:
    """Print how many are the same or a superset."""
    good, total = verdicts["same"] + verdicts["superset"], verdicts.total()
    print(f"{what}: {good}/{total} = {good / max(1, total):.3f}", end=" ")
    print(f"(same {verdicts['same']}, superset {verdicts['superset']}, misses {verdicts['misses']})")


def main() -> int:
    """Print a line for each fix, the reason for each difference, and the shares."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=Path, required=True)
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("--every", action="store_true", help="fixes that opt nothing out as well")
    args = parser.parse_args()
    of_lengths, of_key, of_all = Counter[str](), Counter[str](), Counter[str]()
    for case in cases_of(args.cases, args.sources, args.every):
        with tempfile.TemporaryDirectory() as folder:
            compared = compare(case, args.sources / case["id"], Path(folder))
        verdict = compared.verdict(compared.misses)
        of_all[verdict] += 1
        of_key[compared.verdict([each for each in compared.misses if each.in_key])] += 1
        if compared.lengths:
            of_lengths[compared.verdict([each for each in compared.misses if each.is_length])] += 1
        print(f"{verdict:9} {compared.name}", f"(and {', '.join(compared.more)})" if compared.more else "")
        for miss in compared.misses:
            print(f"          {miss}", flush=True)
    print_share("length and count parameters", of_lengths)
    print_share("every parameter of the compile key", of_key)
    print_share("tuning keys as well", of_all)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
