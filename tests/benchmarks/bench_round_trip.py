"""Hold ``jitwatch lint --fix`` against whole source trees: what it leaves behind must be what it says.

    python -m tests.benchmarks.bench_round_trip TREE... [--sample 60] [--seed 0]

Not run in CI: the trees (installed packages, unpacked wheels) are other people's. Each tree is copied and fixed twice,
with ``--fix`` and with ``--fix --unsafe-fixes``. Every changed file must parse, keep its encoding, line ends, mode
and comments, and differ in its syntax tree only by what the applied findings say (``tests.fix.sameness``); a second
run must change nothing, and a lint must find nothing with a safe fix. Of the kernels that the unsafe fixes changed,
and those that call them, a seeded sample is compiled for an H200 as it was and as it is: what compiled must compile.

Exits with 1 when anything of that does not hold.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jitwatch.collector import without_collector
from jitwatch.fix.command import Policy, fix, write
from jitwatch.fix.passes import Fixed, Remembering
from jitwatch.lint.config import Configuration, Overrides
from jitwatch.lint.engine import Options, Outcome, lint_paths
from tests.benchmarks.compiled_sample import Compiled, State, compile_sample
from tests.fix.said import Record, Watched, record_of
from tests.fix.sameness import unsaid

LINT = (sys.executable, "-m", "jitwatch", "lint", "--isolated", "--no-cache")
Content = Mapping[str, tuple[bytes, int]]
"""Bytes and mode of each file."""


@dataclass
class Trip:
    """One tree, fixed once."""

    files: int
    fixes: int
    passes: int
    undone: int
    differences: list[str] = field(default_factory=list)
    second: list[str] = field(default_factory=list)
    """What the second run changed."""
    safe_left: list[str] = field(default_factory=list)
    compiled: Compiled | None = None

    @property
    def violations(self) -> list[str]:
        """Everything that must not be, in words."""
        broken = self.compiled.broken if self.compiled else ()
        undone = [f"{self.undone} fixes were taken back"] if self.undone else []
        return [*undone, *self.differences, *self.second, *self.safe_left, *broken]

    def cells(self) -> list[str]:
        """Its column of the table."""
        lists = (self.differences, self.second, self.safe_left)
        counts = [self.files, self.fixes, self.passes, self.undone, *map(len, lists)]
        compiled = self.compiled
        sample = [compiled.sampled, compiled.before, compiled.after] if compiled else ["-"] * 3
        return [*map(str, counts), " / ".join(map(str, sample))]


ROWS = (
    "files changed",
    "fixes",
    "passes",
    "undone",
    "differences not said",
    "changed by a second run",
    "safe fixes left",
    "sampled / compiled before / after",
)


def content_of(root: Path) -> Content:
    """All files of a tree."""
    files = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    return {str(path): (path.read_bytes(), path.stat().st_mode) for path in files}


def round_trip(tree: Path, folder: Path, *, unsafe: bool, sample: int, seed: int) -> Trip:
    """Fix a copy of a tree, and hold it against all of the above."""
    root = folder / tree.name
    shutil.copytree(tree, root, symlinks=True)
    before = content_of(root)
    fixed, outcomes = fixed_on_disk(root, unsafe=unsafe)
    record = record_of(fixed, outcomes)
    trip = Trip(len(fixed.after), len(fixed.applied), len(outcomes) - 1, len(fixed.undone))
    trip.differences += differences(before, content_of(root), fixed, record)
    trip.second += second_run(root, unsafe=unsafe)
    trip.safe_left += safe_fixes_left(root)
    if unsafe:
        (folder / "cut").mkdir()
        old, new = State.of(outcomes[0], root, tree), State.of(outcomes[-1], root, root)
        changed = {each.kernel for each in record.said}
        trip.compiled = compile_sample(old, new, changed, sample, seed, folder / "cut")
    return trip


def fixed_on_disk(root: Path, *, unsafe: bool) -> tuple[Fixed, list[Outcome]]:
    """Do what ``jitwatch lint --fix`` does; returns every lint's outcome too."""
    configuration = Configuration(Overrides(isolated=True))
    cache = Remembering(None)

    def lint(changed: Mapping[str, bytes]) -> Outcome:
        return lint_paths(
            [str(root)], configuration, Options(cache=cache, keep_project=True, overlay=changed)
        )

    watched = Watched(lint)
    with without_collector():
        fixed, _ = fix(watched, Policy(unsafe))
    problems = write(fixed)
    if problems or not fixed.settled:
        raise SystemExit(f"{root.name}: {problems or 'no end of fixes'}")
    return fixed, watched.outcomes


def differences(before: Content, after: Content, fixed: Fixed, record: Record) -> Iterator[str]:
    """Yield what no fix says of any file of the tree."""
    for path in sorted(before.keys() ^ after.keys()):
        yield f"{path}: is there {'after' if path in after else 'before'} the fixes only"
    for path in sorted(before.keys() & after.keys()):
        (old, old_mode), (new, new_mode) = before[path], after[path]
        if old_mode != new_mode:
            yield f"{path}: mode {old_mode:o} became {new_mode:o}"
        if (old != new) != (path in fixed.after):
            yield f"{path}: changed on disk {old != new}, said {path in fixed.after}"
        if old == new:
            continue
        try:
            yield from (f"{path}: {each}" for each in unsaid(path, old, new, record))
        except SyntaxError as error:
            yield f"{path}: does not parse: {error}"


def second_run(root: Path, *, unsafe: bool) -> Iterator[str]:
    """Yield the changes that the same command would make again."""
    command = [*LINT, "--diff", *(["--unsafe-fixes"] if unsafe else []), str(root)]
    got = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if got.returncode:
        headers = [line for line in got.stdout.splitlines() if line.startswith("+++")]
        yield from headers or [got.stderr.strip()]


def safe_fixes_left(root: Path) -> Iterator[str]:
    """Yield the findings that still offer a safe fix."""
    got = subprocess.run([*LINT, "--format", "json", str(root)], capture_output=True, text=True)
    for finding in json.loads(got.stdout):
        if finding["fix"] and finding["applicability"] == "safe":
            yield f"{finding['path']}:{finding['line']}: {finding['code']} {finding['message']}"


def table(columns: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the rows, aligned."""
    widths = [max(map(len, column)) for column in columns]
    for row in zip(*columns, strict=True):
        first, *rest = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join([first, *(each.strip().rjust(w) for each, w in zip(rest, widths[1:], strict=True))])


def main() -> int:
    """Print a table a tree, and each violation."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trees", type=Path, nargs="+", metavar="TREE")
    parser.add_argument("--sample", type=int, default=60, help="kernels to compile of each tree")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    violations = 0
    for tree in args.trees:
        trips = []
        for unsafe in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                trip = round_trip(
                    tree.resolve(), Path(folder), unsafe=unsafe, sample=args.sample, seed=args.seed
                )
            trips.append(trip)
        for line in table(
            [
                [tree.name, *ROWS],
                ["--fix", *trips[0].cells()],
                ["--fix --unsafe-fixes", *trips[1].cells()],
            ]
        ):
            print(line)
        for violation in (each for trip in trips for each in trip.violations):
            print(violation)
            violations += 1
        print(flush=True)
    return 1 if violations else 0


if __name__ == "__main__":
    raise SystemExit(main())
