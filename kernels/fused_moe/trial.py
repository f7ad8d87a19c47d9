"""A layer with random weights at one number of tokens, and the timers of its parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import torch

from jitwatch.kernels.fused_moe.alignment import Alignment
from jitwatch.kernels.fused_moe.constants import layer_of
from jitwatch.kernels.fused_moe.experts import FP8, Experts
from jitwatch.kernels.fused_moe.launcher import Run, overlaps
from jitwatch.kernels.fused_moe.measure import Routing, microseconds, routings
from jitwatch.kernels.fused_moe.problem import Shape
from jitwatch.kernels.fused_moe.tiles import Accumulation, Plan, Tile

Timer = Callable[[Tile], float]
"""Microseconds of one GEMM with a tile."""


@dataclass(frozen=True)
class Trial:
    """A layer with random weights at one number of tokens, and the timers of its parts."""

    shape: Shape
    experts: Experts
    tokens: int
    accumulation: Accumulation
    routings: list[Routing]
    x: torch.Tensor

    @classmethod
    def of(cls, shape: Shape, experts: Experts, tokens: int, accumulation: Accumulation) -> Trial:
        """With as many routings as keep the weights cold."""
        x = torch.randn(tokens, shape.hidden, device="cuda").to(torch.bfloat16)
        return cls(shape, experts, tokens, accumulation, routings(tokens, shape, "cuda"), x)

    def runs(self, plan: Plan) -> list[Run]:
        """One call for each routing."""
        layer = layer_of(self.experts, self.shape.top_k, False, overlaps(self.x.device))
        return [Run(self.x, self.experts, ids, weights, None, plan, layer) for ids, weights in self.routings]

    def whole(self, plan: Plan) -> float:
        """Microseconds of the layer."""
        out = torch.empty_like(self.x)
        return microseconds([partial(run.launch, out) for run in self.runs(plan)])

    def timers(self, block_m: int) -> tuple[Timer, Timer, Timer]:
        """Timers of the first GEMM, of the second, and of the second by token, each alone and on real slots."""
        base = Plan(block_m, Tile(64, 128, 4, 3), Tile(64, 128, 4, 3), accumulation=self.accumulation)
        runs = self.runs(base)
        device, experts = self.x.device, self.experts.count
        aligned = [Alignment.empty(run.slots, experts, block_m, device) for run in runs]
        prepared = [run.prepare(own) for run, own in zip(runs, aligned, strict=True)]
        rows, scale = prepared[0]
        inner, inner_scale = self.inner_rows(runs[0])
        out = torch.empty_like(self.x)

        def first(tile: Tile) -> float:
            tried = zip(self.runs(replace(base, gate_up=tile)), aligned, strict=True)
            return microseconds([partial(run.gate_up, own, rows, scale) for run, own in tried])

        def second(tile: Tile) -> float:
            tried = zip(self.runs(replace(base, down=tile)), aligned, strict=True)
            return microseconds([partial(run.down, own, inner, inner_scale) for run, own in tried])

        def by_token(tile: Tile) -> float:
            tried = self.runs(replace(base, down=tile, by_token=True))
            return microseconds([partial(run.down_by_token, inner, inner_scale, out) for run in tried])

        return first, second, by_token

    def inner_rows(self, run: Run) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Random rows as the second GEMM takes them, and their scale."""
        inner = (torch.randn(run.slots, self.shape.inner, device="cuda") * 0.5).to(torch.bfloat16)
        if run.layer.quantizes_between:
            return run.quantize(inner)
        return (inner.to(FP8) if run.layer.quantized else inner), self.experts.inner_scale
