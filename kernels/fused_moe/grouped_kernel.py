"""What goes around grouped GEMMs made by others: offsets, rows gathered, silu and product, rows put back."""

from __future__ import annotations

import triton
import triton.language as tl

from jitwatch.kernels.fused_moe.alignment import NO_EXPERT, count_slots, local_expert
from jitwatch.kernels.fused_moe.quantize import as_fp8


@triton.jit(do_not_specialize=["ids_ptr", "map_ptr", "num_slots"])
def offsets_kernel(
    ids_ptr,
    map_ptr,
    offsets_ptr,
    counts_ptr,
    num_slots: tl.int32,
    EXPERTS: tl.constexpr,
    BINS: tl.constexpr,
    MAPPED: tl.constexpr,
):
    """Count each expert's slots, and where each expert's end among the sorted ones."""
    counts = count_slots(ids_ptr, map_ptr, 0, num_slots, BINS, MAPPED)
    expert = tl.arange(0, BINS)
    tl.store(counts_ptr + expert, counts.to(tl.int64), mask=expert < EXPERTS)
    tl.store(offsets_ptr + expert, tl.cumsum(counts, 0), mask=expert < EXPERTS)


@triton.jit
def gather_kernel(
    x_ptr,
    rows_ptr,
    slots_ptr,
    offsets_ptr,
    places_ptr,
    scale_ptr,
    TOP_K: tl.constexpr,
    HIDDEN: tl.constexpr,
    EXPERTS: tl.constexpr,
    QUANTIZED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """rows[i] = x[token of the i-th sorted slot]; places[slot] = i. Rows past the last expert's are left alone."""
    place = tl.program_id(0)
    if place >= tl.load(offsets_ptr + EXPERTS - 1):
        return
    slot = tl.load(slots_ptr + place)
    tl.store(places_ptr + slot, place)
    at = tl.arange(0, BLOCK)
    row = tl.load(x_ptr + (slot // TOP_K).to(tl.int64) * HIDDEN + at, mask=at < HIDDEN, other=0.0)
    if QUANTIZED:
        row = as_fp8(row.to(tl.float32) / tl.load(scale_ptr))
    tl.store(rows_ptr + place.to(tl.int64) * HIDDEN + at, row, mask=at < HIDDEN)


@triton.jit
def silu_mul_kernel(
    both_ptr, inner_ptr, scale_ptr, INNER: tl.constexpr, QUANTIZED: tl.constexpr, BLOCK: tl.constexpr
):
    """inner = silu(gate) * up for one row, gate and up being its halves."""
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    gate = tl.load(both_ptr + row * 2 * INNER + at, mask=at < INNER, other=0.0).to(tl.float32)
    up = tl.load(both_ptr + row * 2 * INNER + INNER + at, mask=at < INNER, other=0.0).to(tl.float32)
    inner = gate * tl.sigmoid(gate) * up
    if QUANTIZED:
        inner = as_fp8(inner / tl.load(scale_ptr))
    tl.store(inner_ptr + row * INNER + at, inner.to(inner_ptr.dtype.element_ty), mask=at < INNER)


@triton.jit(do_not_specialize=["ids_ptr", "map_ptr", "topk_weights_ptr"])
def weighted_sum_kernel(
    parts_ptr,
    places_ptr,
    ids_ptr,
    map_ptr,
    topk_weights_ptr,
    out_ptr,
    TOP_K: tl.constexpr,
    HIDDEN: tl.constexpr,
    MAPPED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """out[token] = the sum of its slots' parts, each from its place and times its weight."""
    token = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for choice in tl.static_range(TOP_K):
        slot = token * TOP_K + choice
        here = local_expert(ids_ptr, map_ptr, slot, slot >= 0, MAPPED) < NO_EXPERT
        place = tl.load(places_ptr + slot, mask=here, other=0).to(tl.int64)
        part = tl.load(parts_ptr + place * HIDDEN + at, mask=tl.where(here, at, HIDDEN) < HIDDEN, other=0.0)
        total += part.to(tl.float32) * tl.load(topk_weights_ptr + slot)
    tl.store(out_ptr + token * HIDDEN + at, total.to(out_ptr.dtype.element_ty), mask=at < HIDDEN)
