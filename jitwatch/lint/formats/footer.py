"""The last lines of the formats a person reads: how much there is, and the next command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from jitwatch.lint.engine import Outcome
from jitwatch.lint.finding import Applicability


def footer(outcome: Outcome, *, unsafe: bool = False, fixed: int = 0) -> Iterator[str]:
    """Yield the summary; it ends with a command that runs as printed.

    ``unsafe``: fixes that are not safe are asked for; ``fixed``: findings that were there and are mended.
    """
    shown = outcome.shown
    suppressed = len(outcome.findings) - len(shown)
    aside = f", {suppressed} suppressed" if suppressed else ""
    looked_at = f"{count(outcome.kernels, 'kernel')} in {count(len(outcome.read), 'file')}"
    mended = f"Fixed {count(fixed, 'finding')}. " if fixed else ""
    if not shown:
        yield f"{mended}No findings{' left' if fixed else ''}{aside}: {looked_at} looked at."
        return
    files = len({finding.path for finding in shown})
    found = f"{count(len(shown), 'finding')} in {count(files, 'file')}{aside} ({looked_at} looked at)."
    yield f"{mended}Left: {found}" if fixed else f"Found {found}"
    confirmed = [finding.evidence for finding in shown if finding.evidence and finding.evidence.confirmed]
    if any(finding.evidence for finding in shown):
        lost = sum(evidence.seconds for evidence in confirmed)
        yield f"The run confirms {len(confirmed)} of them, at {lost:.2g} s."
    yield from fixable(outcome, unsafe=unsafe)
    code, _ = Counter(finding.code for finding in shown).most_common(1)[0]
    yield f"`jitwatch rule {code}` explains."


def fixable(outcome: Outcome, *, unsafe: bool = False) -> Iterator[str]:
    """Yield how many findings ``--fix`` mends, and how many more it can be told to."""
    mended = [finding for finding in outcome.shown if finding.edits]
    promises = Counter(finding.applicability for finding in mended)
    safe, more = promises[Applicability.SAFE], promises[Applicability.UNSAFE]
    if more and (unsafe or not safe):
        yield f"{safe + more if unsafe else more} fixable with `--fix --unsafe-fixes`."
    elif safe:
        yield f"{safe} fixable with `--fix`" + (f", {more} more with `--unsafe-fixes`." if more else ".")
    if any(f.applicability is Applicability.UNSAFE and f.is_provable for f in mended):
        yield "`--fix --verify` compiles both forms, and applies what is proven harmless."


def count(number: int, noun: str) -> str:
    """``1 file``, ``2 files``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
