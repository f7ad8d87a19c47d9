"""How long a rank's step took, and how much of it passed in all-reduces."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Protocol

import torch
import torch.distributed as dist

from lockstep.model import Quantize, Share


class Clock(Protocol):
    """Marks moments of a rank's work."""

    def mark(self) -> Any:
        """A moment."""

    def between(self, earlier: Any, later: Any) -> float:
        """Seconds between two moments, once all work is done."""


class DeviceClock:
    """CUDA events. Under NCCL it is the device that waits in an all-reduce; the host has long gone on."""

    def mark(self) -> torch.cuda.Event:
        """Record an event behind the work queued so far."""
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, earlier: torch.cuda.Event, later: torch.cuda.Event) -> float:
        """From the device's own clock, which ticks about every half microsecond."""
        return float(earlier.elapsed_time(later)) / 1e3


class HostClock:
    """The host's clock, for gloo: there the host itself waits in the all-reduce."""

    def mark(self) -> float:
        """Wait for the device, then look at the clock."""
        torch.cuda.synchronize()
        return time.perf_counter()

    def between(self, earlier: float, later: float) -> float:
        """Their difference."""
        return later - earlier


@dataclass(frozen=True)
class Timing:
    """One step of one rank, in seconds."""

    seconds: float
    reducing: float
    """In all-reduces: waiting for the other ranks, and the transfer."""


def time_step(share: Share, tokens: int, quantize: Quantize, clock: Clock) -> Timing:
    """Run one step and wait for its result, as a server does before it picks a token."""
    reduces = []

    def reduce(part: torch.Tensor) -> None:
        before = clock.mark()
        dist.all_reduce(part)
        reduces.append((before, clock.mark()))

    begin = clock.mark()
    share.forward(tokens, quantize, reduce)
    end = clock.mark()
    torch.cuda.synchronize()
    return Timing(clock.between(begin, end), sum(clock.between(*marks) for marks in reduces))
