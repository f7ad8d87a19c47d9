"""Findings as diagnostics."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol.types import Diagnostic, DiagnosticSeverity, DiagnosticTag, Position, Range

from jitwatch.fix.changes import Kind
from jitwatch.lint.discovery import Problem
from jitwatch.lint.engine import Outcome
from jitwatch.lint.finding import Finding
from jitwatch.lint.sources import mentions_kernels
from jitwatch.server.text import Text

SOURCE = "jitwatch"


def diagnostics(path: str, text: Text, outcome: Outcome) -> Iterator[Diagnostic]:
    """Yield what a lint says of one file; a file without kernels that does not parse is no matter of ours."""
    for finding in outcome.shown:
        if finding.path == path:
            yield diagnostic(finding, text)
    for problem in outcome.problems:
        if problem.path == path and mentions_kernels(text.source):
            yield _of_problem(problem, text)


def diagnostic(finding: Finding, text: Text) -> Diagnostic:
    """A finding with its remedy; what can be dropped is greyed out."""
    dropped = finding.change is not None and finding.change.kind is Kind.DROP
    return Diagnostic(
        range=text.range(finding),
        message=f"{finding.message}\ninstead: {finding.remedy}" if finding.remedy else finding.message,
        severity=DiagnosticSeverity.Warning,
        code=finding.code,
        source=SOURCE,
        tags=[DiagnosticTag.Unnecessary] if dropped else None,
    )


def _of_problem(problem: Problem, text: Text) -> Diagnostic:
    start = text.position(problem.line or 1, problem.column or 1)
    return Diagnostic(
        range=Range(start, Position(start.line, start.character + 1)),
        message=f"not linted: {problem.message}",
        severity=DiagnosticSeverity.Information,  # the editor has somebody else to call it an error
        source=SOURCE,
    )
