"""Hold the linter's contiguity verdicts against compiled truth: ``python bench_contiguity.py N TREE...``.

Of N kernels picked from the source trees (installed packages, unpacked wheels), each run-time integer is compiled
divisible by 16 and not, for an H200. The linter said from the source whether its divisibility carries the width of
an access; the compiler tells. Kernels are cut out of their files, with the jitted functions and constants beside them,
since the packages' own imports are not there; those that do not compile alone, or whose accesses are not
vectorised to begin with under the guessed signature, are left out and counted.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from jitwatch.source import analyse_module, link
from jitwatch.source.model import Contiguity, Kernel, Project
from jitwatch.specialization import Remedy
from jitwatch.verify import Pool, Verdict, verify_remedies
from jitwatch.verify.figures import Access
from jitwatch.verify.files import kernel_source, requests_of_kernel
from jitwatch.verify.judge import NARROWED_SHARE, READS, narrowed_share
from jitwatch.verify.requests import job_of
from jitwatch.verify.verdicts import Pair
from jitwatch.verify.wanted import Wanted
from tests.benchmarks.cut_out import cut_out

COSTLY = Contiguity.MASK | Contiguity.STRIDE | Contiguity.BASE | Contiguity.UNIT
MOVES = (Access.LOAD, Access.STORE, Access.ASYNC_COPY)
OTHER_VENDORS = {"backend", "backends"}
"""Folders of kernels for other vendors' compilers, in their own dialects."""

LARGEST = 12
"""Run-time integers of a kernel that is still taken: more compile for minutes."""

WIDEST_SCALAR = 64
"""Bits of an access that proves no vector: one i64 index is as wide."""

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
    requests = requests_of_kernel(project, kernel, Wanted(), "cuda:90", source=source, pool=pool)
    requests = [each for each in requests if each.change.remedy is Remedy.SPECIALIZE]
    if not requests:
        return "no run-time integer", []
    if len(requests) > LARGEST:
        return "too many integers", []
    base = pool.answer(job_of(source, requests[0].forms[0], "cuda:90"))
    if "failed" in base:
        return f"does not compile: {base['failed'][:90]}", []
    verdicts = verify_remedies(requests, "cuda:90", pool=pool)
    before = verdicts[0].before
    if before is None or max(before.widths(*MOVES), default=0) <= WIDEST_SCALAR:
        return "not vectorised", []
    return None, verdicts


def narrows(verdict: Verdict) -> bool | None:
    """Whether accesses became narrower, of an index beside the data apart; None when a form did not compile in time."""
    if any(pair.before is None or pair.after is None for pair in verdict.pairs):
        return None
    return any(_narrower(pair, kinds) for pair in verdict.pairs for kinds in (READS, (Access.STORE,)))


def _narrower(pair: Pair, kinds: tuple[Access, ...]) -> bool:
    assert pair.before is not None
    assert pair.after is not None
    old, new = pair.before.widths(*kinds), pair.after.widths(*kinds)
    if not new.total() > old.total() > 0 or max(old - new, default=0) <= max(new - old):
        return False
    return narrowed_share(old, new) >= NARROWED_SHARE


def main() -> int:
    """Print each disagreement, and the totals."""
    number, trees = int(sys.argv[1]), [Path(each) for each in sys.argv[2:]]
    table: Counter[tuple[bool, bool]] = Counter()
    left_out: Counter[str] = Counter()
    taken = agreeing = 0
    with tempfile.TemporaryDirectory() as folder, Pool(time_limit=SLOWEST) as pool:
        for project, kernel, path in kernels_of(trees, seed=0):
            if taken == number:
                break
            file = cut_out(path, Path(folder))
            if file is None:
                continue
            why, verdicts = integers_verified(project, kernel, file, pool)
            if why is not None:
                left_out[why.partition(":")[0]] += 1
                continue
            taken += 1
            wrong = 0
            for verdict in verdicts:
                parameter = kernel.parameter(verdict.parameter)
                assert parameter is not None
                said, true = bool(parameter.contiguity & COSTLY), narrows(verdict)
                if true is None:
                    continue
                table[said, true] += 1
                wrong += said != true
                if said != true:
                    print(
                        f"{path}:{kernel.span.line} {kernel.name} {parameter.name}: {parameter.contiguity}",
                        end=" ",
                    )
                    print(f"but {verdict.outcome.value}: {verdict.reason}", flush=True)
            agreeing += not wrong
    total = table.total()
    agreement = (table[True, True] + table[False, False]) / max(1, total)
    print(f"{taken} kernels, {total} integers: agreement {agreement:.3f}; {agreeing} kernels agree in all")
    print(f"said and true {table[True, True]}, neither {table[False, False]}", end=", ")
    print(f"said only {table[True, False]}, true only {table[False, True]}; left out: {dict(left_out)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
