# mypy: ignore-errors
"""Further kernels for ``verify_against_time``: those of tests/verify are launched there too."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def softmax_rows(x, out, stride, columns, rows, BLOCK: tl.constexpr):
    """A row a program, masked on both axes."""
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = (offsets < columns) & (row < rows)
    value = tl.load(x + row * stride + offsets, mask=mask, other=float("-inf")).to(tl.float32)
    value = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * stride + offsets, (value / tl.sum(value, axis=0)).to(tl.bfloat16), mask=mask)


@triton.jit
def matmul(
    a, b, c, M, N, K, stride_a, stride_b, stride_c, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    """Row-major bf16; only M and N are masked."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    inner = tl.arange(0, BK)
    left = a + rows[:, None] * stride_a + inner[None, :]
    right = b + inner[:, None] * stride_b + columns[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, tl.cdiv(K, BK)):
        x = tl.load(left, mask=(rows < M)[:, None], other=0.0)
        y = tl.load(right, mask=(columns < N)[None, :], other=0.0)
        total = tl.dot(x, y, acc=total)
        left += BK
        right += BK * stride_b
    mask = (rows < M)[:, None] & (columns < N)[None, :]
    tl.store(c + rows[:, None] * stride_c + columns[None, :], total.to(tl.bfloat16), mask=mask)


@triton.jit
def sum_rows(x, out, rows, WIDTH: tl.constexpr):
    """A running sum: the length is the trip count."""
    columns = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    total = tl.zeros((WIDTH,), tl.float32)
    for row in range(rows):
        total += tl.load(x + row * WIDTH * tl.num_programs(0) + columns)
    tl.store(out + columns, total)


@triton.jit
def gather_rows(tokens, table, out, num_tokens: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    """A constexpr count that only masks."""
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.arange(0, WIDTH)
    real = rows < num_tokens
    token = tl.load(tokens + rows, mask=real, other=0)
    value = tl.load(table + token[:, None] * WIDTH + columns[None, :], mask=real[:, None])
    tl.store(out + rows[:, None] * WIDTH + columns[None, :], value, mask=real[:, None])


@triton.jit
def normalise_rows(x, weight, out, stride, columns, BLOCK: tl.constexpr):
    """A row a program, in blocks: the length masks the contiguous axis and is the trip count."""
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * stride + offsets, mask=offsets < columns, other=0.0).to(tl.float32)
        total += value * value
    scale = tl.rsqrt(tl.sum(total, axis=0) / columns + 1e-6)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < columns
        value = tl.load(x + row * stride + offsets, mask=mask, other=0.0).to(tl.float32)
        gain = tl.load(weight + offsets, mask=mask, other=0.0).to(tl.float32)
        tl.store(out + row * stride + offsets, (value * scale * gain).to(tl.bfloat16), mask=mask)


@triton.jit
def add_bias(x, bias, out, columns, BLOCK: tl.constexpr):
    """A flat index, of which the column is the remainder."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets) + tl.load(bias + offsets % columns))
