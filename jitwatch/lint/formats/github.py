"""Workflow commands that GitHub Actions turns into annotations of the changed lines."""

from __future__ import annotations

from collections.abc import Iterator

from jitwatch.lint.engine import Outcome
from jitwatch.lint.formats import Look
from jitwatch.report.workflow import Properties, workflow_command


def render(outcome: Outcome, look: Look) -> Iterator[str]:
    """Yield a ``::warning`` a finding and an ``::error`` for each file that could not be linted."""
    for finding in outcome.shown:
        properties: Properties = {
            "title": f"jitwatch ({finding.code})",
            "file": finding.path,
            "line": finding.line,
            "col": finding.column,
            "endLine": finding.end_line,
            "endColumn": finding.end_column,
        }
        text = f"{finding.path}:{finding.line}:{finding.column}: {finding.code} {finding.message}"
        details = [str(finding.evidence)] * bool(finding.evidence) + [finding.remedy] * bool(finding.remedy)
        yield workflow_command("warning", properties, "\n".join([text, *details]))
    for problem in outcome.problems:
        properties = {"title": "jitwatch", "file": problem.path}
        if problem.line is not None:
            properties["line"] = problem.line
        yield workflow_command("error", properties, str(problem))
