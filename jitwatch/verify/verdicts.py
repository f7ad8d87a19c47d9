"""The verdict on a remedy, and the file that keeps a run's."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from jitwatch.specialization import Remedy
from jitwatch.verify.figures import Figures
from jitwatch.verify.judge import IDENTICAL, SEVERITY, Outcome
from jitwatch.verify.requests import Form
from jitwatch.verify.timing import Timing

ADVICE = "; time it on the device"
"""Ends the reason of what code alone does not settle, until it was timed."""

VERDICTS_FILE = "verdicts.json"
"""In a run directory: what ``jitwatch verify RUN`` found, for whoever reads the run later."""

SHOWN = 4
"""Classes that a reason names."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One variant before and after a remedy."""

    words: str
    """The class of the argument before: ``÷16``."""
    outcome: Outcome
    reason: str
    before: Figures | None
    after: Figures | None
    forms: tuple[Form, Form] | None = None
    """What was compiled; None where one of both did not."""
    changed: tuple[str, ...] = ()
    """Lines of the old and the new assembly only (``code.difference``), of the decisive pair."""
    changed_more: int = 0
    """Changed lines beyond these."""
    timing: Timing | None = None
    """Of both forms on the device, of the decisive pair."""

    @property
    def growth(self) -> int:
        """Instructions that the remedy adds."""
        return self.after.instructions - self.before.instructions if self.before and self.after else 0


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known about one remedy for one parameter of one kernel."""

    kernel: str
    path: str
    line: int
    parameter: str
    remedy: Remedy
    target: str
    outcome: Outcome
    reason: str
    pairs: tuple[Pair, ...] = ()
    """Every variant that the remedy changes, the decisive one first."""
    notes: tuple[str, ...] = ()
    """What the reader must know of how it was found: guessed signatures, variants left out."""

    @property
    def before(self) -> Figures | None:
        """Of the decisive pair."""
        return self.pairs[0].before if self.pairs else None

    @property
    def after(self) -> Figures | None:
        """Of the decisive pair."""
        return self.pairs[0].after if self.pairs else None

    @property
    def changed_lines(self) -> tuple[str, ...]:
        """Of the decisive pair."""
        return self.pairs[0].changed if self.pairs else ()

    @property
    def changed_lines_left_out(self) -> int:
        """Of the decisive pair."""
        return self.pairs[0].changed_more if self.pairs else 0

    @property
    def timing(self) -> Timing | None:
        """Of the decisive pair."""
        return self.pairs[0].timing if self.pairs else None

    def to_json(self) -> dict[str, Any]:
        """As ``--format json`` prints it."""
        return {
            "kernel": self.kernel,
            "path": self.path,
            "line": self.line,
            "parameter": self.parameter,
            "remedy": self.remedy.value,
            "target": self.target,
            "verdict": self.outcome.value,
            "reason": self.reason,
            "before": _timed(self.before, self.timing.before if self.timing else None),
            "after": _timed(self.after, self.timing.after if self.timing else None),
            "time_ratio": round(self.timing.ratio, 4) if self.timing else None,
            "changed_lines": list(self.changed_lines),
            "changed_lines_left_out": self.changed_lines_left_out,
            "classes": [
                {"class": pair.words, "verdict": pair.outcome.value, "reason": pair.reason}
                for pair in self.pairs
            ],
            "notes": list(self.notes),
        }

    def lowered(self, pair: Pair, reason: str) -> Verdict:
        """The same, worse because of a pair found later."""
        return replace(self, outcome=pair.outcome, reason=reason, pairs=(pair, *self.pairs))


def _timed(figures: Figures | None, microseconds: float | None) -> dict[str, Any] | None:
    """Figures, with the time where it was measured."""
    if figures is None:
        return None
    return figures.to_json() | ({} if microseconds is None else {"microseconds": round(microseconds, 2)})


def conclude(pairs: Sequence[Pair]) -> tuple[Outcome, str, tuple[Pair, ...]]:
    """Outcome and reason of a remedy from all its pairs, and the pairs with the decisive one first.

    Raises ValueError without a pair.
    """
    ordered = tuple(sorted(pairs, key=lambda pair: (-SEVERITY[pair.outcome], -pair.growth)))
    worst = ordered[0]
    if worst.outcome is Outcome.HARMLESS:
        return worst.outcome, _harmless_reason(ordered), ordered
    alike = [pair for pair in ordered if pair.outcome is worst.outcome]
    everywhere = all(pair.reason == worst.reason for pair in pairs)
    reason = worst.reason if everywhere else f"{_classes(alike)}: {worst.reason}"
    advice = ADVICE if worst.outcome is Outcome.UNKNOWN and worst.after is not None else ""
    return worst.outcome, reason + advice, ordered


def _harmless_reason(ordered: Sequence[Pair]) -> str:
    """Which classes compile to the same code, and the largest difference of the others."""
    same = [pair for pair in ordered if pair.reason == IDENTICAL]
    other = [pair for pair in ordered if pair.reason != IDENTICAL]
    if not (same and other):
        return ordered[0].reason
    return f"{_classes(same)}: {IDENTICAL}; {_classes(other)}: {other[0].reason}"


def _classes(pairs: Sequence[Pair]) -> str:
    words = list(dict.fromkeys(pair.words for pair in pairs))
    more = f" and {len(words) - SHOWN} more" if len(words) > SHOWN else ""
    return ", ".join(words[:SHOWN]) + more


def write_verdicts(run: Path, verdicts: Iterable[Verdict]) -> None:
    """Keep the verdicts on a run's remedies in its directory. Raises OSError."""
    rows = [verdict.to_json() for verdict in verdicts]
    (run / VERDICTS_FILE).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def read_verdicts(run: Path) -> list[dict[str, Any]]:
    """What ``write_verdicts`` kept, as ``--format json`` has it; none when the run was never verified."""
    try:
        rows = json.loads((run / VERDICTS_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def find_verdict(
    rows: Iterable[dict[str, Any]], kernel: str, line: int, parameter: str, remedy: Remedy
) -> dict[str, Any] | None:
    """The row of ``read_verdicts`` on a remedy, or None. `line`: of the kernel's ``def``, which tells of an edit."""
    wanted = {"kernel": kernel, "line": line, "parameter": parameter, "remedy": remedy.value}
    return next((row for row in rows if row.items() >= wanted.items()), None)
