"""Autotuners: every new key, what it cost, and which candidate misses belong to it.

A key holds the values of its arguments verbatim, so a length in it benchmarks every configuration again for every
length, and no JIT hook fires for that (the candidates are in memory already). Three methods of ``Autotuner`` are
wrapped that run only then, so a launch with a known key pays nothing; the tuning listener (3.8 and later) tells the
outcome, and without it the last candidate does.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
import weakref

from . import frames, values
from .hooks import guarded
from .kernels import jit_function

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from .hooks import Slot
    from .kernels import KernelBook
    from .misses import Sink


class Tuning:
    """One tuning under way on this thread."""

    def __init__(self, tuner: Any, key: Any, named: dict[str, Any], candidates: int) -> None:
        self.tuner = tuner
        self.key = _named_key(tuner, key, named)
        self.candidates = candidates
        self.started = time.perf_counter()
        self.spent: list[tuple[Any, float, Any]] = []
        """(configuration, seconds, timing Triton measured) of each candidate."""
        self.misses: list[int] = []


class TuneWatch:
    """Follows every Autotuner of one Triton; each new key goes to `sink`."""

    def __init__(self, kernels: KernelBook, triton: ModuleType, listener: Slot | None, sink: Sink) -> None:
        self.kernels = kernels
        self.sink = sink
        self.listener = listener
        module = sys.modules.get(triton.__name__ + ".runtime.autotuner")
        self.autotuner: Any = getattr(module, "Autotuner", None)
        self.local = threading.local()
        self.tuners: weakref.WeakSet[Any] = weakref.WeakSet()
        """Those that met a new key."""
        self._undo: list[tuple[str, Any]] = []

    def attach(self) -> None:
        """Listen, and wrap the methods that run only for a new key."""
        if self.listener is not None:
            self.listener.take(self.on_tuned)
        for name, wrap in [
            ("prune_configs", self._begin),
            ("_bench", self._time),
            ("check_disk_cache", self._read),
        ]:
            original = getattr(self.autotuner, name, None)
            if original is not None:
                self._undo.append((name, original))
                setattr(self.autotuner, name, wrap(original))

    def detach(self) -> None:
        """Put the methods back, where nobody wrapped them again."""
        for name, original in self._undo:
            if getattr(getattr(self.autotuner, name), "__wrapped__", None) is original:
                setattr(self.autotuner, name, original)
        self._undo.clear()

    def note_candidate(self, n: int) -> None:
        """Miss `n` compiles a candidate of the tuning under way."""
        tuning = self._current()
        if tuning is not None:
            tuning.misses.append(n)

    def on_tuned(self, **call: Any) -> None:
        """Tuning listener: an autotuner met a new key and has chosen."""
        tuning = self._current()
        if tuning is not None:
            self._finish(tuning, call.get("best_config"), bool(call.get("cache_hit")))

    def _current(self) -> Tuning | None:
        return getattr(self.local, "tuning", None)

    # -- wrappers ------------------------------------------------------------------------------------------------

    def _begin(self, prune: Any) -> Any:
        @functools.wraps(prune)
        def prune_configs(tuner: Any, *args: Any, **kwargs: Any) -> Any:
            pruned = prune(tuner, *args, **kwargs)
            guarded(self._start, (tuner, frames.caller(1), pruned), {})
            return pruned

        return prune_configs

    def _start(self, tuner: Any, frame: Any, pruned: list[Any]) -> None:
        local = frame.f_locals
        self.tuners.add(tuner)
        if frame.f_code.co_name == "run" and "key" in local:
            self.local.tuning = Tuning(tuner, local["key"], _by_name(tuner, local["_args"]), len(pruned))

    def _time(self, bench: Any) -> Any:
        @functools.wraps(bench)
        def _bench(tuner: Any, *args: Any, config: Any, **kwargs: Any) -> Any:
            started = time.perf_counter()
            timing = bench(tuner, *args, config=config, **kwargs)
            guarded(self._note_bench, (config, time.perf_counter() - started, timing), {})
            return timing

        return _bench

    def _note_bench(self, config: Any, seconds: float, timing: Any) -> None:
        tuning = self._current()
        if tuning is None:
            return
        tuning.spent.append((config, seconds, timing))
        if self.listener is None and len(tuning.spent) == tuning.candidates:
            best = min(tuning.spent, key=lambda each: each[2])
            self._finish(tuning, best[0], cached=False)

    def _read(self, check: Any) -> Any:
        @functools.wraps(check)
        def check_disk_cache(tuner: Any, key: Any, *args: Any, **kwargs: Any) -> Any:
            cached = check(tuner, key, *args, **kwargs)
            if cached and self.listener is None:
                guarded(self._note_read, (tuner.cache.get(key),), {})
            return cached

        return check_disk_cache

    def _note_read(self, best: Any) -> None:
        tuning = self._current()
        if tuning is not None:
            self._finish(tuning, best, cached=True)

    def _finish(self, tuning: Tuning, best: Any, cached: bool) -> None:
        self.local.tuning = None
        launch = frames.Launch(frames.caller(1))
        self.sink(
            {
                "event": "tune",
                "time": time.time(),
                "kernel": self.kernels.number(jit_function(tuning.tuner)),
                "key": tuning.key,
                "candidates": tuning.candidates,
                "best": str(best) if best is not None else None,
                "seconds": round(time.perf_counter() - tuning.started, 6),
                "losers": round(sum(seconds for config, seconds, _ in tuning.spent if config is not best), 6),
                "cached": cached,
                "misses": tuning.misses,
                "site": launch.stack[0] if launch.stack else None,
            }
        )


def _by_name(tuner: Any, arguments: Any) -> dict[str, Any]:
    return arguments if isinstance(arguments, dict) else dict(zip(tuner.arg_names, arguments))


def _named_key(tuner: Any, key: Any, named: dict[str, Any]) -> list[list[Any]]:
    """The key's values with their arguments' names; what Triton appends are dtypes of the tensors, in order."""
    keys = getattr(tuner, "keys", None)
    if keys is None:  # 3.0 and 3.1 hold positions
        keys = [tuner.arg_names[position] for position in tuner.key_idx]
    names = [name for name in keys if name in named]
    names += ["dtype"] * (len(key) - len(names))
    return [[name, values.describe(value)] for name, value in zip(names, key)]
