"""The decoder's Triton kernels with their launches: four make a classic recompile mistake, two are right.

Each kernel's docstring says which mistake it makes and what that causes; each ends with a change of one line.
Tensors are contiguous fp32, indices int32. T: tokens in a forward pass; H, D: heads and their width; B: requests.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

TOKENS_PER_PROGRAM = 16


@triton.jit
def embed_kernel(tokens, table, out, num_tokens: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    """Gather rows.

    The mistake: ``num_tokens: tl.constexpr`` bakes the count into the code, and it only bounds the rows.
    """
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.arange(0, WIDTH)
    real = rows < num_tokens
    token = tl.load(tokens + rows, mask=real, other=0)
    vectors = tl.load(table + token[:, None] * WIDTH + cols[None, :], mask=real[:, None])
    tl.store(out + rows[:, None] * WIDTH + cols[None, :], vectors, mask=real[:, None])


def embed(tokens: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    """Gather the rows of ``table`` [vocab, width] for ``tokens`` [T]; returns [T, width]."""
    num_tokens, width = tokens.shape[0], table.shape[1]
    out = table.new_empty((num_tokens, width))
    grid = (triton.cdiv(num_tokens, TOKENS_PER_PROGRAM),)
    embed_kernel[grid](tokens, table, out, num_tokens=num_tokens, WIDTH=width, BLOCK=TOKENS_PER_PROGRAM)
    return out


@triton.jit
def rms_norm_kernel(x, weight, out, EPS: tl.constexpr, WIDTH: tl.constexpr):
    """Normalise one row a program.

    Right: the number of rows lives in the grid alone, which is no part of the variant.
    """
    cols = tl.arange(0, WIDTH)
    row = tl.load(x + tl.program_id(0) * WIDTH + cols)
    scale = tl.rsqrt(tl.sum(row * row) / WIDTH + EPS)
    tl.store(out + tl.program_id(0) * WIDTH + cols, row * scale * tl.load(weight + cols))


def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """Scale each row of ``x`` [T, width] to unit mean square, times ``weight`` [width]."""
    out = torch.empty_like(x)
    rms_norm_kernel[(x.shape[0],)](x, weight, out, EPS=eps, WIDTH=x.shape[1])
    return out


@triton.jit
def rotary_cache_kernel(
    qkv, positions, slots, key_cache, value_cache, num_tokens,
    HEADS: tl.constexpr, HALF: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Rotate queries and keys, and store keys and values.

    The mistake: ``num_tokens`` only masks whole rows, yet as a plain int it splits into 1, ÷16 and other.
    """
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    head = tl.program_id(1)
    lane = tl.arange(0, HALF)
    real = (rows < num_tokens)[:, None]
    position = tl.load(positions + rows, mask=rows < num_tokens, other=0)
    slot = tl.load(slots + rows, mask=rows < num_tokens, other=0)
    # 10000 ** (-lane / HALF), as a power of two: log2(10000) = 13.2877
    angle = position[:, None].to(tl.float32) * tl.exp2(lane[None, :] * (-13.287712379549449 / HALF))
    cos, sin = tl.cos(angle), tl.sin(angle)

    query = qkv + rows[:, None] * (6 * HEADS * HALF) + head * 2 * HALF + lane[None, :]
    low, high = tl.load(query, mask=real), tl.load(query + HALF, mask=real)
    tl.store(query, low * cos - high * sin, mask=real)
    tl.store(query + HALF, high * cos + low * sin, mask=real)

    key = query + 2 * HEADS * HALF
    low, high = tl.load(key, mask=real), tl.load(key + HALF, mask=real)
    turned_low, turned_high = low * cos - high * sin, high * cos + low * sin
    tl.store(key, turned_low, mask=real)
    tl.store(key + HALF, turned_high, mask=real)
    cell = slot[:, None] * (2 * HEADS * HALF) + head * 2 * HALF + lane[None, :]
    tl.store(key_cache + cell, turned_low, mask=real)
    tl.store(key_cache + cell + HALF, turned_high, mask=real)

    value = key + 2 * HEADS * HALF
    tl.store(value_cache + cell, tl.load(value, mask=real), mask=real)
    tl.store(value_cache + cell + HALF, tl.load(value + HALF, mask=real), mask=real)


def rotary_cache(
    qkv: torch.Tensor,
    positions: torch.Tensor,
    slots: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
) -> None:
    """Turn queries and keys by their position, in place, and put keys and values into the cache.

    ``qkv`` is [T, 3, H, D], ``positions`` and ``slots`` [T], the caches [slots, H, D].
    """
    num_tokens, _, heads, width = qkv.shape
    grid = (triton.cdiv(num_tokens, TOKENS_PER_PROGRAM), heads)
    rotary_cache_kernel[grid](
        qkv, positions, slots, key_cache, value_cache, num_tokens,
        HEADS=heads, HALF=width // 2, BLOCK=TOKENS_PER_PROGRAM,
    )  # fmt: skip


