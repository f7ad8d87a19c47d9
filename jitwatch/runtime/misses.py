"""Misses between their first and their last moment."""

from __future__ import annotations

import itertools
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Sink = Callable[["dict[str, Any]"], None]


class OpenMiss:
    """A miss whose compile has not ended."""

    def __init__(self, n: int, function: Any, key: str, device: Any, signature: Any) -> None:
        self.n = n
        self.function = function
        self.key = key
        self.device = device
        self.signature = signature
        self.thread = threading.get_ident()
        self.started = time.perf_counter()
        self.cached: bool | None = None
        self.stages: dict[str, float] = {}
        self.failed: str | None = None


class OpenMisses:
    """The open misses of a process; how each ended goes to `sink`."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.start_over()

    def start_over(self) -> None:
        """Number from 1 again, for a new event file."""
        self._numbers = itertools.count(1)
        self.forget()

    def forget(self) -> None:
        """In a forked child: what its parent has in flight is not its own."""
        self._open: list[OpenMiss] = []
        self._local = threading.local()

    def open(self, function: Any, key: str, device: Any, signature: Any) -> OpenMiss:
        """A miss begins on this thread."""
        miss = OpenMiss(next(self._numbers), function, key, device, signature)
        self._open.append(miss)
        self._local.latest = miss
        return miss

    @property
    def latest(self) -> OpenMiss | None:
        """The miss that this thread met last, open or ended."""
        return getattr(self._local, "latest", None)

    def is_open(self, miss: OpenMiss) -> bool:
        """Whether its end has not been told."""
        return miss in self._open

    def find(self, wanted: Callable[[OpenMiss], bool]) -> OpenMiss | None:
        """The wanted open miss, this thread's first."""
        found = [miss for miss in list(self._open) if wanted(miss)]
        here = threading.get_ident()
        return min(found, key=lambda miss: miss.thread != here, default=None)

    def find_by_source(self, source: Any) -> OpenMiss | None:
        """The open miss that a compile of `source` serves."""
        signature, function = getattr(source, "signature", None), getattr(source, "fn", None)
        return self.find(lambda m: m.signature is signature) or self.find(lambda m: m.function is function)

    def close(self, miss: OpenMiss) -> None:
        """Tell how a miss ended. The first to close it wins: post hooks can fire twice for one asynchronous result."""
        try:
            self._open.remove(miss)
        except ValueError:
            return
        self.sink(
            {
                "event": "served",
                "n": miss.n,
                "time": time.time(),
                "seconds": round(time.perf_counter() - miss.started, 6),
                "cached": miss.cached,
                "stages": miss.stages,
                "failed": miss.failed,
            }
        )
