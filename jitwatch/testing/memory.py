"""What Triton holds in memory, taken away from a test and given back after it.

Kernels that an earlier test launched would not miss in this one, and the verdict would hang on the order of the
tests. Nothing is lost: compiled kernels are kept aside, and Triton's disk cache answers meanwhile (2 ms a variant).
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Any

from jitwatch.runtime.recorder import Recorder, digest

Entry = tuple[int, str, str]
"""Number of the JITFunction, device, digest of the key: what a ``miss`` event tells of an entry."""

Tuned = tuple[Any, Any]
"""Autotuner and key."""

_NOTHING = object()


class Aside:
    """Entries of caches that were taken out."""

    def __init__(self) -> None:
        self._taken: list[tuple[dict[Any, Any], Any, Any]] = []

    def take(self, cache: dict[Any, Any], key: Any) -> None:
        """Take an entry out of a cache; one that is not there is no error."""
        value = cache.pop(key, _NOTHING)
        if value is not _NOTHING:
            self._taken.append((cache, key, value))

    def give_back(self) -> None:
        """Put every entry back, unless a new one took its place."""
        for cache, key, value in self._taken:
            cache.setdefault(key, value)
        self._taken.clear()


def set_aside(recorder: Recorder, entries: Set[Entry], keep: Set[Tuned]) -> Aside:
    """Take `entries` out of the kernels' caches, and every autotuner's choice but those in `keep`."""
    aside = Aside()
    for number, function in recorder.kernels.functions():
        for device, cache in caches(function):
            for key in list(cache):
                if (number, str(device), digest(str(key))) in entries:
                    aside.take(cache, key)
    for tuner, key in tuned(recorder) - keep:
        aside.take(tuner.cache, key)
    return aside


def tuned(recorder: Recorder) -> set[Tuned]:
    """What autotuners have chosen so far."""
    return {(tuner, key) for tuner in list(recorder.tuning.tuners) for key in tuner.cache}


def caches(function: Any) -> Iterator[tuple[Any, dict[Any, Any]]]:
    """Device and cache of compiled variants, of a JITFunction of any release."""
    by_device = getattr(function, "device_caches", None)
    if by_device is None:  # up to 3.2
        yield from list(function.cache.items())
        return
    for device, held in list(by_device.items()):
        yield device, held[0]
