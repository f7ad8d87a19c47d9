"""On a device: the time of both forms, interleaved, so that clocks and caches treat them alike.

Measuring needs torch with a GPU, and runs in a worker (``worker.launching``).
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

ROUNDS = 60
FLUSH_BYTES = 256 * 1024**2
"""Written before each launch: more than any L2 (60 MB on an H200), and long enough, about 60 us, that the launch is
queued before the device gets to it, so that the host's time is not measured."""


DRIVERS = ("/dev/nvidiactl", "/dev/kfd")
"""NVIDIA's and AMD's. Asking Triton instead would import torch, 3 s that many kernels do not need."""


def has_driver() -> bool:
    """Whether this machine may have a device."""
    return any(map(os.path.exists, DRIVERS))


@dataclass(frozen=True)
class Timing:
    """Median microseconds of two forms."""

    before: float
    after: float

    @property
    def ratio(self) -> float:
        """Above 1: the new form is slower."""
        return self.after / self.before


def launcher(compiled: Any, grid: tuple[int, int, int], arguments: Sequence[Any]) -> Callable[[], None]:
    """A launch of what ``compile_form`` returned; `arguments` in the kernel's order, constexprs among them."""
    run = compiled[grid]

    def launch() -> None:
        run(*arguments)

    return launch


def time_interleaved(before: Callable[[], None], after: Callable[[], None], rounds: int = ROUNDS) -> Timing:
    """Time two launches in turns, each round in the other order. Raises RuntimeError without a GPU."""
    import torch

    flush = torch.empty(FLUSH_BYTES, dtype=torch.int8, device="cuda")
    forms = {"before": before, "after": after}
    spans: dict[str, list[tuple[Any, Any]]] = {name: [] for name in forms}
    for launch in forms.values():
        for _ in range(5):
            launch()
    for number in range(rounds):
        for name in sorted(forms, reverse=number % 2 == 0):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            flush.zero_()
            start.record()
            forms[name]()
            end.record()
            spans[name].append((start, end))
    torch.cuda.synchronize()
    medians = {
        name: 1000 * statistics.median(start.elapsed_time(end) for start, end in pairs)
        for name, pairs in spans.items()
    }
    return Timing(medians["before"], medians["after"])
