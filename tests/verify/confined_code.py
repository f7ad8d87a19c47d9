# mypy: ignore-errors
"""Kernels in which ``n`` stays among scalars, one for each way to; beside wide loads and stores that must stay wide."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def guard(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    if row < n:
        at = row * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(x + at) * 2)


@triton.jit
def early_return(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    if row * 4 + 3 >= n - 1:
        return
    at = row * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) * 2)


@triton.jit
def loaded_guard(x, out, n, BLOCK: tl.constexpr):
    row = tl.load(x + tl.program_id(0) * BLOCK).to(tl.int32)
    for start in range(0, 4):
        if row < n:
            at = (row * 4 + start) * BLOCK + tl.arange(0, BLOCK)
            tl.store(out + at, tl.load(x + at) * 2)


@triton.jit
def whole_mask(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = (row < n) & (columns < BLOCK - 128)
    at = row * BLOCK + columns
    tl.store(out + at, tl.load(x + at, mask=inside, other=0.0) * 2, mask=inside)


@triton.jit
def selected(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = row * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.store(out + at, tl.where(row < n, tl.exp(value.to(tl.float32)), 0.0))


@triton.jit
def stored_quotient(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = row * BLOCK + tl.arange(0, BLOCK)
    largest = tl.max(tl.abs(tl.load(x + at).to(tl.float32)), axis=0)
    tl.store(out + row, tl.sqrt(largest / n) + 1.0)


@triton.jit
def selected_by_constant(x, out, n: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = row * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.where(row < n, tl.load(x + at), 0.0), mask=row < n)


@triton.jit
def guarded_by_constant(x, out, n: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    if row >= n:
        return
    at = row * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) * 2)


@triton.jit
def single_elements(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    start = n + row
    first = tl.load(start)
    at = first * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at), mask=tl.load(start + 1) > first)
