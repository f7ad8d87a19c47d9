"""One line a finding: what an editor's error matcher and grep want."""

from __future__ import annotations

from collections.abc import Iterator

from jitwatch.lint.engine import Outcome
from jitwatch.lint.finding import Finding
from jitwatch.lint.formats import Look


def render(outcome: Outcome, look: Look) -> Iterator[str]:
    """Yield ``path:line:column: CODE message``."""
    for finding in outcome.shown:
        yield headline(finding, look) + (f" [{finding.evidence}]" if finding.evidence else "")


def headline(finding: Finding, look: Look) -> str:
    """Place, code and message of a finding in one line."""
    place = f"{look.bold(finding.path)}:{finding.line}:{finding.column}"
    return f"{place}: {look.red(finding.code)} {finding.message}"
