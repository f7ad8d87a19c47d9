"""Kernels whose vector width depends on the divisibility of ``n``, or does not."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def element_mask(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n), mask=offsets < n)


@triton.jit
def element_mask_of_another_range(x, out, n, BLOCK: tl.constexpr):
    mask = tl.arange(0, BLOCK) < n
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets, mask=mask), mask=mask)


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
def halved_stride(x, out, n, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    tl.store(out + columns, tl.load(x + tl.program_id(0) * (n // 2) + columns))


@triton.jit
def shifted_bound(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < (n >> 1)
    tl.store(out + offsets, tl.load(x + offsets, mask=mask), mask=mask)


@triton.jit
def split_stride(x, out, n, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    tl.store(out + columns, tl.load(x + tl.program_id(0) * (n // 16) + columns))


@triton.jit
def rounded_up_half(x, out, n, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    tl.store(out + columns, tl.load(x + tl.program_id(0) * tl.cdiv(n, 2) + columns))


@triton.jit
def rows_beside_planes(x, out, n, BLOCK: tl.constexpr):
    rows, columns = tl.arange(0, 4), tl.arange(0, BLOCK)
    at = rows[:, None] * n + columns[None, :]
    deep = rows[:, None, None] * 4096 + tl.arange(0, 4)[None, :, None] * BLOCK + columns[None, None, :]
    tl.store(out + rows[:, None] * BLOCK + columns[None, :], tl.load(x + at))
    tl.store(out + deep, tl.load(x + deep))


@triton.jit
def diagonal(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(
        out + offsets * n + offsets, tl.load(x + offsets * n + offsets, mask=offsets < n), mask=offsets < n
    )


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


@triton.jit
def closed_bound(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets, mask=offsets <= n), mask=offsets <= n)


@triton.jit
def loaded_mask(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    wanted = tl.load(out + offsets) > 0
    tl.store(x + offsets, 0.0, mask=(offsets < n) & wanted)


@triton.jit
def gathered(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    index = tl.load(out + offsets).to(tl.int32)
    tl.store(out + offsets, tl.load(x + index * n + offsets))


@triton.jit
def paged_rows(x, out, n, BLOCK: tl.constexpr):
    rows, columns = tl.arange(0, 4), tl.arange(0, BLOCK)
    pages = x + tl.load(out + rows).to(tl.int32) * n
    tl.store(out + rows[:, None] * BLOCK + columns[None, :], tl.load(pages[:, None] + columns[None, :]))


@triton.jit
def selected_start(x, out, n, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    start = tl.where(tl.program_id(0) < 8, tl.program_id(0) * BLOCK, n)
    tl.store(out + columns, tl.load(x + start + columns))


@triton.jit
def branched_start(x, out, n, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    row = x
    if tl.program_id(0) < 8:
        row += tl.program_id(0) * n
    tl.store(out + columns, tl.load(row + columns))


@triton.jit
def compared_quotients(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets), mask=(offsets // n) % 8 == 3)


@triton.jit
def load_row(x, row, stride, BLOCK: tl.constexpr):
    return tl.load(x + row * stride + tl.arange(0, BLOCK))


@triton.jit
def helped(x, out, n, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), load_row(x, tl.program_id(0), n, BLOCK))


@triton.jit
def load_chunk(pointers, mask, BLOCK: tl.constexpr):
    return tl.load(pointers + tl.arange(0, BLOCK)[None, :], mask=mask)


@triton.jit
def helped_rows(x, out, n, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * 4 + tl.arange(0, 4)[:, None]
    at = rows * BLOCK + tl.arange(0, BLOCK)[None, :]
    tl.store(out + at, load_chunk(x + rows * BLOCK, rows < n, BLOCK))


@triton.jit
def unrolled_step(x, out, n, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    for step in tl.static_range(3):
        tl.store(out + step * BLOCK + columns, tl.load(x + step * n + columns))


@triton.jit
def unrolled_start(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    for step in tl.static_range(1, 3):
        tl.store(out + step + offsets, tl.load(x + step + offsets, mask=offsets < n), mask=offsets < n)


@triton.jit
def either_index(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if BLOCK >= 1024:
        column = offsets % 4096
        base = x
    else:
        column = tl.minimum((offsets * 0.5).to(tl.int32), n)
        base = x + 1
    tl.store(out + offsets, tl.load(base + tl.program_id(1) * n + column))


@triton.jit
def conditional_start(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    start = tl.program_id(0) * n if BLOCK > 64 else 0
    tl.store(out + offsets, tl.load(x + start + offsets))


@triton.jit
def chosen_start(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    start = n if tl.program_id(0) > 1 else 0
    tl.store(out + offsets, tl.load(x + start + offsets))


@triton.jit
def loaded_rows_and_their_columns(x, out, n, BLOCK: tl.constexpr):
    rows, columns = tl.arange(0, 16), tl.arange(0, BLOCK)
    places = tl.load(x + rows).to(tl.int32)
    straight = tl.load(x + rows[:, None] * BLOCK + columns[None, :])
    # Both ranges are columns by now: of the load above, and of this.
    turned = tl.load(x + places[None, :] * n + columns[:, None])
    tl.store(out + rows[:, None] * BLOCK + columns[None, :], turned.T + straight)
    tl.store(out + rows[None, :] * BLOCK + columns[:, None], turned)
