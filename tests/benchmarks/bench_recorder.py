"""What watching costs: a launch that hits, a launch that misses, and the start of a process without Triton.

    python tests/benchmarks/bench_recorder.py [PAIRS]

Bare and attached alternate within one run, so that the machine's drift falls on both. Works with and without a GPU
(the stand-in driver then launches nothing, which leaves the host path that hooks could slow down).
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LAUNCHES = 20_000
MISSES = 40


@dataclass(frozen=True)
class Costs:
    """Figures of one run of the benchmark."""

    hit_ratio: float
    """Attached over bare, median of the pairs' ratios."""
    hit_us: float
    miss_us: float
    """Time inside the recorder for one miss, all its hooks together, median."""
    start_ms: float
    """Added to a Python process that never imports Triton, median of the pairs' differences."""


def measure(pairs: int = 5) -> Costs:
    """Measure all three."""
    ratios, bare_us = launch_costs(pairs)
    return Costs(statistics.median(ratios), bare_us, miss_cost(), start_cost(4 * pairs))


def make_kernel() -> Any:
    """A kernel on the real device, or on the stand-in driver where there is none."""
    import triton

    try:
        triton.runtime.driver.active.get_current_device()
    except Exception:  # noqa: BLE001  however a machine without a GPU says so
        from jitwatch.runtime.offline import activate

        activate("cuda:90", execute=False)
    from tests.benchmarks.a_kernel import kernel

    return kernel


def launch_costs(pairs: int) -> tuple[list[float], float]:
    """(ratio attached/bare of each pair, microseconds of a bare launch)."""
    import triton

    from jitwatch.runtime.recorder import Recorder

    kernel, bare, ratios = make_kernel(), [], []
    for n in (3, 16):
        kernel[(1,)](n)

    def launches() -> float:
        started = time.perf_counter()
        for _ in range(LAUNCHES):
            kernel[(1,)](3)
        return (time.perf_counter() - started) / LAUNCHES * 1e6

    launches()
    for pair in range(pairs):
        recorder = Recorder(triton, lambda event: None)

        def attached(recorder: Recorder = recorder) -> float:
            recorder.attach()
            cost = launches()
            recorder.detach()
            return cost

        order: list[Callable[[], float]] = [launches, attached] if pair % 2 else [attached, launches]
        costs = {measure: measure() for measure in order}
        bare.append(costs[launches])
        ratios.append(costs[attached] / costs[launches])
    return ratios, statistics.median(bare)


def miss_cost() -> float:
    """Median microseconds spent in all hooks of one miss, journal included."""
    import triton

    from jitwatch.runtime.journal import Journal
    from jitwatch.runtime.recorder import Recorder

    kernel, spent = make_kernel(), [0.0]

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            started = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                spent[-1] += time.perf_counter() - started

        return call

    with tempfile.TemporaryDirectory() as directory:
        recorder = Recorder(triton, Journal(directory, dict).write)
        for owner, name in [
            (recorder, "on_miss"),
            (recorder, "on_post"),
            (recorder.compiles, "on_compiled"),
            (recorder.compiles, "_on_finished"),
            (recorder.compiles, "_tell_load"),
        ]:
            setattr(owner, name, timed(getattr(owner, name)))
        recorder.attach()
        for n in range(MISSES):
            kernel[(1,)](3, WIDTH=n + 100)
            spent.append(0.0)
        recorder.detach()
    return statistics.median(spent[1:-1]) * 1e6


def start_cost(pairs: int) -> float:
    """Median milliseconds that the bootstrap adds to ``python -c pass``."""
    from jitwatch.launch.run import BOOTSTRAP

    def start(environment: dict[str, str]) -> float:
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], env=environment, check=True)
        return (time.perf_counter() - started) * 1e3

    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "events").mkdir()
        # An installed package has its bytecode; a checkout writes it at the first start, unless told not to.
        bare = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        watched = {**bare, "PYTHONPATH": str(BOOTSTRAP), "JITWATCH_SESSION": directory}
        start(bare), start(watched)
        differences = []
        for pair in range(pairs):
            first, second = (bare, watched) if pair % 2 else (watched, bare)
            took = {id(environment): start(environment) for environment in (first, second)}
            differences.append(took[id(watched)] - took[id(bare)])
    return statistics.median(differences)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    costs = measure(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
    print(f"launch that hits   {costs.hit_us:8.2f} us bare, attached / bare = {costs.hit_ratio:.3f}")
    print(f"launch that misses {costs.miss_us:8.0f} us in the recorder")
    print(f"process start      {costs.start_ms:8.2f} ms added without Triton")
