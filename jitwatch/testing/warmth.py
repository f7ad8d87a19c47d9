"""Which variants in memory a test may count on: those that its own fixtures of a wider scope have warmed up."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TypeVar

from jitwatch.testing.memory import Aside, Tuned, tuned
from jitwatch.testing.recording import Recording

T = TypeVar("T")


class Warmth:
    """What each fixture of class, module, package or session scope left in memory."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._misses: dict[str, frozenset[int]] = {}
        self._tuned: dict[str, frozenset[Tuned]] = {}
        self._names: Collection[str] = ()

    def use(self, names: Collection[str]) -> None:
        """The running test asks for the fixtures `names`."""
        self._names = names

    def misses(self) -> frozenset[int]:
        """Misses of the running test's wider fixtures."""
        return _union(self._misses, self._names)

    @contextmanager
    def set_up(self, name: str) -> Iterator[None]:
        """Around the set-up of a fixture of a wider scope: what it launches stays for the tests that ask for it."""
        self._misses.pop(name, None)
        self._tuned.pop(name, None)
        aside = self.set_others_aside()
        begin, before = self.recording.mark(), self._tuned_now()
        try:
            yield
        finally:
            self._misses[name] = self.recording.misses(begin, self.recording.mark())
            self._tuned[name] = frozenset(self._tuned_now() - before)
            aside.give_back()

    def set_others_aside(self) -> Aside:
        """Take what other tests, and fixtures not asked for, left in memory out of it."""
        return self.recording.set_aside(self.misses(), _union(self._tuned, self._names))

    def _tuned_now(self) -> set[Tuned]:
        recorder = self.recording.recorder
        return tuned(recorder) if recorder is not None else set()


def _union(by_name: dict[str, frozenset[T]], names: Collection[str]) -> frozenset[T]:
    return frozenset(item for name in names for item in by_name.get(name, ()))
