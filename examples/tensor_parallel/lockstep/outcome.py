"""What a scenario cost: as the report computes it from the misses, and as the ranks measured it."""

from __future__ import annotations

import json
import statistics
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HEADER = """\
| scenario | misses by rank | stall of the group, s | GPU-seconds lost | of those, waiting | slowest first token, ms |
| --- | --- | ---: | ---: | ---: | ---: |"""


Step = tuple[Mapping[str, Any], ...]
"""What each rank took for a step, in the order of the ranks."""


@dataclass(frozen=True)
class Stall:
    """The group's, in one step of the traffic. Seconds."""

    tokens: int
    computed: float
    """From the events."""
    measured: float
    """How much later the last rank was ready than when all met the same count again."""


@dataclass(frozen=True)
class Outcome:
    """Of the traffic alone, warm-ups left out. Seconds."""

    compiled: dict[int, int]
    """Variants compiled, by rank."""
    read: dict[int, int]
    """Variants read from the disk cache, by rank."""
    stalls: list[Stall]
    """Step by step, those without a miss among them."""
    computed_gpu: float
    measured_gpu: float
    """Lost over all ranks."""
    computed_waiting: float
    measured_waiting: float
    """Spent in all-reduces, above what they took again."""
    slowest: float
    """Longest step of the traffic, on the rank that was ready last."""
    again: float
    """The same step met again."""

    @property
    def computed(self) -> float:
        """Stall of the group, all steps together."""
        return sum(stall.computed for stall in self.stalls)

    @property
    def measured(self) -> float:
        """The same by the clock."""
        return sum(stall.measured for stall in self.stalls)

    def row(self, words: str) -> str:
        """A line of the table: computed, then measured."""
        return (
            f"| {words} | {self._misses()} | {_held(self.computed, self.measured)} "
            f"| {_held(self.computed_gpu, self.measured_gpu)} "
            f"| {_held(self.computed_waiting, self.measured_waiting)} "
            f"| {self.slowest * 1000:.3g} (then {self.again * 1000:.3g}) |"
        )

    def _misses(self) -> str:
        ranks = sorted(self.compiled.keys() | self.read.keys())
        words = []
        for name, counts in (("compiled", self.compiled), ("read", self.read)):
            if any(counts.values()):
                words.append(f"{name} {', '.join(str(counts.get(rank, 0)) for rank in ranks)}")
        return "; ".join(words) or "none"


def _held(computed: float, measured: float) -> str:
    return f"{computed:.2f} / {measured:.2f}"


def read_outcome(report: Mapping[str, Any], measured: Path) -> Outcome:
    """From the JSON report of a run, and the files its ranks left in `measured`."""
    files = sorted(measured.glob("rank*.json"), key=lambda file: int(file.stem.removeprefix("rank")))
    ranks = [json.loads(file.read_text()) for file in files]
    begins = min(steps[0]["started"] for steps in ranks)
    windows = [window for window in report["ranks"]["windows"] if window["time"] >= begins]
    stalled = sum(sum(window["stalls"].values()) for window in windows)
    gpu_seconds = sum(window["gpu_seconds"] for window in windows)
    together: list[Step] = list(zip(*ranks, strict=True))
    slowest = max(together, key=_ready)
    return Outcome(
        compiled=_count(report, begins, len(ranks), from_disk=False),
        read=_count(report, begins, len(ranks), from_disk=True),
        stalls=_stalls(together, windows),
        computed_gpu=gpu_seconds,
        measured_gpu=sum(_late(rank, "seconds") for step in together for rank in step),
        computed_waiting=gpu_seconds - stalled,
        measured_waiting=sum(_late(rank, "reducing") for step in together for rank in step),
        slowest=_ready(slowest),
        again=_usual(slowest),
    )


def _stalls(steps: Sequence[Step], windows: Sequence[Mapping[str, Any]]) -> list[Stall]:
    """Each step's, a window belonging to the latest step that a rank had begun."""
    begun = [min(rank["started"] for rank in step) for step in steps]
    computed = [0.0] * len(steps)
    for window in windows:
        computed[bisect_right(begun, window["time"]) - 1] += window["seconds"]
    return [
        Stall(step[0]["tokens"], seconds, _ready(step) - _usual(step))
        for step, seconds in zip(steps, computed, strict=True)
    ]


def _ready(step: Step) -> float:
    """When the last rank had its result."""
    return float(max(rank["first"]["seconds"] for rank in step))


def _usual(step: Step) -> float:
    """The same without a miss: of the times it was met again, the middle one."""
    again = zip(*(rank["again"] for rank in step), strict=True)
    return float(statistics.median(max(timing["seconds"] for timing in timings) for timings in again))


def _late(rank: Mapping[str, Any], figure: str) -> float:
    return float(rank["first"][figure] - statistics.median(timing[figure] for timing in rank["again"]))


def _count(report: Mapping[str, Any], begins: float, world: int, *, from_disk: bool) -> dict[int, int]:
    """Misses of the traffic by rank."""
    counts = Counter(
        event["rank"]
        for kernel in report["kernels"]
        for event in kernel["events"]
        if event["time"] >= begins and (event["kind"] == "disk_hit") == from_disk
    )
    return {rank: counts[rank] for rank in range(world)}
