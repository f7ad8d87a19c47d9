"""CUDA graphs: a capture runs its body and keeps what ran, a replay runs that again into the same memory.

A dispatch mode sees the operations, below autograd, so a captured backward pass or optimizer step replays too;
launches report themselves. What an operation returned at capture is where its later results are copied: views
and in-place operations then fall out by themselves.
"""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from typing import Any, Callable, Iterator

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from . import streams
from .tensors import tensors_in

_pools = itertools.count(1)

Step = Callable[[], None]

_WAITS = (
    "aten::_local_scalar_dense",
    "aten::nonzero",
    "aten::masked_select",
    "aten::is_nonzero",
    "aten::equal",
)
"""Operations that wait for the device, which a capture does not allow."""


class Tape(TorchDispatchMode):  # type: ignore[misc]  # torch is Any where it is not installed
    """Steps of one capture."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Step] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Entry from torch: run one operation and keep it."""
        kwargs = kwargs or {}
        if func.name().split(".")[0] in _WAITS:
            raise RuntimeError("CUDA error: operation not permitted when stream is capturing")
        result = func(*args, **kwargs)
        captured = list(tensors_in(result if isinstance(result, (list, tuple)) else (result,)))
        self.steps.append(lambda: _again(func, args, kwargs, captured))
        return result


def _again(func: Any, args: Any, kwargs: Any, captured: list[Any]) -> None:
    result = func(*args, **kwargs)
    fresh = tensors_in(result if isinstance(result, (list, tuple)) else (result,))
    for old, new in zip(captured, fresh):
        if old.data_ptr() != new.data_ptr():
            old.copy_(new)


def is_capturing() -> bool:
    """``torch.cuda.is_current_stream_capturing``."""
    return streams.state.tape is not None


def note_launch(launch: Step) -> None:
    """Keep a Triton launch, when this thread captures."""
    if streams.state.tape is not None:
        streams.state.tape.steps.append(launch)


def forbid_while_capturing() -> None:
    """Raise what a GPU raises when a capturing program waits for the device."""
    if streams.state.tape is not None:
        raise RuntimeError("CUDA error: operation not permitted when stream is capturing")


class CUDAGraph:
    """``torch.cuda.CUDAGraph``."""

    def __init__(self, keep_graph: bool = False) -> None:
        self._tape: Tape | None = None
        self._pool: tuple[int, int] | None = None

    def capture_begin(self, pool: Any = None, capture_error_mode: str = "global") -> None:
        """Start to capture in this thread. Raises RuntimeError when it captures already."""
        forbid_while_capturing()
        self._pool = pool or new_pool()
        self._tape = streams.state.tape = Tape()
        self._tape.__enter__()

    def capture_end(self) -> None:
        """The capture is complete."""
        if self._tape is None or streams.state.tape is not self._tape:
            raise RuntimeError("capture_end() called without a capture in this thread")
        self._tape.__exit__(None, None, None)
        streams.state.tape = None

    def replay(self) -> None:
        """Run it again."""
        if self._tape is None:
            raise RuntimeError("Called CUDAGraph::replay without a preceding successful capture.")
        with torch.no_grad():
            for step in self._tape.steps:
                step()

    def instantiate(self) -> None:
        """Nothing to prepare."""

    def reset(self) -> None:
        """Forget the capture, and with it the memory it kept."""
        self._tape = None

    def pool(self) -> Any:
        """Identity of its memory pool."""
        return self._pool

    def enable_debug_mode(self) -> None:
        """There is nothing to dump."""

    def debug_dump(self, debug_path: str) -> None:
        """There is nothing to dump."""


def new_pool() -> tuple[int, int]:
    """``torch.cuda.graph_pool_handle``."""
    return 0, next(_pools)


class graph:
    """``torch.cuda.graph(g)``: captures its body."""

    def __init__(self, cuda_graph: CUDAGraph, pool: Any = None, stream: Any = None, **_: Any) -> None:
        self._graph = cuda_graph
        self._pool = pool
        self._stream = stream if stream is not None else streams.Stream()

    def __enter__(self) -> None:
        self._stream.__enter__()
        self._graph.capture_begin(self._pool)

    def __exit__(self, *error: Any) -> None:
        self._graph.capture_end()
        self._stream.__exit__(*error)


@contextmanager
def paused() -> Iterator[None]:
    """Not capturing inside: what an interpreted launch does itself is not a step of its own."""
    tape, streams.state.tape = streams.state.tape, None
    try:
        yield
    finally:
        streams.state.tape = tape
