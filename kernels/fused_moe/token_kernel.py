"""The second GEMM for a handful of tokens: a program makes a piece of a token's final output, over all its experts.

Nothing is shared by tokens that few, so nothing is lost by not sorting them; the sum over experts stays in registers,
and a launch, and the trip of the parts through memory, fall away.
"""

from __future__ import annotations

import triton
import triton.language as tl

from jitwatch.kernels.fused_moe.alignment import NO_EXPERT, local_expert
from jitwatch.kernels.fused_moe.product import BLOCK_SCALES, GROUP, PLAIN, ROW_SCALES, prefetch_rows

ROWS = tl.constexpr(16)
"""Rows of the smallest product; one of them holds the token."""


@triton.jit
def step_scale(
    inner_scale_ptr,
    weight_scale_ptr,
    slot,
    expert,
    row,
    group,
    HIDDEN: tl.constexpr,
    INNER: tl.constexpr,
    SCHEME: tl.constexpr,
    PER_CHANNEL: tl.constexpr,
):
    """What one expert's product with one slot's row is multiplied by, for each column."""
    GROUPS: tl.constexpr = (INNER + GROUP - 1) // GROUP
    ROW_GROUPS: tl.constexpr = (HIDDEN + GROUP - 1) // GROUP
    if SCHEME == PLAIN:
        scale = 1.0
    elif SCHEME == BLOCK_SCALES:
        weight_scale = tl.load(weight_scale_ptr + (expert * ROW_GROUPS + row // GROUP) * GROUPS + group)
        scale = (weight_scale * tl.load(inner_scale_ptr + slot * GROUPS + group))[None, :]
    else:
        inner_scale = tl.load(inner_scale_ptr + (slot if SCHEME == ROW_SCALES else 0))
        if PER_CHANNEL:
            scale = (inner_scale * tl.load(weight_scale_ptr + expert * HIDDEN + row))[None, :]
        else:
            scale = inner_scale * tl.load(weight_scale_ptr + expert)
    return scale


@triton.jit(do_not_specialize=["topk_weights_ptr", "ids_ptr", "map_ptr", "prefetch"])
def down_by_token_kernel(
    inner_ptr,
    inner_scale_ptr,
    weight_ptr,
    weight_scale_ptr,
    out_ptr,
    topk_weights_ptr,
    ids_ptr,
    map_ptr,
    prefetch: tl.int32,
    TOP_K: tl.constexpr,
    HIDDEN: tl.constexpr,
    INNER: tl.constexpr,
    SCHEME: tl.constexpr,
    PER_CHANNEL: tl.constexpr,
    MAPPED: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    OVERLAP: tl.constexpr,
):
    """out[token] = the sum over its slots of weight[slot] * (inner[slot] @ down.T)."""
    COLUMNS: tl.constexpr = (HIDDEN + BLOCK_N - 1) // BLOCK_N
    STEPS: tl.constexpr = (INNER + BLOCK_K - 1) // BLOCK_K
    token = tl.program_id(0) // COLUMNS
    at = tl.program_id(0) % COLUMNS * BLOCK_N + tl.arange(0, BLOCK_N)
    row = tl.minimum(at, HIDDEN - 1)
    if OVERLAP:
        if prefetch > 0:
            for choice in tl.static_range(TOP_K):
                slot = token * TOP_K + choice
                asked = local_expert(ids_ptr, map_ptr, slot, slot >= 0, MAPPED)
                if asked < NO_EXPERT:
                    start = weight_ptr + asked.to(tl.int64) * (HIDDEN * INNER) + row * INNER
                    prefetch_rows(start, prefetch, BLOCK_N)
        tl.extra.cuda.gdc_wait()
        tl.extra.cuda.gdc_launch_dependents()

    only = tl.arange(0, ROWS)[:, None] == 0
    acc = tl.zeros((ROWS, BLOCK_N), tl.float32)
    for step in range(0, TOP_K * STEPS):
        slot = token * TOP_K + step // STEPS
        depth = step % STEPS * BLOCK_K + tl.arange(0, BLOCK_K)
        expert = local_expert(ids_ptr, map_ptr, slot, slot >= 0, MAPPED)
        here = expert < NO_EXPERT
        expert = tl.where(here, expert, 0).to(tl.int64)
        # No `& here`: Triton 3.9's interpreter makes integers of a block's condition and a scalar one.
        inside = (tl.where(here, depth, INNER) < INNER)[None, :]
        activations = tl.load(
            inner_ptr + slot.to(tl.int64) * INNER + depth[None, :] + tl.zeros((ROWS, 1), tl.int32),
            mask=only & inside,
            other=0.0,
        )
        weights = tl.load(
            weight_ptr + expert * (HIDDEN * INNER) + (row * INNER)[:, None] + depth[None, :],
            mask=inside,
            other=0.0,
        )
        scale = step_scale(
            inner_scale_ptr,
            weight_scale_ptr,
            slot,
            expert,
            row,
            step % STEPS * BLOCK_K // GROUP,
            HIDDEN,
            INNER,
            SCHEME,
            PER_CHANNEL,
        )
        # What no expert here made is not written either: its scale may be anything.
        factor = tl.where(here, scale * tl.load(topk_weights_ptr + slot), 0.0)
        acc += tl.dot(activations, weights.T) * factor
    total = tl.sum(acc, axis=0)
    out = out_ptr + token.to(tl.int64) * HIDDEN + at
    tl.store(out, total.to(out_ptr.dtype.element_ty), mask=at < HIDDEN)
