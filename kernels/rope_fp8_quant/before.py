"""The kernel in the form that recompiles: the token count and what follows from it are specialised arguments.

Four variants over T = 1..8192. ``num_tokens`` splits three ways (1, a multiple of 16, other), and
``scale_stride_k``, which is T rounded up to 4, splits "other" once more: for T % 16 in {13, 14, 15} it is a
multiple of 16 although T is not. The strides of the outputs are arguments for no other reason than habit.

It computes the same bytes as ``kernel`` (unless a chunk's maximum exceeds 448 * 2^n by less than its float32
logarithm can tell), one program for each token of each head, and reads the rotation's partner and angles for all
512 values of a head under a mask.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from jitwatch.kernels.rope_fp8_quant import reference


@triton.jit
def inverse_rope_fp8_quant_kernel(
    o_ptr,
    positions_ptr,
    cos_sin_cache_ptr,
    values_ptr,
    scales_ptr,
    num_tokens,
    o_stride_token,
    o_stride_head,
    cache_stride_position,
    values_stride_group,
    values_stride_token,
    scale_stride_group,
    scale_stride_k,
    HEADS_PER_GROUP: tl.constexpr,
    CHUNKS: tl.constexpr,
    CHUNK: tl.constexpr,
    ROTARY: tl.constexpr,
    FP8_MAX: tl.constexpr,
    EPSILON: tl.constexpr,
    PACKED_SCALES: tl.constexpr,
):
    """One program: one head of one token, or of one row of padding."""
    token = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    group = (head // HEADS_PER_GROUP).to(tl.int64)
    head_in_group = head % HEADS_PER_GROUP
    chunks = tl.arange(0, CHUNKS)
    scales = scales_ptr + group * scale_stride_group + token
    if PACKED_SCALES:
        scales += head_in_group * scale_stride_k
    else:
        scales += (head_in_group * CHUNKS + chunks) * scale_stride_k
    if token >= num_tokens:
        if PACKED_SCALES:
            tl.store(scales, 0)
        else:
            tl.store(scales, tl.zeros((CHUNKS,), tl.float32))
        return

    HEAD: tl.constexpr = CHUNKS * CHUNK
    offsets = tl.arange(0, HEAD)
    rotary = offsets >= HEAD - ROTARY
    source = o_ptr + token * o_stride_token + head * o_stride_head
    x = tl.load(source + offsets).to(tl.float32)
    partner = tl.load(source + (offsets ^ 1), mask=rotary, other=0.0).to(tl.float32)
    pair = (offsets - (HEAD - ROTARY)) // 2
    angles = cos_sin_cache_ptr + tl.load(positions_ptr + token) * cache_stride_position + pair
    cos = tl.load(angles, mask=rotary, other=1.0)
    sin = tl.load(angles + ROTARY // 2, mask=rotary, other=0.0)
    rotated = tl.fma(x, cos, partner * tl.where(offsets % 2 == 0, sin, -sin))
    x = tl.where(rotary, rotated, x)

    x = tl.reshape(x, (CHUNKS, CHUNK))
    amax = tl.maximum(tl.max(tl.abs(x), axis=1), EPSILON)
    scale = tl.exp2(tl.ceil(tl.log2(amax / FP8_MAX)))
    quantized = tl.minimum(tl.maximum(x / scale[:, None], -FP8_MAX), FP8_MAX).to(tl.float8e4nv)
    target = values_ptr + group * values_stride_group + token * values_stride_token + head_in_group * HEAD
    tl.store(target + offsets, tl.reshape(quantized, (HEAD,)))
    if PACKED_SCALES:
        exponents = (scale.to(tl.int32, bitcast=True) >> 23) << (8 * chunks)
        tl.store(scales, tl.sum(exponents, axis=0))
    else:
        tl.store(scales, scale)


def launch(
    o: torch.Tensor,
    positions: torch.Tensor,
    cos_sin_cache: torch.Tensor,
    values: torch.Tensor,
    scales: torch.Tensor,
) -> None:
    """Fill ``values`` [G, T, D] and ``scales`` [G, k, T rounded up to 4] of checked inputs with T > 0."""
    tokens, heads, _ = o.shape
    groups = values.shape[0]
    width = heads // groups * reference.HEAD
    padded_tokens = triton.cdiv(tokens, reference.SCALE_ALIGNMENT) * reference.SCALE_ALIGNMENT
    inverse_rope_fp8_quant_kernel[(padded_tokens, heads)](
        o,
        positions,
        cos_sin_cache,
        values,
        scales,
        num_tokens=tokens,
        o_stride_token=o.stride(0),
        o_stride_head=o.stride(1),
        cache_stride_position=cos_sin_cache.stride(0),
        values_stride_group=tokens * width,
        values_stride_token=width,
        scale_stride_group=scales.shape[1] * padded_tokens,
        scale_stride_k=padded_tokens,
        HEADS_PER_GROUP=heads // groups,
        CHUNKS=reference.HEAD // reference.CHUNK,
        CHUNK=reference.CHUNK,
        ROTARY=reference.ROTARY,
        FP8_MAX=reference.FP8_MAX,
        EPSILON=reference.EPSILON,
        PACKED_SCALES=scales.dtype == torch.int32,
        num_warps=1,
        num_stages=1,
    )
