"""The grouped GEMM in the form that recompiles: the lengths of its lists are specialised arguments.

``EM``, the length of the padded list of slots, and ``num_valid_tokens``, the number of slots, follow from the number
of tokens. Each is a multiple of 16 or not, so every tile is compiled twice: with 8 experts a token for even and for
odd numbers of tokens, and a server that captured graphs at even sizes meets the odd half while it serves. Both only
ever reach a comparison; the code of the two variants is the same.

One kernel serves both GEMMs; what is between them, and the sum, are left to torch. Plain and per-tensor fp8 only.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from jitwatch.kernels.fused_moe.experts import FP8, FP8_MAX, Experts
from jitwatch.kernels.fused_moe.tiles import Plan, Tile


@triton.jit
def grouped_gemm_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    a_scale_ptr,
    b_scale_ptr,
    topk_weights_ptr,
    sorted_ids_ptr,
    expert_ids_ptr,
    padded_length_ptr,
    N,
    K,
    EM,
    num_valid_tokens,
    stride_am,
    stride_be,
    stride_bn,
    stride_cm,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
    TOP_K: tl.constexpr,
    QUANTIZED: tl.constexpr,
    WEIGHTED: tl.constexpr,
    SWAP_AB: tl.constexpr,
):
    """c[slot] = a[slot / TOP_K] @ b[expert].T, for the slots of one block and a tile of columns."""
    program = tl.program_id(0)
    blocks, columns = tl.cdiv(EM, BLOCK_M), tl.cdiv(N, BLOCK_N)
    group = program // (GROUP_M * columns)
    height = tl.minimum(blocks - group * GROUP_M, GROUP_M)
    block = group * GROUP_M + program % (GROUP_M * columns) % height
    column = program % (GROUP_M * columns) // height
    if block * BLOCK_M >= tl.load(padded_length_ptr):
        return
    slot = tl.load(sorted_ids_ptr + block * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    live = slot < num_valid_tokens
    expert = tl.load(expert_ids_ptr + block).to(tl.int64)
    at = column * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    a_rows = a_ptr + (slot // TOP_K * stride_am)[:, None]
    b_rows = b_ptr + expert * stride_be + ((at % N).to(tl.int64) * stride_bn)[:, None]
    acc = tl.zeros((BLOCK_N, BLOCK_M) if SWAP_AB else (BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        inside = (start + depth < K)[None, :]
        a = tl.load(a_rows + start + depth[None, :], mask=live[:, None] & inside, other=0.0)
        b = tl.load(b_rows + start + depth[None, :], mask=inside, other=0.0)
        acc = tl.dot(b, a.T, acc) if SWAP_AB else tl.dot(a, b.T, acc)
    if SWAP_AB:
        acc = tl.trans(acc)
    if QUANTIZED:
        acc *= tl.load(a_scale_ptr) * tl.load(b_scale_ptr + expert)
    if WEIGHTED:
        acc *= tl.load(topk_weights_ptr + slot, mask=live, other=0.0)[:, None]
    c = c_ptr + (slot * stride_cm)[:, None] + at[None, :]
    tl.store(c, acc.to(c_ptr.dtype.element_ty), mask=live[:, None] & (at < N)[None, :])


def align(
    topk_ids: torch.Tensor, experts: int, block_m: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Sort the slots by expert, each expert's padded to whole blocks with the number of slots.

    Returns the padded slots [EM], the expert of each block, and the length that is used, a tensor of one.
    """
    slots = topk_ids.numel()
    length = padded_length(slots, experts, block_m)
    flat = topk_ids.flatten().long()
    order = flat.argsort(stable=True)
    counts = torch.zeros(experts, dtype=torch.long, device=flat.device).scatter_add_(
        0, flat, torch.ones_like(flat)
    )
    padded = (counts + block_m - 1) // block_m * block_m
    ends = padded.cumsum(0)
    own = flat[order]
    rank = torch.arange(slots, device=flat.device) - (counts.cumsum(0) - counts)[own]
    sorted_ids = torch.full((length + block_m,), slots, dtype=torch.int32, device=flat.device)
    sorted_ids[(ends - padded)[own] + rank] = order.to(torch.int32)
    starts = torch.arange(0, length + block_m, block_m, device=flat.device)
    expert_ids = torch.searchsorted(ends, starts, right=True).clamp(max=experts - 1)
    return sorted_ids[:length], expert_ids.to(torch.int32), ends[-1:].to(torch.int32)


def padded_length(slots: int, experts: int, block_m: int) -> int:
    """Length of the padded list: room for any routing."""
    return min(slots + experts * (block_m - 1), slots * block_m)


def fused_moe(
    x: torch.Tensor, experts: Experts, topk_ids: torch.Tensor, topk_weights: torch.Tensor, plan: Plan
) -> torch.Tensor:
    """Run the layer, as `launcher.fused_moe` does, on checked inputs with M > 0. Returns [M, K]."""
    block_m, aligned = plan.block_m, align(topk_ids, experts.count, plan.block_m)
    top_k, slots = topk_ids.shape[1], topk_ids.numel()
    rows, both = rounded(x, experts.input_scale), x.new_empty(slots, 2 * experts.inner)
    scales = experts.input_scale, experts.gate_up_scale
    multiply(rows, experts.gate_up, both, aligned, top_k, block_m, plan.gate_up, *scales)
    gate, up = both.float().chunk(2, dim=1)
    inner = rounded((torch.nn.functional.silu(gate) * up).to(x.dtype), experts.inner_scale)
    parts, scales = x.new_empty(slots, experts.hidden), (experts.inner_scale, experts.down_scale)
    multiply(inner, experts.down, parts, aligned, 1, block_m, plan.down, *scales, topk_weights)
    return parts.view(-1, top_k, experts.hidden).float().sum(1).to(x.dtype)


def rounded(x: torch.Tensor, scale: torch.Tensor | None) -> torch.Tensor:
    """The rows in fp8, where there is a scale."""
    return x if scale is None else (x.float() / scale).clamp(-FP8_MAX, FP8_MAX).to(FP8)


def multiply(
    a: torch.Tensor,
    b: torch.Tensor,
    c: torch.Tensor,
    aligned: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    top_k: int,
    block_m: int,
    tile: Tile,
    a_scale: torch.Tensor | None,
    b_scale: torch.Tensor | None,
    topk_weights: torch.Tensor | None = None,
) -> None:
    """Fill the rows of ``c`` [slots, N] with those of ``a`` [slots / top_k, K] times ``b`` [E, N, K]."""
    sorted_ids, expert_ids, padded_length = aligned
    columns = triton.cdiv(b.shape[1], tile.block_n)
    grouped_gemm_kernel[(triton.cdiv(sorted_ids.numel(), block_m) * columns,)](
        a,
        b,
        c,
        a_scale,
        b_scale,
        topk_weights,
        sorted_ids,
        expert_ids,
        padded_length,
        N=b.shape[1],
        K=b.shape[2],
        EM=sorted_ids.numel(),
        num_valid_tokens=c.shape[0],
        stride_am=a.stride(0),
        stride_be=b.stride(0),
        stride_bn=b.stride(1),
        stride_cm=c.stride(0),
        BLOCK_M=block_m,
        BLOCK_N=tile.block_n,
        BLOCK_K=tile.block_k,
        GROUP_M=tile.group_m,
        TOP_K=top_k,
        QUANTIZED=a_scale is not None,
        WEIGHTED=topk_weights is not None,
        SWAP_AB=tile.swap_ab,
        num_warps=tile.warps,
        num_stages=tile.stages,
    )
