"""Workflow commands that GitHub Actions turns into annotations of the changed lines."""

from __future__ import annotations

from collections.abc import Iterator

from jitwatch.lint.engine import Outcome
from jitwatch.lint.formats import Look

Properties = dict[str, "str | int"]


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
        yield _command("warning", properties, "\n".join([text, *details]))
    for problem in outcome.problems:
        properties = {"title": "jitwatch", "file": problem.path}
        if problem.line is not None:
            properties["line"] = problem.line
        yield _command("error", properties, str(problem))


def _command(name: str, properties: Properties, text: str) -> str:
    listed = ",".join(f"{key}={_escape_property(str(value))}" for key, value in properties.items())
    return f"::{name} {listed}::{_escape(text)}"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
