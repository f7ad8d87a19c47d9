"""The kernel that serves every token count with one compiled variant.

Two differences to ``before``. Everything that follows from the token count is computed inside, so the only
argument that changes from launch to launch is ``num_tokens``, and that one is not specialised. It guards whole
rows and multiplies strides known at compile time, so no vector load or store depends on its divisibility: the
opt-out costs nothing here. And the rotation touches the last chunk only, in registers, not all 512 values.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from jitwatch.kernels.rope_fp8_quant import reference

TOKENS = 2
"""Tokens of one head a program takes. Eight on four warps are 2.5 % faster at 8192 tokens of 64 heads on an H200
(193.9 against 199.1 us), and 15 % slower at 16 (3.08 against 2.68), where a launch is all latency."""

WARPS = 1

HEAD = tl.constexpr(reference.HEAD)
ROTARY = tl.constexpr(reference.ROTARY)
CHUNK = tl.constexpr(reference.CHUNK)
EPSILON = tl.constexpr(reference.EPSILON)
SCALE_ALIGNMENT = tl.constexpr(reference.SCALE_ALIGNMENT)


@triton.jit
def scale_exponent(amax):
    """Biased exponent of the smallest power of two s with ``amax / s <= 448``, from the bits of ``amax``.

    448 is 1.75 * 2^8. Adding a quarter of a binade less one unit carries into the exponent exactly when the
    mantissa exceeds 1.75: no logarithm, so no rounding of one.
    """
    bits = tl.maximum(amax, EPSILON).to(tl.int32, bitcast=True)
    return ((bits + 0x1FFFFF) >> 23) - 8


@triton.jit
def power_of_two(exponent):
    """The float32 of that biased exponent."""
    return (exponent << 23).to(tl.float32, bitcast=True)


@triton.jit
def load_chunk(pointers, rows):
    """Load one chunk of each row as float32 [tokens, 128]."""
    return tl.load(pointers + tl.arange(0, CHUNK)[None, :], mask=rows, other=0.0).to(tl.float32)


@triton.jit
def store_chunk(pointers, x, rows):
    """Quantize a chunk of each row and write it; returns the exponents of its scales.

    No clamp: the scale already brings every value within 448. Its reciprocal is exact.
    """
    exponent = scale_exponent(tl.max(tl.abs(x), axis=1))
    quantized = (x * power_of_two(254 - exponent)[:, None]).to(tl.float8e4nv)
    tl.store(pointers + tl.arange(0, CHUNK)[None, :], quantized, mask=rows)
    return exponent


@triton.jit
def rotate_back(x, cos, sin, rotates):
    """Rotate the interleaved pairs of a chunk that rotate back by their angle [tokens, 64]."""
    even, odd = tl.split(tl.reshape(x, (x.shape[0], CHUNK // 2, 2)))
    # Explicit: left to the compiler, which product is fused could change with a release, and a bit with it.
    turned_even = tl.where(rotates, tl.fma(even, cos, odd * sin), even)
    turned_odd = tl.where(rotates, tl.fma(odd, cos, -(even * sin)), odd)
    return tl.reshape(tl.join(turned_even, turned_odd), (x.shape[0], CHUNK))


@triton.jit(do_not_specialize=["positions_ptr", "num_tokens"])
def inverse_rope_fp8_quant_kernel(
    o_ptr,
    positions_ptr,
    cos_sin_cache_ptr,
    values_ptr,
    scales_ptr,
    num_tokens: tl.int32,
    o_stride_token,
    GROUPS: tl.constexpr,
    HEADS_PER_GROUP: tl.constexpr,
    PACKED_SCALES: tl.constexpr,
    TOKENS: tl.constexpr,
):
    """One program: ``TOKENS`` tokens of one head; the heads of the same tokens follow each other."""
    head = tl.program_id(0) % (GROUPS * HEADS_PER_GROUP)
    token = tl.program_id(0) // (GROUPS * HEADS_PER_GROUP) * TOKENS + tl.arange(0, TOKENS)
    live = token < num_tokens
    rows = live[:, None]
    long_token = token.to(tl.int64)  # times a stride it passes 2^31: 65,536 tokens of 64 heads do
    pair = tl.arange(0, CHUNK // 2)[None, :]
    rotates = pair >= (CHUNK - ROTARY) // 2

    # All loads before the first store: the compiler must assume that a store changes what a later load reads.
    # The position first: the angles wait for it.
    position = tl.load(positions_ptr + token, mask=live, other=0)
    source = (o_ptr + long_token * o_stride_token + head * HEAD)[:, None]
    first = load_chunk(source, rows)
    second = load_chunk(source + CHUNK, rows)
    third = load_chunk(source + 2 * CHUNK, rows)
    last = load_chunk(source + 3 * CHUNK, rows)
    angles = (cos_sin_cache_ptr + position * ROTARY)[:, None] + pair
    cos = tl.load(angles - (CHUNK - ROTARY) // 2, mask=rows & rotates, other=1.0)
    sin = tl.load(angles - (CHUNK - ROTARY) // 2 + ROTARY // 2, mask=rows & rotates, other=0.0)
    last = rotate_back(last, cos, sin, rotates)

    group = (head // HEADS_PER_GROUP).to(tl.int64)
    out_row = (group * num_tokens + long_token) * HEADS_PER_GROUP + head % HEADS_PER_GROUP
    out = (values_ptr + out_row * HEAD)[:, None]
    scale_0 = store_chunk(out, first, rows)
    scale_1 = store_chunk(out + CHUNK, second, rows)
    scale_2 = store_chunk(out + 2 * CHUNK, third, rows)
    scale_3 = store_chunk(out + 3 * CHUNK, last, rows)

    padded_tokens = tl.cdiv(num_tokens, SCALE_ALIGNMENT) * SCALE_ALIGNMENT
    padded = token < padded_tokens
    long_head = head.to(tl.int64)
    if PACKED_SCALES:
        word = scale_0 | (scale_1 << 8) | (scale_2 << 16) | (scale_3 << 24)
        tl.store(scales_ptr + long_head * padded_tokens + token, tl.where(live, word, 0), mask=padded)
    else:
        scales = scales_ptr + long_head * (HEAD // CHUNK) * padded_tokens + token
        tl.store(scales, tl.where(live, power_of_two(scale_0), 0.0), mask=padded)
        tl.store(scales + padded_tokens, tl.where(live, power_of_two(scale_1), 0.0), mask=padded)
        tl.store(scales + 2 * padded_tokens, tl.where(live, power_of_two(scale_2), 0.0), mask=padded)
        tl.store(scales + 3 * padded_tokens, tl.where(live, power_of_two(scale_3), 0.0), mask=padded)


def launch(
    o: torch.Tensor,
    positions: torch.Tensor,
    cos_sin_cache: torch.Tensor,
    values: torch.Tensor,
    scales: torch.Tensor,
) -> None:
    """Fill ``values`` [G, T, D] and ``scales`` [G, k, T rounded up to 4] of checked inputs with T > 0."""
    tokens, heads, _ = o.shape
    groups, _, padded_tokens = scales.shape
    grid = (triton.cdiv(padded_tokens, TOKENS) * heads,)
    inverse_rope_fp8_quant_kernel[grid](
        o,
        positions,
        cos_sin_cache,
        values,
        scales,
        tokens,
        # The stride of a single token is never used, and torch may report any number for it.
        o.stride(0) if tokens > 1 else heads * reference.HEAD,
        GROUPS=groups,
        HEADS_PER_GROUP=heads // groups,
        PACKED_SCALES=scales.dtype == torch.int32,
        TOKENS=TOKENS,
        num_warps=WARPS,
        num_stages=1,
    )
