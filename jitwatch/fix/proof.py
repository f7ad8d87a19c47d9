"""Verdicts of ``jitwatch verify`` on the changes that fixes make: what is proven harmless becomes safe."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from jitwatch.fix.changes import Change, Kind
from jitwatch.lint.evidence import Recording
from jitwatch.lint.finding import Applicability, Finding
from jitwatch.source.model import Kernel, Project, Role
from jitwatch.specialization import Remedy
from jitwatch.verify import Outcome, Request, Verdict, verify_remedies
from jitwatch.verify.command import Asked, progress_bar
from jitwatch.verify.files import requests_of_kernel
from jitwatch.verify.pool import Pool
from jitwatch.verify.runs import requests_of_run
from jitwatch.verify.wanted import Wanted

REMEDIES = {
    Kind.OPT_OUT: Remedy.SPECIALIZE,
    Kind.ALIGNMENT: Remedy.ALIGNMENT,
    Kind.ANNOTATE: Remedy.ANNOTATE,
    Kind.RUNTIME: Remedy.RUNTIME,
    Kind.RUNTIME_SPECIALIZED: Remedy.RUNTIME_SPECIALIZED,
    Kind.DROP: Remedy.DROP,
    Kind.LEAVE_KEY: Remedy.LEAVE_KEY,
}
"""What ``verify`` calls each change."""

CONSTEXPRS = (Kind.RUNTIME, Kind.RUNTIME_SPECIALIZED)

Place = tuple[str, str, str, Kind]
"""Path, qualified name, parameter and kind of a change: what stays when lines move."""


def place_of(change: Change) -> Place:
    """Identity of a change while its file is edited."""
    return change.kernel[0], change.kernel[1], change.parameter, change.kind


@dataclass(frozen=True)
class Proofs:
    """Verdicts by the change they are about."""

    verdicts: Mapping[Place, Verdict] = field(default_factory=dict)
    multiplied: frozenset[Place] = frozenset()
    """Constexprs that enter products, which may overflow once they are no constants."""

    def of(self, finding: Finding) -> Verdict | None:
        """The verdict on a finding's change."""
        return self.verdicts.get(place_of(finding.change)) if finding.change else None

    def judged(self, finding: Finding) -> Finding:
        """The finding, its fix raised or lowered by what is known, and the figure named."""
        verdict, change = self.of(finding), finding.change
        if verdict is None or change is None:
            return finding
        finding = replace(finding, proven=True)
        told = f"for {verdict.target}: {verdict.reason}"
        if verdict.outcome is Outcome.COSTS:
            return replace(
                finding,
                applicability=Applicability.DISPLAY,
                remedy=f"{finding.remedy}; but that costs, {told}",
            )
        if verdict.outcome is Outcome.UNKNOWN:
            return replace(finding, remedy=f"{finding.remedy}; not proven {told}")
        if not change.kind.is_compiled:
            # What makes it unsafe is no matter of the code: a launch elsewhere passes what is dropped.
            return replace(finding, remedy=f"{finding.remedy}; proven harmless {told}")
        if place_of(change) in self.multiplied:
            told += ", but mind its products, which are computed in 32 bits then"
            return replace(finding, remedy=f"{finding.remedy}; proven harmless {told}")
        return replace(
            finding, applicability=Applicability.SAFE, remedy=f"{finding.remedy}; proven harmless {told}"
        )


def prove(
    findings: Iterable[Finding], project: Project, asked: Asked, recording: Recording | None = None
) -> Proofs:
    """Verdicts on the changes of some findings, compiled from the files as they are on disk.

    A kernel of the recording is compiled for the variants that ran, another for those its launches suggest. All
    changes of a kernel are tried together too. Raises JitwatchError for an unknown target.
    """
    changes = dict.fromkeys(f.change for f in findings if f.change)
    by_kernel: dict[tuple[str, str], list[Change]] = {}
    for change in changes:
        by_kernel.setdefault(change.kernel[:2], []).append(change)
    run = recording.findings.run if recording and recording.findings else None
    target = asked.target_or(run.target if run else None)
    places: list[Place] = []
    requests: list[Request] = []
    with Pool(asked.python, asked.workers, run.cwd if run else None) as pool:
        for (path, name), mine in by_kernel.items():
            kernel = _kernel(project, path, name)
            if kernel is None:
                continue
            wanted = Wanted(tuple((each.parameter, REMEDIES[each.kind]) for each in mine))
            made = _recorded(recording, kernel, wanted)
            made = made or requests_of_kernel(project, kernel, wanted, target, pool=pool)
            for change in mine:
                for request in made:
                    if (request.parameter.name, request.change.remedy) == (
                        change.parameter,
                        REMEDIES[change.kind],
                    ):
                        places.append(place_of(change))
                        requests.append(request)
        with progress_bar() as progress:
            verdicts = verify_remedies(requests, target, pool=pool, progress=progress)
    return Proofs(dict(zip(places, verdicts, strict=True)), frozenset(_multiplied(project, changes)))


def _kernel(project: Project, path: str, name: str) -> Kernel | None:
    """The kernel of that name, unless several have it."""
    found = [kernel for kernel in project.kernels.get(path, ()) if kernel.qualname == name]
    return found[0] if len(found) == 1 else None


def _recorded(recording: Recording | None, kernel: Kernel, wanted: Wanted) -> list[Request]:
    """Requests on the variants that a run compiled of a kernel."""
    if recording is None or recording.findings is None:
        return []
    named = replace(wanted, kernels=frozenset({kernel.name}))
    found = requests_of_run(recording.findings, named)
    return [each for each in found if os.path.basename(each.kernel.path) == os.path.basename(kernel.path)]


def _multiplied(project: Project, changes: Iterable[Change]) -> Iterator[Place]:
    for change in changes:
        kernel = _kernel(project, *change.kernel[:2])
        parameter = kernel.parameter(change.parameter) if kernel else None
        if parameter and change.kind in CONSTEXPRS and parameter.roles & (Role.ADDRESS | Role.STRIDE):
            yield place_of(change)
