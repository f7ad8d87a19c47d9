# mypy: ignore-errors
"""Kernels of the kinds that opt-outs are good or bad for. They are compiled here, never launched."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    """Its length masks the contiguous axis."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask)


@triton.jit
def scale_rows(x, out, num_rows, WIDTH: tl.constexpr, ROWS: tl.constexpr):
    """Its row count masks whole rows."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cells = rows[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
    mask = (rows < num_rows)[:, None]
    tl.store(out + cells, tl.load(x + cells, mask=mask) * 2, mask=mask)


@triton.jit
def scale_by(x, out, unread, width: tl.constexpr, factor, BLOCK: tl.constexpr):
    """Nothing reads one of its arguments."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets * width) * factor)


@triton.jit
def copy_rows(x, out, stride, WIDTH: tl.constexpr):
    """Its stride multiplies the row index."""
    cells = tl.program_id(0) * stride + tl.arange(0, WIDTH)
    tl.store(out + cells, tl.load(x + cells))


@triton.jit
def copy_if_asked(x, out, stride, WIDTH: tl.constexpr, COPY: tl.constexpr = False):
    """A default that leaves out what its stride is for."""
    columns = tl.arange(0, WIDTH)
    if COPY:
        tl.store(out + tl.program_id(0) * stride + columns, tl.load(x + tl.program_id(0) * stride + columns))
    else:
        tl.store(out + columns, columns.to(out.dtype.element_ty))


@triton.jit
def copy_heads(x, out, heads, width, WIDTH: tl.constexpr):
    """Its stride is a product: either factor's divisibility is enough for both."""
    cells = tl.program_id(0) * (heads * width) + tl.arange(0, WIDTH)
    tl.store(out + cells, tl.load(x + cells))


@triton.jit
def sum_columns(x, out, stride_column, rows, BLOCK: tl.constexpr):
    """The stride of its contiguous axis is 1 in practice: only a folded 1 makes the loads wide."""
    columns = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for row in range(rows):
        total += tl.load(x + row * BLOCK + columns * stride_column)
    tl.store(out + columns, total)


@triton.jit
def count_up(out, length: tl.constexpr, BLOCK: tl.constexpr):
    """Its length only masks, so that it need not be a constexpr."""
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, offsets, mask=offsets < length)


@triton.jit
def count_all(out, length: tl.constexpr):
    """Its length is a shape."""
    offsets = tl.arange(0, length)
    tl.store(out + offsets, offsets)


@triton.jit
def grouped_matmul(
    a, b, c, sorted_ids, expert_ids, num_tokens_post_padded,
    N, K, EM, num_valid_tokens, stride_am, stride_be, stride_bn, stride_cm,
    top_k: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
):  # fmt: skip
    """A mixture of experts' matrix product: each block of sorted tokens times the weights of its expert."""
    pid = tl.program_id(0)
    blocks_m, blocks_n = tl.cdiv(EM, BLOCK_M), tl.cdiv(N, BLOCK_N)
    group = pid // (GROUP * blocks_n)
    size = min(blocks_m - group * GROUP, GROUP)
    pid_m = group * GROUP + (pid % (GROUP * blocks_n)) % size
    pid_n = (pid % (GROUP * blocks_n)) // size
    if pid_m * BLOCK_M >= tl.load(num_tokens_post_padded):
        return
    ids = tl.load(sorted_ids + pid_m * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    real = ids < num_valid_tokens
    columns = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64) % N
    inner = tl.arange(0, BLOCK_K)
    lines = a + (ids[:, None] // top_k) * stride_am + inner[None, :]
    weights = (
        b
        + tl.load(expert_ids + pid_m).to(tl.int64) * stride_be
        + inner[:, None]
        + columns[None, :] * stride_bn
    )
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        left = inner < K - k * BLOCK_K
        x = tl.load(lines, mask=real[:, None] & left[None, :], other=0.0)
        w = tl.load(weights, mask=left[:, None], other=0.0)
        total = tl.dot(x, w, acc=total)
        lines += BLOCK_K
        weights += BLOCK_K
    out = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    tl.store(
        c + ids[:, None] * stride_cm + out[None, :],
        total.to(tl.bfloat16),
        mask=real[:, None] & (out < N)[None, :],
    )


class Namespace:
    """A kernel that is an attribute of a class, under an autotuner."""

    @staticmethod
    @triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=[])
    @triton.jit
    def tuned(out, n, BLOCK: tl.constexpr):
        offsets = tl.arange(0, BLOCK)
        tl.store(out + offsets, offsets, mask=offsets < n)


@triton.jit
def cast(x, out, n, TYPE: tl.constexpr, BLOCK: tl.constexpr):
    """A dtype is a compile-time value."""
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n).to(TYPE), mask=offsets < n)


def make_kernel():
    """A kernel defined inside a function."""

    @triton.jit
    def nested(out, n):
        tl.store(out, n)

    return nested
