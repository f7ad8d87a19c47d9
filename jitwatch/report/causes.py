"""Recompiles of a kernel grouped by what changed, the dearest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jitwatch.analysis import MissEvent

CHANGES = 3
"""Differences of one cause that are spelled out."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Recompiles in which the same things changed."""

    events: tuple[MissEvent, ...]

    @property
    def seconds(self) -> float:
        """Their stall."""
        return sum(event.seconds for event in self.events)

    def words(self) -> str:
        """The dearest of them in words: ``num_tokens: 48 (÷16) → 62 (other)``."""
        dearest = max(self.events, key=lambda event: event.seconds)
        said = [change.words() for change in dearest.changes]
        more = [f"and {len(said) - CHANGES} more"] if len(said) > CHANGES else []
        return "; ".join([*said[:CHANGES], *more])


def group_causes(recompiles: Sequence[MissEvent]) -> list[Cause]:
    """One cause for each set of arguments (or options) that changed."""
    groups: dict[tuple[str, ...], list[MissEvent]] = {}
    for event in recompiles:
        groups.setdefault(tuple(change.name for change in event.changes), []).append(event)
    causes = [Cause(tuple(events)) for events in groups.values()]
    return sorted(causes, key=lambda cause: -cause.seconds)
