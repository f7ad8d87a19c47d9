"""What ``jitwatch lint --fix`` does: lint, prove where it is asked for, apply, lint again, write."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jitwatch.errors import JitwatchError
from jitwatch.fix.files import replace_file
from jitwatch.fix.passes import MOST_PASSES, Fixed, Lint, fix_until_settled
from jitwatch.lint.discovery import Problem
from jitwatch.lint.evidence import Recording
from jitwatch.lint.finding import Applicability, Finding

if TYPE_CHECKING:
    from jitwatch.fix.proof import Proofs
    from jitwatch.verify.command import Asked

AUTOMATIC = (Applicability.SAFE, Applicability.UNSAFE)


@dataclass(frozen=True)
class Policy:
    """Which fixes to apply."""

    unsafe: bool = False
    recording: Recording | None = None
    """Only what this run confirms."""
    verify: Asked | None = None
    """Compile both forms first, this way, and go by the verdict."""

    @property
    def applicable(self) -> tuple[Applicability, ...]:
        """What a fix must promise."""
        return AUTOMATIC if self.unsafe else (Applicability.SAFE,)

    def concerns(self, finding: Finding) -> bool:
        """Whether a finding is among those to mend at all."""
        return self.recording is None or bool(finding.evidence and finding.evidence.confirmed)


def fix(lint: Lint, policy: Policy) -> tuple[Fixed, Proofs | None]:
    """Apply fixes in memory, and return them with the verdicts. Raises JitwatchError."""
    proofs = _proofs(lint, policy) if policy.verify else None

    def judged(finding: Finding) -> Finding:
        return proofs.judged(finding) if proofs else finding

    def wanted(finding: Finding) -> bool:
        return policy.concerns(finding) and judged(finding).applicability in policy.applicable

    fixed = fix_until_settled(lint, wanted)
    left = tuple(judged(each) for each in _still_true(fixed.outcome.findings, fixed.applied))
    fixed = replace(
        fixed,
        outcome=replace(fixed.outcome, findings=left),
        applied=tuple(map(judged, fixed.applied)),
    )
    return fixed, proofs


def _proofs(lint: Lint, policy: Policy) -> Proofs:
    """Verdicts on all that could be applied, found by applying it all, on the files as they are on disk."""
    from jitwatch.fix.proof import prove

    assert policy.verify is not None

    def wanted(finding: Finding) -> bool:
        return policy.concerns(finding) and finding.applicability in AUTOMATIC

    everything = fix_until_settled(lint, wanted)
    project = lint({}).project
    assert project is not None, "whoever applies fixes keeps the project"
    return prove(everything.applied, project, policy.verify, policy.recording)


def write(fixed: Fixed) -> list[Problem]:
    """Write every changed file; returns those that could not be written. Fixes without an end are not written."""
    problems: list[Problem] = []
    if not fixed.settled:
        return problems
    for path, content in fixed.after.items():
        try:
            replace_file(path, content, expected=fixed.before[path])
        except JitwatchError as error:
            problems.append(Problem(path, None, None, str(error).removeprefix(f"{path}: ")))
    return problems


def undone_problems(fixed: Fixed) -> list[Problem]:
    """Fixes that were taken back, and fixes without an end, as what went wrong."""
    endless = [
        Problem(path, None, None, f"its fixes did not end after {MOST_PASSES} passes: please report it")
        for path in fixed.after
        if not fixed.settled
    ]
    return endless + [
        Problem(
            each.path,
            each.line,
            each.column,
            f"the fix of {each.code} left code that does not parse and was taken back: please report it",
        )
        for each in fixed.undone
    ]


def _still_true(findings: Iterable[Finding], applied: Iterable[Finding]) -> list[Finding]:
    """Leave out what only a run says of an argument that is mended: the run is of the program as it was."""
    mended = {(each.path, each.kernel, each.parameter) for each in applied}
    return [
        each
        for each in findings
        if each.code != "JW200" or (each.path, each.kernel, each.parameter) not in mended
    ]
