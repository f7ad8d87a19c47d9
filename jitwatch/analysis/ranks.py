"""What one rank's stall costs the group: at a collective, every rank waits for the last.

The events tell of no collective, and need not. Of ranks in lock step none passes a collective before the others
reach it, so stalls of two ranks that overlap lie between the same two collectives: they share a *window*, in which
the ranks stall side by side and the group is late by the longest of them, not by their sum. Every rank loses that
time, the one that compiles and those that wait: its price is that stall times the number of ranks, in GPU-seconds.

Read it with three things in mind. Two ranks that stall one after the other before the same collective count as two
windows, which is too much by the shorter stall. Ranks that never wait for each other (plain data parallel serving)
lose their own stalls alone. And hosts whose clocks differ by more than a stall cannot be compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from jitwatch.analysis.findings import Findings
from jitwatch.analysis.misses import MissEvent

JITTER = 0.02
"""Seconds by which ranks may reach the same launch apart: one can be done reading a variant from the disk cache, in
2 ms, before another looks there. Between two compiles it bridges nothing, since a whole step may lie there."""


@dataclass(frozen=True, slots=True)
class RankStall:
    """One rank's part in a window."""

    rank: int
    seconds: float
    """Time during which at least one of its threads stood still in a miss."""
    events: tuple[MissEvent, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """Misses between the same two collectives."""

    start: float
    """Unix seconds."""
    stalls: tuple[RankStall, ...]
    """Of the ranks that missed, by rank."""
    world: int
    """Ranks of the group."""

    @property
    def slowest(self) -> RankStall:
        """The one that all waited for."""
        return max(self.stalls, key=lambda each: each.seconds)

    @property
    def seconds(self) -> float:
        """Stall of the group."""
        return self.slowest.seconds

    @property
    def gpu_seconds(self) -> float:
        """Lost over all ranks, stalled or waiting."""
        return self.seconds * self.world

    @property
    def missed(self) -> tuple[int, ...]:
        """Ranks that missed."""
        return tuple(each.rank for each in self.stalls)

    @property
    def compiled(self) -> tuple[int, ...]:
        """Ranks that compiled, instead of reading what another had compiled from the disk cache."""
        return tuple(each.rank for each in self.stalls if not all(map(_read_from_disk, each.events)))

    @property
    def only_rank(self) -> int | None:
        """The rank, when a single one missed and all others had the variants in memory."""
        return self.stalls[0].rank if len(self.stalls) == 1 else None

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of the kernels that missed."""
        return tuple(dict.fromkeys(event.kernel.name for stall in self.stalls for event in stall.events))


@dataclass(frozen=True, slots=True)
class RankTotal:
    """One rank over the run."""

    rank: int
    misses: int
    """Of launches."""
    recompiles: int
    seconds: float
    """Stood still in its own misses."""
    waited: float
    """Waited for other ranks' misses."""


@dataclass(frozen=True, slots=True)
class RankFindings:
    """A run of several ranks as one group."""

    totals: tuple[RankTotal, ...]
    """By rank."""
    windows: tuple[Window, ...]
    """Of all launches' misses, first variants among them, in time order."""
    recompiling: tuple[Window, ...]
    """Of recompiles alone."""

    @property
    def seconds(self) -> float:
        """Stall of the group."""
        return sum(window.seconds for window in self.windows)

    @property
    def gpu_seconds(self) -> float:
        """Lost to it over all ranks."""
        return sum(window.gpu_seconds for window in self.windows)

    @property
    def seconds_recompiles(self) -> float:
        """Stall of the group by recompiles."""
        return sum(window.seconds for window in self.recompiling)

    @property
    def gpu_seconds_recompiles(self) -> float:
        """Lost to them over all ranks."""
        return sum(window.gpu_seconds for window in self.recompiling)


def study_ranks(findings: Findings) -> RankFindings | None:
    """The group's stalls; None for a run with fewer than two ranks. Tuning is not among them."""
    ranks = sorted({each.rank for each in findings.run.processes if each.rank is not None})
    if len(ranks) < 2:
        return None
    events = [
        event
        for kernel in findings.kernels
        for event in kernel.events
        if event.from_launch and event.process.rank is not None
    ]
    windows = tuple(find_windows(events, len(ranks)))
    recompiling = tuple(find_windows([event for event in events if event.recompile], len(ranks)))
    return RankFindings(tuple(_totals(ranks, windows)), windows, recompiling)


def find_windows(events: Iterable[MissEvent], world: int) -> Iterator[Window]:
    """Group misses of ranks, given in any order, by overlap in time (see ``JITTER``)."""
    together: list[MissEvent] = []
    until = 0.0
    for event in sorted(events, key=lambda each: each.miss.time):
        if together and event.miss.time >= until and not _just_missed(event, together, until):
            yield _window(together, world)
            together, until = [], 0.0
        together.append(event)
        until = max(until, _interval(event)[1])
    if together:
        yield _window(together, world)


def _just_missed(event: MissEvent, together: Iterable[MissEvent], until: float) -> bool:
    """Whether another rank met the same variant a moment before, and one of the two read it from disk."""
    return event.miss.time < until + JITTER and any(
        event.process.rank != other.process.rank
        and event.miss.key == other.miss.key
        and event.kernel.identity == other.kernel.identity
        and (_read_from_disk(event) or _read_from_disk(other))
        for other in together
    )


def _window(events: Sequence[MissEvent], world: int) -> Window:
    by_rank: dict[int, list[MissEvent]] = {}
    for event in events:
        if (rank := event.process.rank) is not None:
            by_rank.setdefault(rank, []).append(event)
    stalls = [RankStall(rank, _covered(own), tuple(own)) for rank, own in sorted(by_rank.items())]
    return Window(events[0].miss.time, tuple(stalls), world)


def _read_from_disk(event: MissEvent) -> bool:
    """False too where this release of Triton cannot tell."""
    return bool(event.miss.served and event.miss.served.cached)


def _interval(event: MissEvent) -> tuple[float, float]:
    """Begin and end of a stall, loading the module onto the device included: the launch waits for that too."""
    return event.miss.time, event.miss.time + event.seconds + event.miss.load_seconds


def _covered(events: Iterable[MissEvent]) -> float:
    """Time covered by stalls in the order of their begin; threads that stall at once lose it once."""
    covered = reached = 0.0
    for begin, end in map(_interval, events):
        covered += max(0.0, end - max(begin, reached))
        reached = max(reached, end)
    return covered


def _totals(ranks: Sequence[int], windows: Sequence[Window]) -> Iterator[RankTotal]:
    """How each rank spent the group's stalls: in misses of its own, or waiting."""
    group = sum(window.seconds for window in windows)
    by_rank: dict[int, list[RankStall]] = {rank: [] for rank in ranks}
    for window in windows:
        for stall in window.stalls:
            by_rank[stall.rank].append(stall)
    for rank, own in by_rank.items():
        events = [event for stall in own for event in stall.events]
        seconds = sum(stall.seconds for stall in own)
        recompiles = sum(event.recompile for event in events)
        yield RankTotal(rank, len(events), recompiles, seconds, group - seconds)
