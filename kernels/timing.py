"""Time on the device, for every target's benchmark."""

from __future__ import annotations

import torch


def replay_seconds(graph: torch.cuda.CUDAGraph) -> float:
    """Device time of one replay."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    graph.replay()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) * 1e-3
