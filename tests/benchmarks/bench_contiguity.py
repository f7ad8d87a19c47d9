"""Hold the linter's contiguity verdicts against compiled truth: ``-m tests.benchmarks.bench_contiguity N TREE...``.

Of N kernels picked from the source trees (installed packages, unpacked wheels), each run-time integer is compiled
divisible by 16 and not, for an H200. The linter said from the source whether its divisibility carries the width of
an access; the compiler tells. Any access that becomes narrower counts, however few of the bytes it moves; those that
the linter passes over because they move a vector beside tiles (scales, cosines) are its disagreements, printed with
their share of the bits.

Kernels are cut out of their files with what they use. Left out, and counted: those that do not compile with a
guessed signature, those without a run-time integer or with more than LARGEST, and those that have no vector to lose
under the guess: no access of more than 32 bits, 64-bit elements alone (``ld.global.b64``, an index) apart.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from jitwatch.source import analyse_module, link
from jitwatch.source.model import Contiguity, Kernel, Project
from jitwatch.specialization import Remedy
from jitwatch.verify import Pool, Verdict, verify_remedies
from jitwatch.verify.figures import Access
from jitwatch.verify.files import kernel_source, requests_of_kernel
from jitwatch.verify.judge import READS, narrowed_share
from jitwatch.verify.requests import job_of
from jitwatch.verify.verdicts import Pair
from jitwatch.verify.wanted import Wanted
from tests.benchmarks.cut_out import cut_out

TARGET = "cuda:90"
COSTLY = Contiguity.MASK | Contiguity.STRIDE | Contiguity.BASE | Contiguity.UNIT
OTHER_VENDORS = {"backend", "backends"}
"""Folders of kernels for other vendors' compilers, in their own dialects."""

LARGEST = 12
"""Run-time integers of a kernel that is still taken: more compile for minutes."""

WIDEST_SCALAR = 32
"""Bits of an access that proves no vector: one fp32 is as wide."""

SLOWEST = 20.0
"""Seconds that one of its compiles may take."""


def kernels_of(trees: list[Path], seed: int) -> Iterator[tuple[Project, Kernel, Path]]:
    """Kernels in random order, at most three of a file."""
    files = sorted(
        path
        for tree in trees
        for path in tree.rglob("*.py")
        if b"triton.jit" in path.read_bytes() and OTHER_VENDORS.isdisjoint(path.parts)
    )
    random.Random(seed).shuffle(files)
    for path in files:
        try:
            project = link([analyse_module(str(path), path.read_bytes())])
        except (SyntaxError, ValueError):
            continue
        found = [each for each in project.kernels_in(str(path)) if each.is_entry and not each.enclosing]
        yield from ((project, each, path) for each in found[:3])


def integers_verified(
    project: Project, kernel: Kernel, file: Path, pool: Pool
) -> tuple[str | None, list[Verdict]]:
    """Why the kernel is left out, or the verdicts on its integers."""
    source = replace(kernel_source(kernel), path=str(file), module=file.stem, roots=(str(file.parent),))
    requests = requests_of_kernel(project, kernel, Wanted(), TARGET, source=source, pool=pool)
    requests = [each for each in requests if each.change.remedy is Remedy.SPECIALIZE]
    if not requests:
        return "no run-time integer", []
    if len(requests) > LARGEST:
        return "too many integers", []
    base = pool.answer(job_of(source, requests[0].forms[0], TARGET))
    if "failed" in base:
        return f"does not compile: {base['failed'][:90]}", []
    pool.compile(job_of(source, form, TARGET) for each in requests for pair in each.pairs() for form in pair)
    # One at a time: together two arguments can lose what either keeps, of which the linter says nothing.
    verdicts = [verdict for each in requests for verdict in verify_remedies([each], TARGET, pool=pool)]
    before = verdicts[0].before
    if before is None or before.vector <= WIDEST_SCALAR:
        return "not vectorised", []
    return None, verdicts


def narrowed(verdict: Verdict) -> float | None:
    """The largest part of the bits read, or written, that moves in narrower accesses; None: a form did not compile."""
    if any(pair.before is None or pair.after is None for pair in verdict.pairs):
        return None
    kinds = (READS, (Access.STORE,))
    return max((_narrowed(pair, each) for pair in verdict.pairs for each in kinds), default=0.0)


def _narrowed(pair: Pair, kinds: tuple[Access, ...]) -> float:
    assert pair.before is not None
    assert pair.after is not None
    old, new = pair.before.widths(*kinds), pair.after.widths(*kinds)
    if not new.total() > old.total() > 0 or max(old - new, default=0) <= max(new - old):
        return 0.0
    return narrowed_share(old, new)


@dataclass
class Account:
    """What was compared so far."""

    table: Counter[tuple[bool, bool]] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    kernels: int = 0

    def take(self, kernel: Kernel, verdicts: list[Verdict]) -> None:
        """Compare what was said of each integer with what is so; print where they differ."""
        self.kernels += 1
        for verdict in verdicts:
            parameter, share = kernel.parameter(verdict.parameter), narrowed(verdict)
            assert parameter is not None
            if share is None:
                continue
            said, true = bool(parameter.contiguity & COSTLY), share > 0
            self.table[said, true] += 1
            if said != true:
                place = f"{kernel.path}:{kernel.span.line} {kernel.name} {parameter.name}"
                told = f"narrows {share:.0%} of the bits" if true else "narrows nothing"
                print(f"{place}: {parameter.contiguity} but {told}", flush=True)

    def print_totals(self) -> None:
        """Print the agreement and its parts."""
        table, total = self.table, self.table.total()
        agreement = (table[True, True] + table[False, False]) / max(1, total)
        print(f"{self.kernels} kernels, {total} integers: agreement {agreement:.3f}")
        print(f"said and true {table[True, True]}, neither {table[False, False]}", end=", ")
        print(f"said only {table[True, False]}, true only {table[False, True]}")
        print(f"left out: {dict(self.left_out)}")


def main() -> int:
    """Print each disagreement, and the totals."""
    parser = argparse.ArgumentParser()
    parser.add_argument("number", type=int)
    parser.add_argument("trees", type=Path, nargs="+")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    account = Account()
    with tempfile.TemporaryDirectory() as folder, Pool(time_limit=SLOWEST) as pool:
        for project, kernel, path in kernels_of(asked.trees, asked.seed):
            if account.kernels == asked.number:
                break
            file = cut_out(path, Path(folder))
            if file is None:
                continue
            why, verdicts = integers_verified(project, kernel, file, pool)
            if why is None:
                account.take(kernel, verdicts)
            else:
                account.left_out[why.partition(":")[0]] += 1
    account.print_totals()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
