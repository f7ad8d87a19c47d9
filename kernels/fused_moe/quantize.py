"""Rounds rows of activations to e4m3fn with a static scale, one a row, or one for each 128 values."""

from __future__ import annotations

import triton
import triton.language as tl

from jitwatch.kernels.fused_moe import experts

FP8_MAX = tl.constexpr(experts.FP8_MAX)
EPSILON = tl.constexpr(experts.EPSILON)
GROUP = tl.constexpr(experts.GROUP)

STATIC = tl.constexpr(experts.Scheme.TENSOR.value)
ROWS = tl.constexpr(experts.Scheme.TOKEN.value)
GROUPS = tl.constexpr(experts.Scheme.BLOCK.value)


@triton.jit
def as_fp8(x):
    """Round float32 to e4m3fn, saturating."""
    return tl.minimum(tl.maximum(x, -FP8_MAX), FP8_MAX).to(tl.float8e4nv)


@triton.jit
def dynamic_scale(x, AXIS: tl.constexpr):
    """The scale that brings the largest magnitude along an axis to 448."""
    return tl.maximum(tl.max(tl.abs(x), axis=AXIS), EPSILON) / FP8_MAX


@triton.jit
def quantize_row(
    x_ptr, q_ptr, scale_ptr, row, WIDTH: tl.constexpr, SCHEME: tl.constexpr, BLOCK: tl.constexpr
):
    """Quantize one row of ``WIDTH`` values; ``BLOCK`` is a power of two not below it.

    ``scale_ptr``: one scale (static, read), [rows] (written) or [rows, WIDTH / 128] (written).
    """
    start = row.to(tl.int64) * WIDTH
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + start + at, mask=at < WIDTH, other=0.0).to(tl.float32)
    if SCHEME == STATIC:
        scaled = x / tl.load(scale_ptr)
    elif SCHEME == ROWS:
        scale = dynamic_scale(x, 0)
        tl.store(scale_ptr + row, scale)
        scaled = x / scale
    else:
        GROUPS_HELD: tl.constexpr = BLOCK // GROUP
        groups = tl.reshape(x, (GROUPS_HELD, GROUP))
        scales = dynamic_scale(groups, 1)
        number = tl.arange(0, GROUPS_HELD)
        PER_ROW: tl.constexpr = (WIDTH + GROUP - 1) // GROUP
        tl.store(scale_ptr + row.to(tl.int64) * PER_ROW + number, scales, mask=number < PER_ROW)
        scaled = tl.reshape(groups / scales[:, None], (BLOCK,))
    tl.store(q_ptr + start + at, as_fp8(scaled), mask=at < WIDTH)


@triton.jit
def quantize_kernel(
    x_ptr,
    q_ptr,
    scale_ptr,
    WIDTH: tl.constexpr,
    SCHEME: tl.constexpr,
    BLOCK: tl.constexpr,
    OVERLAP: tl.constexpr,
):
    """One program a row."""
    if OVERLAP:
        tl.extra.cuda.gdc_wait()
        tl.extra.cuda.gdc_launch_dependents()
    quantize_row(x_ptr, q_ptr, scale_ptr, tl.program_id(0), WIDTH, SCHEME, BLOCK)
