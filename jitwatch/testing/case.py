"""One test while it runs: when it began, what its fixtures warmed up, what is still open."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from jitwatch.testing.errors import UnwatchableError
from jitwatch.testing.happened import Happened, happened
from jitwatch.testing.limits import Limit, Policy, check_all
from jitwatch.testing.recording import Mark, Recording
from jitwatch.testing.warmth import Warmth

if TYPE_CHECKING:
    from jitwatch.testing.watch import Block, NoRecompiles

INTERPRETED = (
    "TRITON_INTERPRET is set: kernels run in Triton's interpreter, which compiles nothing, so nothing can be counted; "
    "unset it, and give --jitwatch-offline where there is no GPU"
)


class Case:
    """One test."""

    def __init__(self, recording: Recording, warmth: Warmth, policy: Policy) -> None:
        self.recording = recording
        self.warmth = warmth
        self.policy = policy
        self.begin = recording.mark()
        self.limits: list[Limit] = []
        """Of the whole body: those of markers."""
        self.guard: NoRecompiles | None = None
        self.open_blocks: list[Block] = []

    def happened(self, begin: Mark | None, end: Mark) -> Happened:
        """What happened between two moments; from the test's beginning, its fixtures' warm-up included, if None."""
        shared = self.warmth.misses()
        if begin is None:
            return happened(self.recording, self.begin, shared, Mark(0, 0.0), end)
        return happened(self.recording, self.begin, shared, begin, end)

    @contextmanager
    def body(self) -> Iterator[None]:
        """Around the test's body: blocks left open, the guard and the markers are judged at its end."""
        self.check_watchable()
        begin = self.recording.mark()
        yield
        self.check_watchable()
        blocks, self.open_blocks = self.open_blocks, []
        for block in reversed(blocks):
            block.close()
        limits = list(self.limits)
        if self.guard is not None and not self.guard.entered:
            limits.append(Limit("no_recompiles", first_variants=True))
        if limits:
            check_all(limits, self.happened(begin, self.recording.mark()), self.policy)

    @contextmanager
    def anew(self) -> Iterator[Case]:
        """A test within the test: nothing is in memory, and what happened before it is no part of its history."""
        aside = self.recording.set_aside(frozenset(), frozenset())
        try:
            yield Case(self.recording, Warmth(self.recording), self.policy)
        finally:
            aside.give_back()

    def check_watchable(self) -> None:
        """Raise UnwatchableError where misses cannot be seen."""
        if os.environ.get("TRITON_INTERPRET", "0").lower() in ("1", "true", "on", "yes", "y"):
            raise UnwatchableError(INTERPRETED)
        lost = self.recording.lost_hook()
        if lost is not None:
            raise UnwatchableError(f"misses cannot be counted: {lost}")
