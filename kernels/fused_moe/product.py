"""What both grouped GEMMs are made of: the place of a program, the product of a tile, and its scales."""

from __future__ import annotations

import triton
import triton.language as tl

from jitwatch.kernels.fused_moe import experts
from jitwatch.kernels.fused_moe.alignment import local_expert
from jitwatch.kernels.fused_moe.quantize import as_fp8

GROUP = tl.constexpr(experts.GROUP)
PLAIN = tl.constexpr(experts.Scheme.PLAIN.value)
BLOCK_SCALES = tl.constexpr(experts.Scheme.BLOCK.value)
ROW_SCALES = tl.constexpr(experts.Scheme.TOKEN.value)
TENSOR_SCALES = tl.constexpr(experts.Scheme.TENSOR.value)


@triton.jit
def tile_of(program, blocks, COLUMNS: tl.constexpr, GROUP_M: tl.constexpr):
    """Block and column tile of a program: ``GROUP_M`` blocks take turns, so that neighbours share weights."""
    group = program // (GROUP_M * COLUMNS)
    height = tl.minimum(blocks - group * GROUP_M, GROUP_M)
    within = program % (GROUP_M * COLUMNS)
    return group * GROUP_M + within % height, within // height


@triton.jit
def multiply(activations, weights, acc, SWAP_AB: tl.constexpr):
    """Multiply [BLOCK_M, BLOCK_K] by [BLOCK_N, BLOCK_K] transposed; with ``SWAP_AB`` the result is transposed."""
    left, right = (weights, activations.T) if SWAP_AB else (activations, weights.T)
    return tl.dot(left, right, acc)


@triton.jit
def prefetch_rows(rows, bytes_of_row, ROWS: tl.constexpr):
    """Ask for the first bytes of each row to be brought into the L2 cache, in two pieces a row; waits for nothing.

    ``bytes_of_row`` is a multiple of 32; it is no constant, so that fetching more or less is no other variant.
    """
    piece = bytes_of_row // 2
    pieces = tl.reshape(rows.to(tl.int64)[:, None] + tl.arange(0, 2)[None, :] * piece, (2 * ROWS,))
    tl.inline_asm_elementwise(
        "cp.async.bulk.prefetch.L2.global [$1], $2; mov.u32 $0, 0;",
        "=r,l,r",
        [pieces, tl.full((2 * ROWS,), 0, tl.int32) + piece],
        dtype=tl.int32,
        is_pure=False,
        pack=1,
    )


@triton.jit
def accumulate(
    activation_rows,
    live,
    weight_rows,
    weight_descriptor,
    plane,
    line,
    activation_scale_rows,
    weight_scale_rows,
    input_scale_ptr,
    DEPTH: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    SCHEME: tl.constexpr,
    SWAP_AB: tl.constexpr,
    PROMOTE: tl.constexpr,
    BULK: tl.constexpr,
    QUANTIZE: tl.constexpr,
):
    """Sum the product over ``DEPTH``; fp32 [BLOCK_M, BLOCK_N], transposed with ``SWAP_AB``.

    Arguments are pointers to the start of rows. With ``BULK`` the copy engine fetches the weights by their
    descriptor, from ``plane`` and ``line`` on. In the block scheme each step's scales are applied to it.
    ``QUANTIZE``: the activations are not fp8 yet; the scale at ``input_scale_ptr`` makes them so.

    ``PROMOTE``: each step's fp8 products are added in fp32; else they stay in the register that Hopper's matrix unit
    adds them up in, which is shorter. Not by ``tl.dot``'s own means: what Triton 3.6 to 3.7 make of
    ``max_num_imprecise_acc`` reads the unit's registers while it works, and ptxas then waits once more in each step
    ("warpgroup.wait is injected").
    """
    acc = tl.zeros((BLOCK_N, BLOCK_M) if SWAP_AB else (BLOCK_M, BLOCK_N), tl.float32)
    if QUANTIZE:
        input_scale = tl.load(input_scale_ptr)
    for start in range(0, DEPTH, BLOCK_K):
        at = start + tl.arange(0, BLOCK_K)
        inside = (at < DEPTH)[None, :]
        rows_inside = live[:, None] if DEPTH % BLOCK_K == 0 else live[:, None] & inside
        activations = tl.load(activation_rows[:, None] + at[None, :], mask=rows_inside, other=0.0)
        if QUANTIZE:
            activations = as_fp8(activations.to(tl.float32) / input_scale)
        if BULK:
            weights = tl.reshape(weight_descriptor.load([plane, line, start]), (BLOCK_N, BLOCK_K))
        elif DEPTH % BLOCK_K == 0:
            weights = tl.load(weight_rows[:, None] + at[None, :])
        else:
            weights = tl.load(weight_rows[:, None] + at[None, :], mask=inside, other=0.0)
        if SCHEME == BLOCK_SCALES:
            activation_scale = tl.load(activation_scale_rows + start // GROUP, mask=live, other=0.0)
            weight_scale = tl.load(weight_scale_rows + start // GROUP)
            step = multiply(activations, weights, tl.zeros_like(acc), SWAP_AB)
            if SWAP_AB:
                acc += step * weight_scale[:, None] * activation_scale[None, :]
            else:
                acc += step * activation_scale[:, None] * weight_scale[None, :]
        elif PROMOTE:
            acc += multiply(activations, weights, tl.zeros_like(acc), SWAP_AB)
        else:
            acc = multiply(activations, weights, acc, SWAP_AB)
    return acc


@triton.jit
def load_scale(scale_ptr, expert, row, ROWS: tl.constexpr, PER_CHANNEL: tl.constexpr):
    """Scale of an expert's matrix: one, or one for each of its rows."""
    scale = tl.load(scale_ptr + expert * ROWS + row)[None, :] if PER_CHANNEL else tl.load(scale_ptr + expert)
    return scale


@triton.jit
def load_row_scale(scale_ptr, row, live, SCHEME: tl.constexpr):
    """Scale of rows of activations: one for all, or one each."""
    scale = (
        tl.load(scale_ptr + row, mask=live, other=0.0)[:, None]
        if SCHEME == ROW_SCALES
        else tl.load(scale_ptr)
    )
    return scale


@triton.jit
def read_block(
    table_ptr,
    slots_ptr,
    ids_ptr,
    map_ptr,
    block,
    MAPPED: tl.constexpr,
    BLOCK_M: tl.constexpr,
    DIRECT: tl.constexpr,
):
    """Expert of a block (or ``NO_EXPERT``), its slots, and which of ``BLOCK_M`` rows hold one."""
    row = tl.arange(0, BLOCK_M)
    if DIRECT:
        expert = local_expert(ids_ptr, map_ptr, block, block >= 0, MAPPED).to(tl.int64)
        live = row < 1
        slot = tl.where(live, block, 0)
    else:
        expert = tl.load(table_ptr + 1 + 3 * block).to(tl.int64)
        first = tl.load(table_ptr + 2 + 3 * block)
        live = row < tl.load(table_ptr + 3 + 3 * block)
        slot = tl.load(slots_ptr + first + row, mask=live, other=0)
    return expert, slot, live