@triton.autotune(
    configs=[
        triton.Config({"BLOCK_M": 32, "BLOCK_N": 32}, num_warps=4),
        triton.Config({"BLOCK_M": 16, "BLOCK_N": 32}, num_warps=2),
    ],
    key=["prompt_len"],
)
@triton.jit(do_not_specialize=["prompt_len"])
def prompt_attention_kernel(
    qkv, out, prompt_len,
    HEADS: tl.constexpr, WIDTH: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Attend causally within a prompt.

    The mistake: ``prompt_len`` in the autotune key benchmarks all configurations again at each new length.
    Nothing is compiled for that (it is not specialized), so whoever counts compiles does not see it.
    """
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    head = tl.program_id(1)
    cols = tl.arange(0, WIDTH)
    row_width = 3 * HEADS * WIDTH
    real = (rows < prompt_len)[:, None]
    query = tl.load(qkv + rows[:, None] * row_width + head * WIDTH + cols[None, :], mask=real, other=0.0)
    best = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    mixed = tl.zeros((BLOCK_M, WIDTH), tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * BLOCK_M, BLOCK_N):
        at = start + tl.arange(0, BLOCK_N)
        key = qkv + (HEADS + head) * WIDTH + at[None, :] * row_width + cols[:, None]
        value = qkv + (2 * HEADS + head) * WIDTH + at[:, None] * row_width + cols[None, :]
        keys = tl.load(key, mask=(at < prompt_len)[None, :], other=0.0)
        values = tl.load(value, mask=(at < prompt_len)[:, None], other=0.0)
        scores = tl.dot(query, keys, input_precision="ieee") * (WIDTH**-0.5)
        scores = tl.where(at[None, :] <= rows[:, None], scores, float("-inf"))
        new_best = tl.maximum(best, tl.max(scores, 1))
        weights = tl.exp(scores - new_best[:, None])
        fade = tl.exp(best - new_best)
        total = total * fade + tl.sum(weights, 1)
        mixed = mixed * fade[:, None] + tl.dot(weights, values, input_precision="ieee")
        best = new_best
    tl.store(
        out + rows[:, None] * (HEADS * WIDTH) + head * WIDTH + cols[None, :],
        mixed / total[:, None],
        mask=real,
    )


def prompt_attention(qkv: torch.Tensor) -> torch.Tensor:
    """Attend each token of one prompt to those before it: ``qkv`` [T, 3, H, D]; returns [T, H * D]."""
    prompt_len, _, heads, width = qkv.shape
    out = qkv.new_empty((prompt_len, heads * width))
    prompt_attention_kernel[lambda meta: (triton.cdiv(prompt_len, meta["BLOCK_M"]), heads)](
        qkv, out, prompt_len, HEADS=heads, WIDTH=width
    )
    return out


@triton.jit
def cache_attention_kernel(
    qkv, key_cache, value_cache, page_table, lengths, out, table_stride,
    HEADS: tl.constexpr, WIDTH: tl.constexpr, PAGE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Attend one new token a request to its pages of the cache.

    The mistake: ``table_stride`` is a padded page count: its class, ÷16 or not, follows the longest request.
    """
    request, head = tl.program_id(0), tl.program_id(1)
    cols = tl.arange(0, WIDTH)
    length = tl.load(lengths + request)
    query = tl.load(qkv + request * (3 * HEADS * WIDTH) + head * WIDTH + cols) * (WIDTH**-0.5)
    best = float("-inf")
    total = 0.0
    mixed = tl.zeros((WIDTH,), tl.float32)
    for start in range(0, length, BLOCK):
        at = start + tl.arange(0, BLOCK)
        real = at < length
        page = tl.load(page_table + request * table_stride + at // PAGE, mask=real, other=0)
        cell = ((page * PAGE + at % PAGE) * HEADS + head)[:, None] * WIDTH + cols[None, :]
        keys = tl.load(key_cache + cell, mask=real[:, None], other=0.0)
        values = tl.load(value_cache + cell, mask=real[:, None], other=0.0)
        scores = tl.where(real, tl.sum(keys * query[None, :], 1), float("-inf"))
        new_best = tl.maximum(best, tl.max(scores, 0))
        weights = tl.exp(scores - new_best)
        fade = tl.exp(best - new_best)
        total = total * fade + tl.sum(weights, 0)
        mixed = mixed * fade + tl.sum(weights[:, None] * values, 0)
        best = new_best
    tl.store(out + request * (HEADS * WIDTH) + head * WIDTH + cols, mixed / total)


def cache_attention(
    qkv: torch.Tensor,
    key_cache: torch.Tensor,
    value_cache: torch.Tensor,
    page_table: torch.Tensor,
    lengths: torch.Tensor,
    page: int,
) -> torch.Tensor:
    """Attend the newest token of each request to its cached past.

    ``qkv`` is [B, 3, H, D], the caches [slots, H, D], ``page_table`` [B, pages] of ``page`` slots each,
    ``lengths`` [B] with the newest token counted. Returns [B, H * D].
    """
    requests, _, heads, width = qkv.shape
    out = qkv.new_empty((requests, heads * width))
    cache_attention_kernel[(requests, heads)](
        qkv, key_cache, value_cache, page_table, lengths, out, page_table.stride(0),
        HEADS=heads, WIDTH=width, PAGE=page, BLOCK=64,
    )  # fmt: skip
    return out


@triton.jit
def silu_mul_kernel(gate_up, out, n, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    """Gate a flat array.

    Right: ``n`` is T * WIDTH, always a multiple of 16, hence one variant. The mask runs along the contiguous
    axis, where that fact buys vector loads: a vector add without it took 2.8 times as long on an H200.
    """
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    gate_at = gate_up + at // WIDTH * (2 * WIDTH) + at % WIDTH
    gate = tl.load(gate_at, mask=at < n)
    up = tl.load(gate_at + WIDTH, mask=at < n)
    tl.store(out + at, gate * tl.sigmoid(gate) * up, mask=at < n)


def silu_mul(gate_up: torch.Tensor) -> torch.Tensor:
    """Multiply silu of the left half of each row of ``gate_up`` [T, 2 * width] with the right half."""
    num_tokens, width = gate_up.shape[0], gate_up.shape[1] // 2
    out = gate_up.new_empty((num_tokens, width))
    silu_mul_kernel[(triton.cdiv(out.numel(), 1024),)](gate_up, out, out.numel(), WIDTH=width, BLOCK=1024)
    return out
