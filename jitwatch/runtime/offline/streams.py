"""Streams and events of ``torch.cuda``: everything is done when it is asked for, so they only keep order and time."""

from __future__ import annotations

import itertools
import threading
import time
from contextlib import contextmanager
from typing import Any, Callable, Iterator

_handles = itertools.count(0x7F0000000000, 0x40)


class Stream:
    """``torch.cuda.Stream``. The default stream's handle is 0, as on a device."""

    def __init__(self, device: Any = None, priority: int = 0, handle: int | None = None, **_: Any) -> None:
        self.device_index = _index(device)
        self.priority = priority
        self.cuda_stream = next(_handles) if handle is None else handle
        self.stream_id = self.cuda_stream

    @property
    def device(self) -> Any:
        """``torch.device("cuda", i)``."""
        import torch

        return torch.device("cuda", self.device_index)

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event, a new one by default."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Already over."""

    def wait_stream(self, stream: Stream) -> None:
        """Already empty."""

    def query(self) -> bool:
        """All work is done."""
        return True

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def is_capturing(self) -> bool:
        """A graph is being captured in this thread."""
        return state.tape is not None

    def __enter__(self) -> Stream:
        self._outer = current(self.device_index)
        select(self)
        return self

    def __exit__(self, *_: Any) -> None:
        select(self._outer)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.cuda_stream == self.cuda_stream

    def __hash__(self) -> int:
        return hash(self.cuda_stream)

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device=cuda:{self.device_index} cuda_stream={self.cuda_stream:#x}>"


class ExternalStream(Stream):
    """``torch.cuda.ExternalStream``: somebody else's handle."""

    def __init__(self, stream_ptr: int, device: Any = None, **_: Any) -> None:
        super().__init__(device, handle=stream_ptr)


class Event:
    """``torch.cuda.Event``. Times are this machine's, which says nothing about a GPU's."""

    def __init__(self, device: Any = None, enable_timing: bool = False, **_: Any) -> None:
        self.enable_timing = enable_timing
        self.cuda_event = next(_handles)
        self._time: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Note the time."""
        self._time = time.perf_counter()

    def wait(self, stream: Stream | None = None) -> None:
        """Already over."""

    def query(self) -> bool:
        """Already over."""
        return True

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds from this event to `end`. Raises RuntimeError where a GPU's event would."""
        if not (self.enable_timing and end.enable_timing):
            raise RuntimeError("Both events must be created with argument 'enable_timing=True'.")
        if self._time is None or end._time is None:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return (end._time - self._time) * 1000


class _State(threading.local):
    def __init__(self) -> None:
        self.streams: dict[int, Stream] = {}
        self.tape: Any = None
        """What is being captured into a graph (``graphs.Tape``)."""


state = _State()
"""Of this thread."""

current_device: Callable[[], int] = lambda: 0  # noqa: E731  set when torch is attached
"""Index of the current device."""


def _index(device: Any) -> int:
    if device is None:
        return current_device()
    if isinstance(device, int):
        return device
    import torch

    index = torch.device(device).index
    return current_device() if index is None else index


def default(device: Any = None) -> Stream:
    """``torch.cuda.default_stream``."""
    return Stream(_index(device), handle=0)


def current(device: Any = None) -> Stream:
    """``torch.cuda.current_stream``, of this thread."""
    index = _index(device)
    return state.streams.get(index) or default(index)


def select(stream: Stream) -> None:
    """``torch.cuda.set_stream``."""
    state.streams[stream.device_index] = stream


@contextmanager
def using(stream: Stream | None) -> Iterator[None]:
    """``torch.cuda.stream(s)``; None changes nothing."""
    if stream is None:
        yield
        return
    with stream:
        yield
