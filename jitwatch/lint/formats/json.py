"""A JSON list with an object a finding, for scripts and editors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TypedDict

from jitwatch.lint.engine import Outcome
from jitwatch.lint.finding import Finding
from jitwatch.lint.formats import Look
from jitwatch.lint.lines import Lines


class EditObject(TypedDict):
    """Replace this range with ``content``; lines and columns count from 1, in characters."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    content: str


class FixObject(TypedDict):
    """Edits that belong together."""

    applicability: str
    edits: list[EditObject]


class EvidenceObject(TypedDict):
    """What the run given with ``--profile`` shows."""

    ran: bool
    """The kernel was launched."""
    recompiles: int
    seconds: float
    example: str


class FindingObject(TypedDict):
    """One finding."""

    code: str
    name: str
    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    kernel: str | None
    parameter: str | None
    message: str
    remedy: str
    applicability: str
    """``safe``, ``unsafe`` or ``display``."""
    fix: FixObject | None
    evidence: EvidenceObject | None
    """None without a run, and for a finding about no kernel."""


def render(outcome: Outcome, look: Look) -> Iterator[str]:
    """Yield the list, a finding a line, so that a diff of two outputs reads well."""
    objects = [json.dumps(finding_object(finding, outcome)) for finding in outcome.shown]
    yield "[" if objects else "[]"
    for index, text in enumerate(objects):
        yield f"  {text}" + "," * (index < len(objects) - 1)
    if objects:
        yield "]"


def finding_object(finding: Finding, outcome: Outcome) -> FindingObject:
    """Make the object of one finding."""
    return {
        "code": finding.code,
        "name": finding.name,
        "path": finding.path,
        "line": finding.line,
        "column": finding.column,
        "end_line": finding.end_line,
        "end_column": finding.end_column,
        "kernel": finding.kernel,
        "parameter": finding.parameter,
        "message": finding.message,
        "remedy": finding.remedy,
        "applicability": finding.applicability.value,
        "fix": _fix(finding, outcome),
        "evidence": evidence_object(finding),
    }


def evidence_object(finding: Finding) -> EvidenceObject | None:
    """Make the object of what a run shows."""
    seen = finding.evidence
    if seen is None:
        return None
    return {
        "ran": seen.ran,
        "recompiles": seen.recompiles,
        "seconds": round(seen.seconds, 6),
        "example": seen.example,
    }


def edit_objects(finding: Finding, outcome: Outcome) -> list[EditObject]:
    """Express a finding's edits in displayed places."""
    objects: list[EditObject] = []
    for edit in finding.edits:
        path = edit.path or finding.path
        lines = Lines(outcome.sources.get(path, b""))
        line, column = lines.place(edit.start)
        end_line, end_column = lines.place(edit.end)
        objects.append(
            {
                "path": path,
                "line": line,
                "column": column,
                "end_line": end_line,
                "end_column": end_column,
                "content": edit.text or "",
            }
        )
    return objects


def _fix(finding: Finding, outcome: Outcome) -> FixObject | None:
    if not finding.edits:
        return None
    return {"applicability": finding.applicability.value, "edits": edit_objects(finding, outcome)}
