"""Autotuners and benchmarks, where nothing can be measured.

An autotuner still meets a new key as on a GPU and still prunes. Of the configurations left it tries the first,
compiling it as a GPU would, and the next only when that one does not fit the device; the rest are not compiled.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import Any, Callable, Iterator

from .notices import notices
from .patches import Patches

_CHOSEN, _OTHER = [1.0, 1.0, 1.0], [2.0, 2.0, 2.0]
"""Milliseconds (median, 20th and 80th percentile) of the configuration taken and of all others."""


class _Trial(threading.local):
    running = False


_trial = _Trial()


def in_trial() -> bool:
    """A candidate is being tried in this thread: its launch must not change anything."""
    return _trial.running


@contextmanager
def _trying() -> Iterator[None]:
    _trial.running = True
    try:
        yield
    finally:
        _trial.running = False


def choose_first(patches: Patches) -> None:
    """Make autotuners take their first configuration that compiles, and benchmarks answer without measuring."""
    from triton.runtime.autotuner import Autotuner

    bench = Autotuner._bench

    def bench_one(self: Any, *args: Any, config: Any, **meta: Any) -> Any:
        # One dict for each search, made at the start of `run`: an identity nothing else can have meanwhile.
        if self.__dict__.get("_jitwatch_chosen") is self.nargs:
            return list(_OTHER)
        notices.say("autotuners took their first configuration that compiles: offline nothing is measured")
        plain = self.__dict__.get("do_bench")
        self.__dict__["do_bench"] = _try_once
        try:
            with _trying():
                timing = bench(self, *args, config=config, **meta)
        finally:
            self.__dict__.pop("do_bench")
            if plain is not None:
                self.__dict__["do_bench"] = plain
        if timing == _CHOSEN:
            self.__dict__["_jitwatch_chosen"] = self.nargs
        return timing

    patches.set(Autotuner, "_bench", bench_one)
    if "check_disk_cache" in vars(Autotuner):
        patches.set(Autotuner, "check_disk_cache", _keep_off_disk)
    _answer_benchmarks(patches)


def _try_once(kernel_call: Callable[[], Any], quantiles: Any) -> Any:
    kernel_call()
    return list(_CHOSEN)


def _keep_off_disk(self: Any, key: Any, configs: Any, bench: Callable[[], None]) -> bool:
    """Triton's cache of tuning results is shared with real devices: made-up times must not get there."""
    bench()
    return False


def _answer_benchmarks(patches: Patches) -> None:
    from triton import testing

    def do_bench(
        fn: Callable[[], Any], *_: Any, quantiles: Any = None, return_mode: str = "mean", **__: Any
    ) -> Any:
        notices.say("do_bench answered 1 ms without measuring")
        fn()
        if quantiles is not None:
            times = [1.0] * len(quantiles)
            return times if len(times) > 1 else times[0]
        return [1.0] if return_mode == "all" else 1.0

    for name in ("do_bench", "do_bench_cudagraph", "do_bench_proton"):
        if hasattr(testing, name):
            patches.set(testing, name, do_bench)
