"""The two grouped GEMMs and the sum over a token's experts, one variant a tile whatever the number of tokens.

Nothing that follows from the number of tokens is an argument: how many blocks there are, and which slots are in
them, is read from the alignment's table. Both GEMMs can swap the sides of the product: Hopper's wgmma takes 64 rows
on its left, which a handful of tokens does not have, but the weights always do.
"""

from __future__ import annotations

import triton
import triton.language as tl

from jitwatch.kernels.fused_moe import experts
from jitwatch.kernels.fused_moe.alignment import NO_EXPERT, local_expert
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
def multiply(activations, weights, acc, SWAP_AB: tl.constexpr, PROMOTE: tl.constexpr):
    """Multiply [BLOCK_M, BLOCK_K] by [BLOCK_N, BLOCK_K] transposed; with ``SWAP_AB`` the result is transposed.

    ``PROMOTE``: fp8 products that Hopper's matrix unit may add up in its own, shorter register before they are
    added in fp32; 0 leaves all of them to it.
    """
    left, right = (weights, activations.T) if SWAP_AB else (activations, weights.T)
    return tl.dot(left, right, acc, max_num_imprecise_acc=PROMOTE if PROMOTE > 0 else None)


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
    DEPTH: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    SCHEME: tl.constexpr,
    SWAP_AB: tl.constexpr,
    PROMOTE: tl.constexpr,
    BULK: tl.constexpr,
):
    """Sum the product over ``DEPTH``; fp32 [BLOCK_M, BLOCK_N], transposed with ``SWAP_AB``.

    Arguments are pointers to the start of rows. With ``BULK`` the copy engine fetches the weights by their
    descriptor, from ``plane`` and ``line`` on. In the block scheme each step's scales are applied to it.
    """
    acc = tl.zeros((BLOCK_N, BLOCK_M) if SWAP_AB else (BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, DEPTH, BLOCK_K):
        at = start + tl.arange(0, BLOCK_K)
        inside = (at < DEPTH)[None, :]
        rows_inside = live[:, None] if DEPTH % BLOCK_K == 0 else live[:, None] & inside
        activations = tl.load(activation_rows[:, None] + at[None, :], mask=rows_inside, other=0.0)
        if BULK:
            weights = tl.reshape(weight_descriptor.load([plane, line, start]), (BLOCK_N, BLOCK_K))
        elif DEPTH % BLOCK_K == 0:
            weights = tl.load(weight_rows[:, None] + at[None, :])
        else:
            weights = tl.load(weight_rows[:, None] + at[None, :], mask=inside, other=0.0)
        if SCHEME == BLOCK_SCALES:
            activation_scale = tl.load(activation_scale_rows + start // GROUP, mask=live, other=0.0)
            weight_scale = tl.load(weight_scale_rows + start // GROUP)
            step = multiply(activations, weights, tl.zeros_like(acc), SWAP_AB, 0)
            if SWAP_AB:
                acc += step * weight_scale[:, None] * activation_scale[None, :]
            else:
                acc += step * activation_scale[:, None] * weight_scale[None, :]
        else:
            acc = multiply(activations, weights, acc, SWAP_AB, PROMOTE)
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
def read_block(table_ptr, slots_ptr, block, BLOCK_M: tl.constexpr):
    """Expert of a block, its slots, and which of ``BLOCK_M`` rows hold one."""
    expert = tl.load(table_ptr + 1 + 3 * block).to(tl.int64)
    first = tl.load(table_ptr + 2 + 3 * block)
    live = tl.arange(0, BLOCK_M) < tl.load(table_ptr + 3 + 3 * block)
    slot = tl.load(slots_ptr + first + tl.arange(0, BLOCK_M), mask=live, other=0)
    return expert, slot, live


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
        if prefetch > 0:
            # The alignment is not there yet, but who is asked for is: that slot's expert is somebody's.
            asked = local_expert(ids_ptr, map_ptr, program // COLUMNS, program // COLUMNS < num_slots, MAPPED)
            if asked < NO_EXPERT:
                early = tl.minimum(program % COLUMNS * HALF + within % HALF, INNER - 1)
                early += within // HALF * INNER
                start = weight_ptr + asked.to(tl.int64) * (2 * INNER * HIDDEN) + early * HIDDEN
                prefetch_rows(start, prefetch, BLOCK_N)
        tl.extra.cuda.gdc_wait()
        tl.extra.cuda.gdc_launch_dependents()
    blocks = tl.load(table_ptr)
    if program >= blocks * COLUMNS:
        return
    block, column = tile_of(program, blocks, COLUMNS, GROUP_M)
    expert, slot, live = read_block(table_ptr, slots_ptr, block, BLOCK_M)
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
        HIDDEN,
        BLOCK_M,
        BLOCK_N,
        BLOCK_K,
        SCHEME,
        SWAP_AB,
        PROMOTE,
        BULK,
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


@triton.jit(do_not_specialize=["topk_weights_ptr", "prefetch"])
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
    prefetch: tl.int32,
    HIDDEN: tl.constexpr,
    INNER: tl.constexpr,
    SCHEME: tl.constexpr,
    PER_CHANNEL: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
    SWAP_AB: tl.constexpr,
    PROMOTE: tl.constexpr,
    BULK: tl.constexpr,
    OVERLAP: tl.constexpr,
):
    """out[slot] = weight[slot] * (inner[slot] @ down.T), the second GEMM."""
    COLUMNS: tl.constexpr = (HIDDEN + BLOCK_N - 1) // BLOCK_N
    program = tl.program_id(0)
    # No need to wait yet: the first GEMM waited for the alignment before it let this launch start.
    blocks = tl.load(table_ptr)
    if program >= blocks * COLUMNS:
        return
    block, column = tile_of(program, blocks, COLUMNS, GROUP_M)
    expert, slot, live = read_block(table_ptr, slots_ptr, block, BLOCK_M)
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
        INNER,
        BLOCK_M,
        BLOCK_N,
        BLOCK_K,
        SCHEME,
        SWAP_AB,
        PROMOTE,
        BULK,
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
        here = local_expert(ids_ptr, map_ptr, slot, True, MAPPED) < NO_EXPERT
        part = tl.load(parts_ptr + slot * HIDDEN + at, mask=(at < HIDDEN) & here, other=0.0)
        total += part.to(tl.float32)
    tl.store(out_ptr + token * HIDDEN + at, total.to(out_ptr.dtype.element_ty), mask=at < HIDDEN)
