"""What the layer computes, in plain torch and float64: slow, and the judge of every form and backend."""

from __future__ import annotations

import torch

from jitwatch.kernels.fused_moe.experts import EPSILON, FP8, FP8_MAX, GROUP, Experts, Scheme


def fused_moe(
    x: torch.Tensor,
    experts: Experts,
    topk_ids: torch.Tensor,
    topk_weights: torch.Tensor,
    expert_map: torch.Tensor | None = None,
) -> torch.Tensor:
    """Send each token through its top-k experts and sum what comes back, weighted.

    ``x`` [M, K]; ``topk_ids`` [M, k] of experts, -1 for none; ``topk_weights`` fp32 [M, k]; ``expert_map`` [all
    experts] gives the local number of an expert, -1 where it lives on another rank. An expert is
    ``down(silu(gate(x)) * up(x))``; quantized schemes round both inputs of both products to e4m3fn and nothing
    else. Returns float64 [M, K].
    """
    out = x.new_zeros(x.shape, dtype=torch.float64)
    rows = rounded(x, experts.scheme, experts.input_scale)
    local = local_ids(topk_ids, expert_map)
    for expert in range(experts.count):
        token, choice = (local == expert).nonzero(as_tuple=True)
        if len(token) == 0:
            continue
        gate, up = (rows[token] @ matrix(experts.gate_up, experts.gate_up_scale, expert).T).chunk(2, dim=1)
        inner = rounded(torch.nn.functional.silu(gate) * up, experts.scheme, experts.inner_scale)
        result = inner @ matrix(experts.down, experts.down_scale, expert).T
        out.index_add_(0, token, result * topk_weights[token, choice].double()[:, None])
    return out


def local_ids(topk_ids: torch.Tensor, expert_map: torch.Tensor | None) -> torch.Tensor:
    """Local numbers of the chosen experts; -1 for none and for those of another rank."""
    if expert_map is None:
        return topk_ids.long()
    mapped = expert_map.long()[topk_ids.long().clamp(min=0)]
    return torch.where(topk_ids < 0, -1, mapped)


def matrix(weights: torch.Tensor, scale: torch.Tensor | None, expert: int) -> torch.Tensor:
    """One expert's matrix as float64, its scale applied."""
    values = weights[expert].double()
    if scale is None:
        return values
    own = scale[expert].double()
    if own.dim() == 2:
        own = own.repeat_interleave(GROUP, 0).repeat_interleave(GROUP, 1)
        return values * own[: values.shape[0], : values.shape[1]]
    return values * (own if own.dim() == 0 else own[:, None])


def rounded(x: torch.Tensor, scheme: Scheme, scale: torch.Tensor | None) -> torch.Tensor:
    """The rows as the scheme's product sees them, float64."""
    if scheme is Scheme.PLAIN:
        return x.double()
    if scheme is Scheme.TENSOR:
        assert scale is not None
        return to_fp8(x, scale) * scale.double()
    if scheme is Scheme.TOKEN:
        own = dynamic_scale(x)
        return to_fp8(x, own) * own.double()
    padded = torch.nn.functional.pad(x, (0, -x.shape[1] % GROUP)).unflatten(1, (-1, GROUP))
    own = dynamic_scale(padded)
    return (to_fp8(padded, own) * own.double()).flatten(1)[:, : x.shape[1]]


def dynamic_scale(x: torch.Tensor) -> torch.Tensor:
    """The scale that brings the largest of the last axis to 448, fp32."""
    return x.float().abs().amax(-1, keepdim=True).clamp(min=EPSILON) / FP8_MAX


def to_fp8(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """Divide in fp32 and round to e4m3fn, saturating; float64 of the result."""
    return (x.float() / scale).clamp(-FP8_MAX, FP8_MAX).to(FP8).double()
