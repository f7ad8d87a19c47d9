"""What ``jitwatch verify`` does, from names to verdicts."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from jitwatch.analysis import Findings, analyse
from jitwatch.errors import JitwatchError
from jitwatch.rundir import find_run, read_run
from jitwatch.runtime.offline.target import parse_target
from jitwatch.verify.files import find_kernel, requests_of_kernel
from jitwatch.verify.pool import Pool, Progress
from jitwatch.verify.prove import verify_remedies
from jitwatch.verify.requests import Request
from jitwatch.verify.runs import requests_of_run
from jitwatch.verify.verdicts import Verdict, write_verdicts
from jitwatch.verify.wanted import Wanted

DEFAULT_TARGET = "cuda:90"


@dataclass(frozen=True)
class Asked:
    """What the command line says."""

    wanted: Wanted
    target: str | None = None
    python: str | None = None
    workers: int | None = None

    def target_or(self, default: str | None) -> str:
        """The target, checked. Raises JitwatchError for an unknown one."""
        target = self.target or default or DEFAULT_TARGET
        try:
            return parse_target(target).spelling
        except ValueError as error:
            raise JitwatchError(f"--target {target}: {str(error).replace('offline ', '')}") from None


def verify_recorded(path: Path | None, asked: Asked) -> list[Verdict]:
    """Verdicts on the remedies of a run; the run directory keeps those on its whole plan. Raises JitwatchError."""
    directory = find_run(path)
    findings = analyse(read_run(directory))
    verdicts = verify_findings(findings, asked)
    if asked.wanted == Wanted() and verdicts:
        with contextlib.suppress(OSError):  # a run on a read-only disk is verified all the same
            write_verdicts(directory, verdicts)
    return verdicts


def verify_findings(findings: Findings, asked: Asked) -> list[Verdict]:
    """Verdicts on a run that was read and analysed. Raises JitwatchError."""
    run = findings.run
    requests = requests_of_run(findings, asked.wanted)
    _check_names(asked.wanted, requests)
    target = asked.target_or(run.target)
    with Pool(asked.python, asked.workers, run.cwd) as pool, progress_bar() as progress:
        return verify_remedies(requests, target, pool=pool, progress=progress)


def verify_file(spelled: str, asked: Asked, signature: str | None) -> list[Verdict]:
    """Verdicts on a kernel named ``FILE::KERNEL``. Raises JitwatchError."""
    project, kernel = find_kernel(spelled)
    target = asked.target_or(None)
    with Pool(asked.python, asked.workers) as pool, progress_bar() as progress:
        requests = requests_of_kernel(project, kernel, asked.wanted, target, signature=signature, pool=pool)
        _check_names(asked.wanted, requests)
        return verify_remedies(requests, target, pool=pool, progress=progress)


def _check_names(wanted: Wanted, requests: Sequence[Request]) -> None:
    known = {parameter.name for request in requests for parameter in request.kernel.parameters}
    missing = wanted.missing(known)
    if missing:
        where = (
            f"the verified kernels have {', '.join(sorted(known))}"
            if known
            else "no remedy of that name applies"
        )
        raise JitwatchError(f"--remedy {missing[0]}: no such parameter; {where}")


@contextlib.contextmanager
def progress_bar() -> Iterator[Progress | None]:
    """A bar on stderr, for a person only."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("compiling"), BarColumn(), MofNCompleteColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
