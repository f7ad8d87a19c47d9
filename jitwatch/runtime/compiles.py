"""How a miss is served: compile or disk hit, its stages, its failure, and the load onto the device after it."""

from __future__ import annotations

import functools
import sys
import threading
import time

from . import frames, values
from .hooks import guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .hooks import Places
    from .misses import OpenMisses

OUTSIDE_LIMIT = 20
"""Kernels compiled outside a launch that are named, each once."""


class CompileWatch:
    """Follows the compiler for the open misses; `on_outside` is told the name of each kernel that served none.

    Two sources. The compile listener (3.4 and later) knows disk hits and stage times. A wrapper around
    ``triton.compiler.compile``, which every JITFunction looks up when it first launches, sees exceptions, and where
    there is no listener tells disk hits by whether any IR was made, and stands in for a missing post hook (3.0, 3.1).
    """

    def __init__(self, misses: OpenMisses, places: Places, on_outside: Callable[[str], None]) -> None:
        self.misses = misses
        self.places = places
        self.on_outside = on_outside
        self.local = threading.local()
        self.outside: set[str] = set()
        self._undo: list[tuple[Any, str, Any]] = []

    def attach(self) -> None:
        """Listen, and wrap what cannot be listened to."""
        if self.places.listener is not None:
            self.places.listener.take(self.on_compiled)
        compiler = self.places.compiler
        if compiler is not None and hasattr(compiler, "compile"):
            self._replace(compiler, "compile", self._watched_compile(compiler.compile))
            if self.places.listener is None:
                self._replace(compiler.ASTSource, "make_ir", self._noted_make_ir(compiler.ASTSource.make_ir))
        if self.places.load_start is not None and self.places.load_end is not None:
            self.places.load_start.add(self._on_load_start)
            self.places.load_end.add(self._on_load_end)

    def detach(self) -> None:
        """Put back what was wrapped, where nobody wrapped it again."""
        for owner, name, original in self._undo:
            if getattr(getattr(owner, name), "__wrapped__", None) is original:
                setattr(owner, name, original)
        self._undo.clear()
        if self.places.load_start is not None and self.places.load_end is not None:
            self.places.load_start.remove(self._on_load_start)
            self.places.load_end.remove(self._on_load_end)

    def is_asynchronous(self) -> bool:
        """Whether this context compiles on an executor (3.5 and later)."""
        module = sys.modules.get(self.places.jit.__name__.rpartition(".")[0] + "._async_compile")
        mode = getattr(module, "active_mode", None)
        return mode is not None and mode.get() is not None

    # -- listener ------------------------------------------------------------------------------------------------

    def on_compiled(self, **call: Any) -> None:
        """Compile listener: stage times in microseconds, and whether the disk cache answered."""
        source, times = call.get("src"), call.get("times")
        miss = self.misses.find_by_source(source)
        if miss is None:
            self._note_outside(source)
            return
        miss.cached = bool(call.get("cache_hit"))
        miss.stages = {
            str(stage): round(microseconds / 1e6, 6)
            for stage, microseconds in getattr(times, "lowering_stages", ())
        }

    def _note_outside(self, source: Any) -> None:
        name = getattr(source, "name", "?")
        if name not in self.outside and len(self.outside) < OUTSIDE_LIMIT:
            self.outside.add(name)
            self.on_outside(name)

    # -- wrapper -------------------------------------------------------------------------------------------------

    def _replace(self, owner: Any, name: str, wrapper: Any) -> None:
        self._undo.append((owner, name, getattr(owner, name)))
        setattr(owner, name, wrapper)

    def _watched_compile(self, compile_: Any) -> Any:
        @functools.wraps(compile_)
        def watched(src: Any, *args: Any, **kwargs: Any) -> Any:
            self.local.made_ir = False
            try:
                kernel = compile_(src, *args, **kwargs)
            except BaseException as error:
                guarded(self._on_failed, (src, error), {})
                raise
            guarded(self._on_finished, (src,), {})
            return kernel

        return watched

    def _noted_make_ir(self, make_ir: Any) -> Any:
        @functools.wraps(make_ir)
        def noted(*args: Any, **kwargs: Any) -> Any:
            self.local.made_ir = True
            return make_ir(*args, **kwargs)

        return noted

    def _on_failed(self, source: Any, error: BaseException) -> None:
        miss = self.misses.find_by_source(source)
        if miss is not None:
            first = (str(error).strip().splitlines() or [""])[0]
            miss.failed = f"{type(error).__name__}: {first}"[:300]
            self.misses.close(miss)

    def _on_finished(self, source: Any) -> None:
        miss = self.misses.find_by_source(source)
        if miss is None:
            return
        if self.places.listener is None:
            miss.cached = not self.local.made_ir
        if self.places.post is None:
            self.misses.close(miss)

    # -- load ----------------------------------------------------------------------------------------------------

    def _on_load_start(self, *args: Any, **kwargs: Any) -> None:
        self.local.load_started = time.perf_counter()

    def _on_load_end(self, *args: Any, **kwargs: Any) -> None:
        guarded(self._tell_load, args, kwargs)

    def _tell_load(self, module: Any, function: Any, name: str, *rest: Any) -> None:
        """A module was loaded: part of the stall that no compile time holds (trap: a late load can also fail)."""
        latest = self.misses.latest
        of_latest = latest is not None and name == latest.function.fn.__name__
        self.misses.sink(
            {
                "event": "load",
                "n": latest.n if latest is not None and of_latest else None,
                "kernel": name,
                "time": time.time(),
                "seconds": round(time.perf_counter() - self.local.load_started, 6),
                "grid": values.grid(frames.launched_grid(frames.caller(1))),
            }
        )
