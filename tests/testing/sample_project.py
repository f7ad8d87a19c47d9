"""A small project with four kernels that recompile, each for a reason of its own, and the tests that forbid it."""

from __future__ import annotations

from pathlib import Path

KERNELS = '''\
"""Row-wise kernels of a small inference server."""

import triton
import triton.language as tl


@triton.jit
def scale_rows(x_ptr, y_ptr, num_tokens, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    if row < num_tokens:
        offsets = row * WIDTH + tl.arange(0, WIDTH)
        tl.store(y_ptr + offsets, tl.load(x_ptr + offsets) * 2)


@triton.jit
def mask_rows(x_ptr, y_ptr, seq_len: tl.constexpr, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    offsets = row * WIDTH + tl.arange(0, WIDTH)
    x = tl.load(x_ptr + offsets)
    tl.store(y_ptr + offsets, tl.where(row < seq_len, x, 0.0))


@triton.jit(do_not_specialize=["num_tokens"])
def scale_columns(x_ptr, s_ptr, num_tokens, scale_stride, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    if row < num_tokens:
        offsets = row * WIDTH + tl.arange(0, WIDTH)
        largest = tl.max(tl.abs(tl.load(x_ptr + offsets)), axis=0)
        tl.store(s_ptr + row, largest / scale_stride)


@triton.jit
def count_blocks(seq_lens_ptr, out_ptr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    tl.store(out_ptr + row, tl.cdiv(tl.load(seq_lens_ptr + row), BLOCK))
'''

OPS = '''\
"""What the server calls."""

import torch

from server.kernels import count_blocks, mask_rows, scale_columns, scale_rows

WIDTH = 16


def scale(x):
    y = torch.empty_like(x)
    num_tokens = x.shape[0]
    scale_rows[(num_tokens,)](x, y, num_tokens, WIDTH=WIDTH)
    return y


def mask(x, seq_len: int):
    y = torch.empty_like(x)
    mask_rows[(x.shape[0],)](x, y, seq_len=seq_len, WIDTH=WIDTH)
    return y


def scales(x):
    num_tokens = x.shape[0]
    scale_stride = (num_tokens + 3) // 4 * 4
    out = torch.empty(scale_stride, device=x.device)
    scale_columns[(num_tokens,)](x, out, num_tokens, scale_stride, WIDTH=WIDTH)
    return out[:num_tokens]


def prefill_blocks(seq_lens, num_decodes):
    prefills = seq_lens.shape[0] - num_decodes
    out = torch.empty(prefills, dtype=torch.int32, device=seq_lens.device)
    count_blocks[(prefills,)](seq_lens[num_decodes:], out, BLOCK=16)
    return out
'''

TESTS = """\
import pytest
import torch

from server import ops

LENGTHS = [5, 16, 1, 33]


def test_scale_compiles_once(no_recompiles):
    for rows in LENGTHS:
        x = torch.ones((rows, 16), device="cuda")
        assert torch.equal(ops.scale(x), x * 2)


def test_mask_compiles_once(jitwatch):
    x = torch.ones((64, 16), device="cuda")
    jitwatch.sweep(lambda seq_len: ops.mask(x, seq_len), [5, 17, 48], variants=1)
    assert ops.mask(x, 7).sum().item() == 7 * 16


@pytest.mark.max_recompiles(0)
def test_scales_compile_once():
    for rows in LENGTHS:
        assert ops.scales(torch.ones((rows, 16), device="cuda")).shape == (rows,)


def test_blocks_of_any_split(no_recompiles):
    seq_lens = torch.arange(64, dtype=torch.int32, device="cuda")
    ops.prefill_blocks(seq_lens, 16)
    with no_recompiles:
        assert ops.prefill_blocks(seq_lens, 3)[0].item() == 1
"""


def build(folder: Path) -> None:
    """Write the project into `folder`."""
    (folder / "server").mkdir()
    (folder / "server" / "__init__.py").write_text("")
    (folder / "server" / "kernels.py").write_text(KERNELS)
    (folder / "server" / "ops.py").write_text(OPS)
    (folder / "tests").mkdir()
    (folder / "tests" / "test_ops.py").write_text(TESTS)
    (folder / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["."]\n')
