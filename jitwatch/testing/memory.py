"""What Triton holds in memory, taken away from a test and given back after it.

Kernels that an earlier test launched would not miss in this one, and the verdict would hang on the order of the
tests. Nothing is lost: compiled kernels are kept aside, and Triton's disk cache answers meanwhile (2 ms a variant).
"""

from __future__ import annotations

import functools
import gc
import weakref
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


class Functions:
    """Every JITFunction of this process, those made before among them, and what they held then.

    Found by themselves and not through their misses: a test that replaces Triton's hook hides those of its kernels.
    """

    def __init__(self, class_: Any) -> None:
        self._class = class_
        self._known: list[weakref.ref[Any]] = []
        self._early: set[tuple[int, Any, Any]] = set()
        self._plain = class_.__init__
        for each in gc.get_objects():
            if issubclass(type(each), class_):  # no isinstance: proxies answer that by importing things
                self._known.append(weakref.ref(each))
                self._early |= {(id(each), device, key) for device, cache in caches(each) for key in cache}
        class_.__init__ = self._noting(class_.__init__)

    def detach(self) -> None:
        """Note no new ones."""
        if getattr(self._class.__init__, "__wrapped__", None) is self._plain:
            self._class.__init__ = self._plain

    def entries(self) -> Iterator[tuple[Any, Any, dict[Any, Any], Any]]:
        """Function, device, cache and key of all that was compiled since, by anyone."""
        self._known = [each for each in self._known if each() is not None]
        for reference in self._known:
            function = reference()
            for device, cache in caches(function) if function is not None else ():
                for key in list(cache):
                    if (id(function), device, key) not in self._early:
                        yield function, device, cache, key

    def _noting(self, plain: Any) -> Any:
        @functools.wraps(plain)
        def noting(function: Any, *args: Any, **kwargs: Any) -> None:
            plain(function, *args, **kwargs)
            self._known.append(weakref.ref(function))

        return noting


def set_aside(recorder: Recorder, functions: Functions, keep: Set[Entry], choices: Set[Tuned]) -> Aside:
    """Take everything but `keep` out of the kernels' caches, and every autotuner's choice but `choices`."""
    aside = Aside()
    numbers = {id(function): number for number, function in recorder.kernels.functions()}
    for function, device, cache, key in functions.entries():
        if (numbers.get(id(function)), str(device), digest(str(key))) not in keep:
            aside.take(cache, key)
    for tuner, key in tuned(recorder) - choices:
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
