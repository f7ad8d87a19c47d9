"""Random layers and routings, for tests and measurements."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from jitwatch.kernels.fused_moe.experts import FP8, FP8_MAX, GROUP, Experts, Scheme
from jitwatch.kernels.fused_moe.reference import dynamic_scale


@dataclass(frozen=True)
class Shape:
    """A layer's sizes as one rank sees them."""

    experts: int
    top_k: int
    hidden: int
    inner: int


MODELS = {
    "qwen3-30b": Shape(128, 8, 2048, 768),
    "qwen3-235b-tp4": Shape(128, 8, 4096, 384),
    "mixtral-tp2": Shape(8, 2, 4096, 7168),
    "dsv3-tp8": Shape(256, 8, 7168, 256),
}
"""The layers that are measured; ``tpN``: split among N ranks."""


def make_experts(
    shape: Shape,
    scheme: Scheme,
    device: str,
    seed: int = 0,
    *,
    dtype: torch.dtype = torch.bfloat16,
    per_channel: bool = False,
) -> Experts:
    """Normal weights that keep the size of what passes through; ``dtype`` is the plain scheme's."""
    generator = torch.Generator(device).manual_seed(seed)
    sizes = ((2 * shape.inner, shape.hidden), (shape.hidden, shape.inner))
    made = [make_matrices(shape.experts, *size, scheme, per_channel, dtype, generator) for size in sizes]
    static = scheme is Scheme.TENSOR
    return Experts(
        made[0][0],
        made[1][0],
        scheme,
        made[0][1],
        made[1][1],
        torch.full((1,), 5.0 / FP8_MAX, device=device) if static else None,
        torch.full((1,), 3.0 / FP8_MAX, device=device) if static else None,
    )


def make_matrices(
    count: int,
    rows: int,
    columns: int,
    scheme: Scheme,
    per_channel: bool,
    dtype: torch.dtype,
    generator: torch.Generator,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """One matrix for each expert, made one at a time to bound the memory, and their scale."""
    matrices, scales = [], []
    for _ in range(count):
        values = torch.randn(rows, columns, generator=generator, device=generator.device) / math.sqrt(columns)
        if scheme is Scheme.PLAIN:
            matrices.append(values.to(dtype))
            continue
        scale, spread = scale_of(values, scheme, per_channel)
        matrices.append((values / spread).to(FP8))
        scales.append(scale)
    return torch.stack(matrices), torch.stack(scales) if scales else None


def scale_of(values: torch.Tensor, scheme: Scheme, per_channel: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """The scale of one matrix as it is stored, and spread over the matrix."""
    if scheme is Scheme.BLOCK:
        rows, columns = values.shape
        padded = torch.nn.functional.pad(values, (0, -columns % GROUP, 0, -rows % GROUP))
        blocks = padded.unflatten(1, (-1, GROUP)).unflatten(0, (-1, GROUP)).transpose(1, 2)
        scale = dynamic_scale(blocks.flatten(2))[..., 0]
        return scale, scale.repeat_interleave(GROUP, 0).repeat_interleave(GROUP, 1)[:rows, :columns]
    if per_channel:
        scale = dynamic_scale(values)[:, 0]
        return scale, scale[:, None]
    scale = dynamic_scale(values.flatten())[0]
    return scale, scale


def make_routing(
    tokens: int, shape: Shape, device: str, seed: int = 0, skew: float = 0.0
) -> tuple[torch.Tensor, torch.Tensor]:
    """Random choices of distinct experts, int32 [M, k], and weights that sum to one, fp32 [M, k].

    ``skew``: 0 gives every expert the same chance; with 20 nearly all tokens choose the first k.
    """
    generator = torch.Generator(device).manual_seed(seed)
    logits = torch.randn(tokens, shape.experts, generator=generator, device=device)
    logits -= skew * torch.arange(shape.experts, device=device) / shape.experts
    weights, ids = logits.softmax(-1).topk(shape.top_k, dim=-1)
    return ids.to(torch.int32), (weights / weights.sum(-1, keepdim=True)).float()
