"""What a scenario cost: as the report computes it from the misses, and as the ranks measured it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HEADER = """\
| scenario | misses by rank | stall of the group, s | GPU-seconds lost | of those, waiting | slowest first token, ms |
| --- | --- | ---: | ---: | ---: | ---: |"""


@dataclass(frozen=True)
class Outcome:
    """Of the traffic alone, warm-ups left out. Seconds."""

    compiled: dict[int, int]
    """Variants compiled, by rank."""
    read: dict[int, int]
    """Variants read from the disk cache, by rank."""
    computed: float
    """Stall of the group, from the events."""
    measured: float
    """How much later the last rank was ready than when it met the same count again."""
    computed_gpu: float
    measured_gpu: float
    """The same, summed over the ranks."""
    computed_waiting: float
    measured_waiting: float
    """Spent in all-reduces, above what they took again."""
    slowest: float
    """Longest step of the traffic, on the rank that was ready last."""
    again: float
    """The same step met again."""

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
    together = list(zip(*ranks, strict=True))
    slowest = max(together, key=_ready)
    return Outcome(
        compiled=_count(report, begins, len(ranks), from_disk=False),
        read=_count(report, begins, len(ranks), from_disk=True),
        computed=sum(window["seconds"] for window in windows),
        measured=sum(_ready(step) - _ready(step, "again") for step in together),
        computed_gpu=gpu_seconds,
        measured_gpu=sum(_late(rank, "seconds") for step in together for rank in step),
        computed_waiting=gpu_seconds - stalled,
        measured_waiting=sum(_late(rank, "reducing") for step in together for rank in step),
        slowest=_ready(slowest),
        again=_ready(slowest, "again"),
    )


def _ready(step: tuple[Mapping[str, Any], ...], when: str = "first") -> float:
    """When the last rank had its result."""
    return float(max(rank[when]["seconds"] for rank in step))


def _late(rank: Mapping[str, Any], figure: str) -> float:
    return float(rank["first"][figure] - rank["again"][figure])


def _count(report: Mapping[str, Any], begins: float, world: int, *, from_disk: bool) -> dict[int, int]:
    """Misses of the traffic by rank."""
    counts = Counter(
        event["rank"]
        for kernel in report["kernels"]
        for event in kernel["events"]
        if event["time"] >= begins and (event["kind"] == "disk_hit") == from_disk
    )
    return {rank: counts[rank] for rank in range(world)}
