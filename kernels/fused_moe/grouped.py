"""The layer on grouped GEMMs made by others: torch's (CUTLASS), and FBGEMM's where it is installed.

They take the rows of one expert after the other, so the slots' rows are gathered before and put back after. Both
multiply fp8 natively and add up in the matrix unit's register. Plain bf16 and per-tensor fp8.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

import torch
import triton

from jitwatch.kernels.fused_moe.alignment import align, bins
from jitwatch.kernels.fused_moe.constants import SUM_BLOCK, row_block
from jitwatch.kernels.fused_moe.experts import FP8, Experts, Scheme
from jitwatch.kernels.fused_moe.grouped_kernel import (
    gather_kernel,
    offsets_kernel,
    silu_mul_kernel,
    weighted_sum_kernel,
)

SCHEMES = (Scheme.PLAIN, Scheme.TENSOR)

ANY_BLOCK = 16
"""The alignment's blocks play no part here, only its order does."""


@dataclass(frozen=True)
class GroupedWeights:
    """Scales as the grouped GEMMs take them, made once a layer."""

    experts: Experts
    gate_up_scale: torch.Tensor | None
    """fp32 [E, 2N]."""
    down_scale: torch.Tensor | None
    """fp32 [E, K]."""

    @classmethod
    def of(cls, experts: Experts) -> GroupedWeights:
        """Repeat each expert's scale for each of its rows."""
        if experts.gate_up_scale is None or experts.down_scale is None:
            return cls(experts, None, None)
        return cls(
            experts,
            experts.gate_up_scale[:, None].expand(-1, 2 * experts.inner).contiguous(),
            experts.down_scale[:, None].expand(-1, experts.hidden).contiguous(),
        )


def fbgemm_available() -> bool:
    """Whether FBGEMM's grouped GEMMs are loaded: ``import fbgemm_gpu.experimental.gen_ai`` does, as `load_fbgemm`."""
    return hasattr(torch.ops.fbgemm, "f8f8bf16_rowwise_grouped_stacked")


def load_fbgemm() -> bool:
    """Load FBGEMM's grouped GEMMs where fbgemm-gpu-genai is installed; whether they are there.

    Its library alone: the package around it asks for others that the grouped GEMMs do without.
    """
    package = importlib.util.find_spec("fbgemm_gpu")
    for place in package.submodule_search_locations or () if package else ():
        for library in Path(place).glob("experimental/gen_ai/fbgemm_gpu_experimental_gen_ai*.so"):
            torch.ops.load_library(library)
    return fbgemm_available()


def multiply(
    rows: torch.Tensor,
    weights: torch.Tensor,
    row_scale: torch.Tensor | None,
    scale: torch.Tensor | None,
    offsets: torch.Tensor,
    counts: torch.Tensor,
    fbgemm: bool,
) -> torch.Tensor:
    """Multiply each expert's rows by its matrix: bf16 [rows, weights' rows]."""
    if fbgemm and scale is not None:
        return torch.ops.fbgemm.f8f8bf16_rowwise_grouped_stacked(rows, weights, row_scale, scale, counts)
    if fbgemm:
        return torch.ops.fbgemm.bf16bf16bf16_grouped_stacked(rows, weights, counts)
    turned = weights.transpose(1, 2)
    if scale is None:
        return torch._grouped_mm(rows, turned, offs=offsets)
    return torch._scaled_grouped_mm(
        rows, turned, row_scale, scale, offs=offsets, out_dtype=torch.bfloat16, use_fast_accum=True
    )


def fused_moe(
    x: torch.Tensor,
    weights: GroupedWeights,
    topk_ids: torch.Tensor,
    topk_weights: torch.Tensor,
    *,
    expert_map: torch.Tensor | None = None,
    fbgemm: bool = False,
) -> torch.Tensor:
    """Run the layer on checked bf16 inputs with M > 0. Returns [M, K]."""
    experts = weights.experts
    aligned = align(topk_ids, expert_map, experts.count, ANY_BLOCK)
    slots, top_k, mapped = topk_ids.numel(), topk_ids.shape[1], expert_map is not None
    dtype = FP8 if experts.quantized else x.dtype
    offsets = torch.empty(experts.count, dtype=torch.int32, device=x.device)
    counts = torch.empty(experts.count, dtype=torch.int64, device=x.device)
    offsets_kernel[(1,)](
        topk_ids, expert_map, offsets, counts, slots, experts.count, bins(experts.count), mapped, num_warps=8
    )
    places = torch.empty(slots, dtype=torch.int32, device=x.device)
    rows = x.new_empty(slots, experts.hidden, dtype=dtype)
    gather_kernel[(slots,)](
        x, rows, aligned.slots, offsets, places, experts.input_scale, top_k, experts.hidden, experts.count,
        experts.quantized, row_block(experts.hidden), num_warps=4
    )  # fmt: skip
    both = multiply(
        rows,
        experts.gate_up,
        spread(experts.input_scale, slots),
        weights.gate_up_scale,
        offsets,
        counts,
        fbgemm,
    )
    inner = x.new_empty(slots, experts.inner, dtype=dtype)
    silu_mul_kernel[(slots,)](
        both,
        inner,
        experts.inner_scale,
        experts.inner,
        experts.quantized,
        row_block(experts.inner),
        num_warps=4,
    )
    parts = multiply(
        inner, experts.down, spread(experts.inner_scale, slots), weights.down_scale, offsets, counts, fbgemm
    )
    out = torch.empty_like(x)
    weighted_sum_kernel[(x.shape[0], triton.cdiv(experts.hidden, SUM_BLOCK))](
        parts,
        places,
        topk_ids,
        expert_map,
        topk_weights,
        out,
        top_k,
        experts.hidden,
        mapped,
        SUM_BLOCK,
        num_warps=4,
    )
    return out


def spread(scale: torch.Tensor | None, rows: int) -> torch.Tensor | None:
    """A static scale for each row."""
    return None if scale is None else scale.expand(rows).contiguous()
