"""The last lines of the formats a person reads: how much there is, and the next command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from jitwatch.lint.engine import Outcome


def footer(outcome: Outcome) -> Iterator[str]:
    """Yield the summary; it ends with a command that runs as printed."""
    shown = outcome.shown
    suppressed = len(outcome.findings) - len(shown)
    aside = f", {suppressed} suppressed" if suppressed else ""
    looked_at = f"{count(outcome.kernels, 'kernel')} in {count(len(outcome.read), 'file')}"
    if not shown:
        yield f"No findings{aside}: {looked_at} looked at."
        return
    files = len({finding.path for finding in shown})
    yield f"Found {count(len(shown), 'finding')} in {count(files, 'file')}{aside} ({looked_at} looked at)."
    confirmed = [finding.evidence for finding in shown if finding.evidence and finding.evidence.confirmed]
    if any(finding.evidence for finding in shown):
        lost = sum(evidence.seconds for evidence in confirmed)
        yield f"The run confirms {len(confirmed)} of them, at {lost:.2g} s."
    code, _ = Counter(finding.code for finding in shown).most_common(1)[0]
    yield f"`jitwatch rule {code}` explains."


def count(number: int, noun: str) -> str:
    """``1 file``, ``2 files``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
