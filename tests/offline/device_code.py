"""Kernels of these tests: small, so that a compile takes a tenth of a second."""

from typing import Any

import triton
import triton.language as tl

try:
    from triton.language.extra import libdevice
except ImportError:
    from triton.language.extra.cuda import libdevice

WIDTH = tl.constexpr(64)


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.jit
def matmul(a, b, c, M, N, K, stride_am, stride_bk, stride_cm, TILE: tl.constexpr):
    row = tl.program_id(0) * TILE + tl.arange(0, TILE)
    column = tl.program_id(1) * TILE + tl.arange(0, TILE)
    total = tl.zeros((TILE, TILE), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, TILE)):
        inner = k * TILE + tl.arange(0, TILE)
        left_mask = (row[:, None] < M) & (inner[None, :] < K)
        right_mask = (inner[:, None] < K) & (column[None, :] < N)
        left = tl.load(a + row[:, None] * stride_am + inner[None, :], mask=left_mask, other=0.0)
        right = tl.load(b + inner[:, None] * stride_bk + column[None, :], mask=right_mask, other=0.0)
        total = tl.dot(left, right, total)
    mask = (row[:, None] < M) & (column[None, :] < N)
    tl.store(c + row[:, None] * stride_cm + column[None, :], total.to(c.dtype.element_ty), mask=mask)


@triton.heuristics({"BLOCK": lambda arguments: triton.next_power_of_2(arguments["n"])})
@triton.jit
def softmax(x, out, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0) * stride
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row + at, mask=at < n, other=-float("inf"))
    weights = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row + at, weights / tl.sum(weights, axis=0), mask=at < n)


@triton.jit
def accumulate(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(out + at, mask=at < n) + tl.load(x + at, mask=at < n), mask=at < n)


@triton.jit
def product(a, b):
    return a * b


@triton.jit
def nested(x, out):
    at = tl.arange(0, WIDTH)
    value = tl.load(x + at)
    tl.store(out + at, product(value, value) * WIDTH)


@triton.jit
def call_argument(x, out, FUNCTION: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.store(out + at, FUNCTION(value, value))


@triton.jit
def control_flow(x, out, n, flag, factor, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    k = 0
    while k < n:
        if k % 2 == 0:
            total += tl.load(x + at)
        else:
            total -= 0.5
        k += 1
    for i in tl.static_range(3):
        total += i
    if flag:
        total = total * factor
    tl.store(out + at, total)


@triton.jit
def bf16_arithmetic(x, y, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    a = tl.load(x + at)
    b = tl.load(y + at)
    value = a * b + 1.0
    value = tl.where(value > 0, value, -value)
    tl.store(out + at, tl.maximum(value, a) + at.to(tl.bfloat16))


@triton.jit
def total(x, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Sum of each row, in the type of x."""
    row = tl.arange(0, ROWS)
    tile = tl.load(x + row[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :])
    tl.store(out + row, tl.sum(tile, axis=1))


@triton.jit
def convert(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n).to(out.dtype.element_ty), mask=at < n)


@triton.jit
def scatter(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.atomic_add(out + at % 4, tl.load(x + at))


@triton.jit
def library(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.store(out + at, libdevice.tanh(value) + tl.math.exp(value) + tl.sigmoid(value))


@triton.jit
def inline_assembly(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.inline_asm_elementwise(
        "mov.b32 $0, $1;", "=r,r", [tl.load(x + at)], dtype=tl.float32, is_pure=True, pack=1
    )
    tl.store(out + at, value)


@triton.jit
def refuse(x, BLOCK: tl.constexpr):
    tl.device_assert(tl.load(x + tl.arange(0, BLOCK)) > 100, "too small")


def make_add() -> Any:
    """A JITFunction of its own, with empty caches."""

    @triton.jit
    def add_anew(x, y, out, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)

    return add_anew


def variants(kernel: Any) -> list[str]:
    """Keys of a kernel's compiled variants on device 0, in whichever form this Triton keeps them."""
    caches = getattr(kernel, "device_caches", None)
    return list(kernel.cache[0] if caches is None else caches[0][0])
