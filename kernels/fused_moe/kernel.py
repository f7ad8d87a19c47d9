"""The two grouped GEMMs and the sum over a token's experts, one variant a tile whatever the number of tokens.

Nothing that follows from the number of tokens is a specialised argument: how many blocks there are, and which slots
are in them, is read from the alignment's table. With ``DIRECT`` there is no table and each slot is a block of its own:
where there are few, a launch less is worth more than what the reading of an expert twice costs.

Both GEMMs can swap the sides of the product: Hopper's wgmma takes 64 rows on its left, which a handful of tokens does
not have, but the weights always do.
"""

from __future__ import annotations

import triton
import triton.language as tl

from jitwatch.kernels.fused_moe.alignment import NO_EXPERT, local_expert
from jitwatch.kernels.fused_moe.product import (
    BLOCK_SCALES,
    GROUP,
    PLAIN,
    TENSOR_SCALES,
    accumulate,
    load_row_scale,
    load_scale,
    prefetch_rows,
    read_block,
    tile_of,
)
from jitwatch.kernels.fused_moe.quantize import as_fp8


@triton.jit(do_not_specialize=["ids_ptr", "map_ptr", "num_slots", "prefetch"])
def gate_up_kernel(
    x_ptr,
    x_scale_ptr,
    weight_ptr,
    weight_descriptor,
    weight_scale_ptr,
    inner_ptr,
    inner_scale_ptr,
    slots_ptr,
    table_ptr,
    ids_ptr,
    map_ptr,
    num_slots: tl.int32,
    prefetch: tl.int32,
    TOP_K: tl.constexpr,
    HIDDEN: tl.constexpr,
    INNER: tl.constexpr,
    SCHEME: tl.constexpr,
    PER_CHANNEL: tl.constexpr,
    MAPPED: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
    SWAP_AB: tl.constexpr,
    PROMOTE: tl.constexpr,
    BULK: tl.constexpr,
    DIRECT: tl.constexpr,
    OVERLAP: tl.constexpr,
):
    """inner[slot] = silu(x @ gate.T) * (x @ up.T), the first GEMM and what follows it.

    A program's ``BLOCK_N`` rows of weights are half gate, half up, so that one product makes both sides of
    ``BLOCK_N / 2`` columns of the result. With a static scale the result is written as fp8.
    """
    HALF: tl.constexpr = BLOCK_N // 2
    COLUMNS: tl.constexpr = (INNER + HALF - 1) // HALF
    program = tl.program_id(0)
    within = tl.arange(0, BLOCK_N)
    if OVERLAP:
        if prefetch > 0 and not DIRECT:
            # The alignment is not there yet, but who is asked for is: that slot's expert is somebody's.
            asked = local_expert(ids_ptr, map_ptr, program // COLUMNS, program // COLUMNS < num_slots, MAPPED)
            if asked < NO_EXPERT:
                early = tl.minimum(program % COLUMNS * HALF + within % HALF, INNER - 1)
                early += within // HALF * INNER
                start = weight_ptr + asked.to(tl.int64) * (2 * INNER * HIDDEN) + early * HIDDEN
                prefetch_rows(start, prefetch, BLOCK_N)
        tl.extra.cuda.gdc_wait()
        tl.extra.cuda.gdc_launch_dependents()
    blocks = num_slots if DIRECT else tl.load(table_ptr)
    if program >= blocks * COLUMNS:
        return
    block, column = tile_of(program, blocks, COLUMNS, GROUP_M)
    expert, slot, live = read_block(table_ptr, slots_ptr, ids_ptr, map_ptr, block, MAPPED, BLOCK_M, DIRECT)
    if DIRECT:
        if expert >= NO_EXPERT:
            return
    token = slot // TOP_K
    row = tl.minimum(column * HALF + within % HALF, INNER - 1) + within // HALF * INNER
    HIDDEN_GROUPS: tl.constexpr = (HIDDEN + GROUP - 1) // GROUP
    ROW_GROUPS: tl.constexpr = (2 * INNER + GROUP - 1) // GROUP
    acc = accumulate(
        x_ptr + token.to(tl.int64) * HIDDEN,
        live,
        weight_ptr + expert * (2 * INNER * HIDDEN) + row * HIDDEN,
        weight_descriptor,
        (expert * 2).to(tl.int32),
        column * HALF,
        x_scale_ptr + token * HIDDEN_GROUPS if SCHEME == BLOCK_SCALES else token,
        weight_scale_ptr + (expert * ROW_GROUPS + row // GROUP) * HIDDEN_GROUPS
        if SCHEME == BLOCK_SCALES
        else row,
        x_scale_ptr,
        HIDDEN,
        BLOCK_M,
        BLOCK_N,
        BLOCK_K,
        SCHEME,
        SWAP_AB,
        PROMOTE,
        BULK,
        DIRECT and SCHEME == TENSOR_SCALES,
    )
    if SWAP_AB:
        gate, up = tl.split(tl.permute(tl.reshape(acc, (2, HALF, BLOCK_M)), (2, 1, 0)))
    else:
        gate, up = tl.split(tl.permute(tl.reshape(acc, (BLOCK_M, 2, HALF)), (0, 2, 1)))

    at = column * HALF + tl.arange(0, HALF)
    if SCHEME != PLAIN and SCHEME != BLOCK_SCALES:
        x_scale = load_row_scale(x_scale_ptr, token, live, SCHEME)
        inside = tl.minimum(at, INNER - 1)
        gate *= x_scale * load_scale(weight_scale_ptr, expert, inside, 2 * INNER, PER_CHANNEL)
        up *= x_scale * load_scale(weight_scale_ptr, expert, INNER + inside, 2 * INNER, PER_CHANNEL)
    inner = gate * tl.sigmoid(gate) * up
    if SCHEME == TENSOR_SCALES:
        inner = as_fp8(inner / tl.load(inner_scale_ptr))
    out = inner_ptr + (slot.to(tl.int64) * INNER)[:, None] + at[None, :]
    tl.store(out, inner.to(inner_ptr.dtype.element_ty), mask=live[:, None] & (at < INNER)[None, :])


@triton.jit(do_not_specialize=["topk_weights_ptr", "ids_ptr", "map_ptr", "num_slots", "prefetch"])
def down_kernel(
    inner_ptr,
    inner_scale_ptr,
    weight_ptr,
    weight_descriptor,
    weight_scale_ptr,
    out_ptr,
    topk_weights_ptr,
    slots_ptr,
    table_ptr,
    ids_ptr,
    map_ptr,
    num_slots: tl.int32,
    prefetch: tl.int32,
    HIDDEN: tl.constexpr,
    INNER: tl.constexpr,
    SCHEME: tl.constexpr,
    PER_CHANNEL: tl.constexpr,
    MAPPED: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
    SWAP_AB: tl.constexpr,
    PROMOTE: tl.constexpr,
    BULK: tl.constexpr,
    DIRECT: tl.constexpr,
    OVERLAP: tl.constexpr,
):
    """out[slot] = weight[slot] * (inner[slot] @ down.T), the second GEMM."""
    COLUMNS: tl.constexpr = (HIDDEN + BLOCK_N - 1) // BLOCK_N
    program = tl.program_id(0)
    # No need to wait yet: the first GEMM waited for the alignment before it let this launch start.
    blocks = num_slots if DIRECT else tl.load(table_ptr)
    if program >= blocks * COLUMNS:
        return
    block, column = tile_of(program, blocks, COLUMNS, GROUP_M)
    expert, slot, live = read_block(table_ptr, slots_ptr, ids_ptr, map_ptr, block, MAPPED, BLOCK_M, DIRECT)
    if DIRECT:
        if expert >= NO_EXPERT:
            return
    at = column * BLOCK_N + tl.arange(0, BLOCK_N)
    row = tl.minimum(at, HIDDEN - 1)
    weight_rows = weight_ptr + expert * (HIDDEN * INNER) + row * INNER
    if OVERLAP:
        if prefetch > 0:
            prefetch_rows(weight_rows, prefetch, BLOCK_N)
        tl.extra.cuda.gdc_wait()
        tl.extra.cuda.gdc_launch_dependents()
    INNER_GROUPS: tl.constexpr = (INNER + GROUP - 1) // GROUP
    ROW_GROUPS: tl.constexpr = (HIDDEN + GROUP - 1) // GROUP
    acc = accumulate(
        inner_ptr + slot.to(tl.int64) * INNER,
        live,
        weight_rows,
        weight_descriptor,
        expert.to(tl.int32),
        column * BLOCK_N,
        inner_scale_ptr + slot * INNER_GROUPS if SCHEME == BLOCK_SCALES else slot,
        weight_scale_ptr + (expert * ROW_GROUPS + row // GROUP) * INNER_GROUPS
        if SCHEME == BLOCK_SCALES
        else row,
        inner_scale_ptr,
        INNER,
        BLOCK_M,
        BLOCK_N,
        BLOCK_K,
        SCHEME,
        SWAP_AB,
        PROMOTE,
        BULK,
        False,
    )
    if SWAP_AB:
        acc = tl.trans(acc)
    if SCHEME != PLAIN and SCHEME != BLOCK_SCALES:
        acc *= load_row_scale(inner_scale_ptr, slot, live, SCHEME)
        acc *= load_scale(weight_scale_ptr, expert, row, HIDDEN, PER_CHANNEL)
    acc *= tl.load(topk_weights_ptr + slot, mask=live, other=0.0)[:, None]
    out = out_ptr + (slot.to(tl.int64) * HIDDEN)[:, None] + at[None, :]
    tl.store(out, acc.to(out_ptr.dtype.element_ty), mask=live[:, None] & (at < HIDDEN)[None, :])


@triton.jit(do_not_specialize=["ids_ptr", "map_ptr"])
def sum_kernel(
    parts_ptr,
    ids_ptr,
    map_ptr,
    out_ptr,
    TOP_K: tl.constexpr,
    HIDDEN: tl.constexpr,
    MAPPED: tl.constexpr,
    BLOCK: tl.constexpr,
    OVERLAP: tl.constexpr,
):
    """out[token] = the sum of its slots' parts, in their order; what no expert here made is left out."""
    if OVERLAP:
        tl.extra.cuda.gdc_wait()
        tl.extra.cuda.gdc_launch_dependents()
    token = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for choice in tl.static_range(TOP_K):
        slot = token * TOP_K + choice
        here = local_expert(ids_ptr, map_ptr, slot, slot >= 0, MAPPED) < NO_EXPERT
        part = tl.load(parts_ptr + slot * HIDDEN + at, mask=tl.where(here, at, HIDDEN) < HIDDEN, other=0.0)
        total += part.to(tl.float32)
    tl.store(out_ptr + token * HIDDEN + at, total.to(out_ptr.dtype.element_ty), mask=at < HIDDEN)
