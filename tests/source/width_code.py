"""Kernels whose vector width depends on the divisibility of ``n``, or does not."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def element_mask(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n), mask=offsets < n)


@triton.jit
def row_mask(x, out, n, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * 4 + tl.arange(0, 4)[:, None]
    at = rows * BLOCK + tl.arange(0, BLOCK)[None, :]
    tl.store(out + at, tl.load(x + at, mask=rows < n), mask=rows < n)


@triton.jit
def row_stride(x, out, n, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    tl.store(out + columns, tl.load(x + tl.program_id(0) * n + columns))


@triton.jit
def multiplied_stride(x, out, n, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    tl.store(out + columns, tl.load(x + tl.program_id(0) * n * BLOCK + columns))


@triton.jit
def unaligned_start(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.load(x).to(tl.int32) + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n), mask=offsets < n)


@triton.jit
def wrapped(x, out, n, BLOCK: tl.constexpr):
    offsets = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)) % n
    tl.store(out + tl.arange(0, BLOCK), tl.load(x + offsets))


@triton.jit
def loop_count(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    for step in range(n):
        tl.store(out + step * BLOCK + offsets, tl.load(x + step * BLOCK + offsets))


@triton.jit
def block_pointer(x, out, n, BLOCK: tl.constexpr):
    at = tl.make_block_ptr(x, (64, n), (BLOCK, 1), (0, 0), (4, BLOCK), (1, 0))
    to = tl.make_block_ptr(out, (64, BLOCK), (BLOCK, 1), (0, 0), (4, BLOCK), (1, 0))
    tl.store(to, tl.load(at, boundary_check=(0, 1)))
