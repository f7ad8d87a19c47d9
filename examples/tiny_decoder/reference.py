"""The operations of ``kernels`` in plain torch: slow, obvious, and what ``--self-check`` compares with."""

from __future__ import annotations

import torch


def embed(tokens: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    """Gather rows."""
    return table[tokens.long()]


def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """Scale each row to unit mean square."""
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight


def rotate(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Turn the pairs (i, i + D / 2) of ``x`` [T, H, D] by their position."""
    half = x.shape[-1] // 2
    frequency = 10000.0 ** (-torch.arange(half, device=x.device) / half)
    angle = (positions[:, None] * frequency)[:, None, :]
    low, high = x[..., :half], x[..., half:]
    return torch.cat([low * angle.cos() - high * angle.sin(), high * angle.cos() + low * angle.sin()], -1)


def attention(queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Attend the last len(queries) tokens of a sequence causally: all [T, H, D]; returns [T, H * D]."""
    scores = torch.einsum("qhd,khd->hqk", queries, keys) * queries.shape[-1] ** -0.5
    past = keys.shape[0] - queries.shape[0]
    future = torch.ones(scores.shape[1:], dtype=torch.bool, device=scores.device).triu(past + 1)
    weights = scores.masked_fill(future, float("-inf")).softmax(-1)
    return torch.einsum("hqk,khd->qhd", weights, values).flatten(1)


def silu_mul(gate_up: torch.Tensor) -> torch.Tensor:
    """Silu of the left half times the right half."""
    gate, up = gate_up.chunk(2, -1)
    return torch.nn.functional.silu(gate) * up
