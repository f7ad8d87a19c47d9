"""Hold the fixes that the linter calls safe against the compiler.

``python -m tests.benchmarks.bench_safe_fixes TREE...``: of each kernel in the source trees (installed packages,
unpacked wheels) with a change that is safe by the source alone, both forms are compiled for every class of the
argument, the 1 included. Kernels are cut out of their files; those that do not compile alone are left out and counted.
Prints each change that is not proven harmless.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from jitwatch.fix.proof import REMEDIES
from jitwatch.lint.config import Configuration, Overrides
from jitwatch.lint.engine import Options, lint_paths
from jitwatch.lint.finding import Applicability, Finding
from jitwatch.source.model import Kernel, Project
from jitwatch.verify import Pool, Request, Verdict, verify_remedies
from jitwatch.verify.files import kernel_source, requests_of_kernel
from jitwatch.verify.requests import job_of
from jitwatch.verify.wanted import Wanted
from tests.benchmarks.cut_out import cut_out

TARGET = "cuda:90"

SLOWEST = 20.0
"""Seconds that one compile may take."""


def safe_changes(tree: Path) -> Iterator[tuple[Project, Kernel, Finding]]:
    """Yield what the source alone proves; a parameter that nothing reads needs no proof."""
    outcome = lint_paths([str(tree)], Configuration(Overrides(isolated=True)), Options(keep_project=True))
    assert outcome.project is not None
    kernels = {kernel.key: kernel for each in outcome.project.kernels.values() for kernel in each}
    for finding in outcome.shown:
        change = finding.change
        if (
            change
            and change.kind in REMEDIES
            and finding.applicability is Applicability.SAFE
            and not change.unread
        ):
            yield outcome.project, kernels[change.kernel], finding


def requests_on(
    project: Project, kernel: Kernel, finding: Finding, folder: Path, pool: Pool
) -> list[Request]:
    """The change on the kernel, cut out, under signatures that make its argument a multiple of 16, and a 1."""
    file = cut_out(Path(kernel.path), folder)
    if file is None or finding.change is None:
        return []
    source = replace(kernel_source(kernel), path=str(file), module=file.stem, roots=(str(folder),))
    name, remedy = finding.change.parameter, REMEDIES[finding.change.kind]
    given = {"do_not_specialize": (f"{name}=i32:16", f"{name}=i32:1")}.get(remedy.value, ("",))
    wanted = Wanted(((name, remedy),))
    made = [
        requests_of_kernel(project, kernel, wanted, TARGET, signature=each, source=source, pool=pool)
        for each in given
    ]
    requests = [replace(request, doubted=False) for each in made for request in each]
    compiles = all("figures" in pool.answer(job_of(source, each.forms[0], TARGET)) for each in requests)
    return requests if compiles else []


def main() -> int:
    """Print what is not proven harmless, and the totals."""
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, Pool(time_limit=SLOWEST) as pool:
        for tree in map(Path, sys.argv[1:]):
            for project, kernel, finding in safe_changes(tree):
                requests = requests_on(project, kernel, finding, Path(folder), pool)
                if not requests:
                    outcomes["left out"] += 1
                    continue
                verdicts: list[Verdict] = verify_remedies(requests, TARGET, pool=pool)
                worst = sorted(
                    {each.outcome.value for each in verdicts}, key=["costs", "unknown", "harmless"].index
                )[0]
                outcomes[worst] += 1
                if worst != "harmless":
                    for each in verdicts:
                        print(
                            f"{kernel.path}:{kernel.span.line} {kernel.name} {each.parameter}: {each.reason}",
                            flush=True,
                        )
    print(dict(outcomes))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
