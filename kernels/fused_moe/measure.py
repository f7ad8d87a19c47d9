"""Times on a GPU: medians over CUDA-graph replays, with the weights read cold."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

import torch

from jitwatch.kernels.fused_moe.problem import Shape, make_routing
from jitwatch.kernels.timing import replay_seconds

Routing = tuple[torch.Tensor, torch.Tensor]


def routings(tokens: int, shape: Shape, device: str, least: int = 4, most: int = 16) -> list[Routing]:
    """Several random routings: one graph runs them all, so that few weights are still cached when they recur."""
    count = max(least, min(most, 256 // tokens))
    return [make_routing(tokens, shape, device, seed) for seed in range(count)]


def capture(calls: Sequence[Callable[[], object]]) -> torch.cuda.CUDAGraph:
    """Capture the calls, run once before, in one CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for call in calls:
            call()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in calls:
            call()
    graph.replay()
    return graph


def microseconds(calls: Sequence[Callable[[], object]], replays: int = 10) -> float:
    """Median time of a call."""
    graph = capture(calls)
    return statistics.median(replay_seconds(graph) for _ in range(replays)) / len(calls) * 1e6
