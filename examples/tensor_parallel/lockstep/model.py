"""The model, cut into shares: each rank owns some heads of every layer, and an all-reduce adds up the parts.

A layer is the stretch of DeepSeek V4 around the target kernel: heads as attention leaves them (here a projection
stands in for attention), the inverse rotation with quantization to fp8, the output projection. Random weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from jitwatch.kernels.rope_fp8_quant.reference import CHUNK, HEAD, ROTARY

Quantize = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]
"""From heads bf16 [T, H, 512], positions [T] and the table of angles to values [T, 1, D] and scales [1, T', k]."""

Reduce = Callable[[torch.Tensor], None]
"""Adds up the ranks' parts [T, W] in place."""


@dataclass(frozen=True)
class Shape:
    """Sizes of the model."""

    layers: int = 2
    heads: int = 8
    width: int = 256
    """Of the residual stream."""
    positions: int = 8192
    """Longest sequence."""


@dataclass(frozen=True)
class Layer:
    """A rank's weights of one layer."""

    to_heads: torch.Tensor
    """[W, h * 512] of h heads."""
    from_heads: torch.Tensor
    """[h * 512, W]"""


class Share:
    """What rank `rank` of `world` holds. The same ``seed`` gives the same model, however it is cut."""

    def __init__(self, shape: Shape, rank: int, world: int, device: torch.device, seed: int = 0) -> None:
        self.heads = shape.heads // world
        self.embedding = draw(seed, shape.positions, shape.width).to(device)
        self.angles = angles(shape.positions).to(device)
        own = slice(rank * self.heads * HEAD, (rank + 1) * self.heads * HEAD)
        self.layers = []
        for number in range(shape.layers):
            to_heads = draw(seed + 2 * number + 1, shape.heads * HEAD, shape.width) * shape.width**-0.5
            from_heads = (
                draw(seed + 2 * number + 2, shape.heads * HEAD, shape.width) * to_heads.shape[0] ** -0.5
            )
            self.layers.append(Layer(to_heads[own].T.contiguous().to(device), from_heads[own].to(device)))

    def forward(self, tokens: int, quantize: Quantize, reduce: Reduce) -> torch.Tensor:
        """Run one sequence of `tokens` tokens; returns its residual stream [T, W], on every rank the same."""
        hidden = self.embedding[:tokens]
        positions = torch.arange(tokens, device=hidden.device)
        for layer in self.layers:
            normed = hidden * hidden.square().mean(-1, keepdim=True).rsqrt()
            heads = (normed @ layer.to_heads).to(torch.bfloat16).view(tokens, self.heads, HEAD)
            part = dequantize(*quantize(heads, positions, self.angles)) @ layer.from_heads
            reduce(part)
            hidden = hidden + part
        return hidden


def dequantize(values: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """Undo the quantization: float32 [T, D] from values [T, 1, D] and scales [1, T' >= T, D / 128]."""
    tokens, _, width = values.shape
    chunks = values.float().view(tokens, width // CHUNK, CHUNK)
    return (chunks * scales[0, :tokens, :, None]).view(tokens, width)


def draw(seed: int, rows: int, columns: int) -> torch.Tensor:
    """Normal numbers, drawn on the CPU: a CUDA generator would draw others."""
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))


def angles(positions: int) -> torch.Tensor:
    """The usual table, base 10,000: 32 cosines, then 32 sines of each position."""
    frequencies = 1e4 ** (torch.arange(ROTARY // 2) / -(ROTARY // 2))
    turned = torch.arange(positions)[:, None] * frequencies
    return torch.cat([turned.cos(), turned.sin()], dim=1)
