"""Which fixes are safe: those whose harmlessness the source proves, and that break no launch."""

from __future__ import annotations

import textwrap

import pytest

from jitwatch.lint.finding import Applicability
from tests.fix.fixing import PREAMBLE, fix

VECTOR = """
@triton.jit
def vector_add(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n), mask=at < n)

def launch(x, y):
    vector_add[(8,)](x, y, x.shape[0], BLOCK=1024)
"""

MASK = """
@triton.jit
def mask_rows(x, length: tl.constexpr, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    at = x + row * WIDTH + tl.arange(0, WIDTH)
    tl.store(at, tl.where(row < length, tl.load(at), 0.0))

"""

MENDED = MASK.replace("length: tl.constexpr", "length").replace(
    "jit\n", 'jit(do_not_specialize=["length"])\n'
)


def safely(source: str) -> str:
    """What the safe fixes make of a program."""
    data = (PREAMBLE + source).encode()
    fixed = fix({"a.py": data}, Applicability.SAFE).after.get("a.py", data).decode()
    assert fixed.startswith(PREAMBLE)
    return fixed[len(PREAMBLE) :]


def test_a_length_that_masks_a_vector_is_left_alone() -> None:
    assert safely(VECTOR) == VECTOR
    named = VECTOR.replace("n, BLOCK", "seq_len: tl.constexpr, BLOCK").replace("< n", "< seq_len")
    assert safely(named.replace("x.shape[0], ", "seq_len=x.shape[0], ")) == named.replace(
        "x.shape[0], ", "seq_len=x.shape[0], "
    )


@pytest.mark.parametrize(
    "launch",
    [
        "",  # nothing shows what it gets
        "def launch(x, length):\n    mask_rows[(8,)](x, length, WIDTH=64)\n",
        "def launch(x, length: float):\n    mask_rows[(8,)](x, length, WIDTH=64)\n",
        "def launch(x, length: int):\n    length = np.int64(length)\n    mask_rows[(8,)](x, length, WIDTH=64)\n",
        "def launch(x, lengths):\n    mask_rows[(8,)](x, lengths.max(), WIDTH=64)\n",
        "def launch(x, y):\n    mask_rows[(8,)](x, x.shape[0], WIDTH=64)\n    mask_rows[(8,)](x, y.max(), WIDTH=64)\n",
        "def launch(x, **more):\n    mask_rows[(8,)](x, x.shape[0], **more)\n",
        "def launch(x):\n    mask_rows[(8,)](x, x.shape[0], WIDTH=64)\n\nhanded_on(mask_rows)\n",
        "def launch(x):\n    length = x.shape[0]\n    length /= 2\n    mask_rows[(8,)](x, length, WIDTH=64)\n",
        "def launch(x):\n    for length in x.lengths:\n        mask_rows[(8,)](x, length, WIDTH=64)\n",
    ],
)
def test_a_constexpr_stays_one_where_a_launch_may_pass_what_is_no_int(launch: str) -> None:
    assert safely(MASK + launch) == MASK + launch


@pytest.mark.parametrize(
    "launch",
    [
        "def launch(x, length: int):\n    mask_rows[(8,)](x, length, WIDTH=64)\n",
        "def launch(x):\n    mask_rows[(8,)](x, x.shape[0], WIDTH=64)\n",
        "def launch(x):\n    rows, width = x.shape\n    mask_rows[(8,)](x, length=rows, WIDTH=64)\n",
        "def launch(x):\n    half = x.size(0) // 2\n    mask_rows[(8,)](x, triton.cdiv(half, 4), WIDTH=64)\n",
        "def launch(x, y):\n    n = len(y)\n\n    def inner(n: int):\n        mask_rows[(8,)](x, n, WIDTH=64)\n",
        "def launch(x):\n    b, n = x.shape[0], min(x.numel(), 64)\n    mask_rows[(8,)](x, n if b else 3, WIDTH=64)\n",
    ],
)
def test_a_constexpr_that_only_guards_rows_becomes_an_argument_where_every_launch_passes_an_int(
    launch: str,
) -> None:
    assert safely(MASK + launch) == MENDED + launch


def test_a_pointer_of_a_moving_view_is_opted_out_where_no_vector_goes_through_it() -> None:
    launch = "def launch(lengths, out, start):\n    count[(8,)](lengths[start:], out, 16)\n"
    kernel = (
        "@triton.jit\ndef count(lengths, out, B: tl.constexpr):\n"
        "    tl.store(out + tl.program_id(0), tl.load(lengths + {}))\n\n"
    )
    single, several = kernel.format("tl.program_id(0)"), kernel.format("tl.arange(0, B)")
    assert safely(several + launch) == several + launch
    opted_out = single.replace("jit\n", 'jit(do_not_specialize_on_alignment=["lengths"])\n')
    assert safely(single + launch) == opted_out + launch


def test_the_language_of_another_compiler_is_not_proven() -> None:
    gluon = (
        "from triton.experimental import gluon\nfrom triton.experimental.gluon import language as gl\n\n"
        "@gluon.jit\ndef fill(x, num_tokens):\n    if gl.program_id(0) < num_tokens:\n"
        "        gl.store(x + gl.program_id(0), 0.0)\n"
    )
    assert safely(gluon) == gluon


def test_a_kernel_inside_a_function_or_a_class_is_proven_like_any_other() -> None:
    kernel = (
        "@triton.jit\ndef guard(x, num_tokens):\n    if tl.program_id(0) < num_tokens:\n"
        "        tl.store(x + tl.program_id(0), 0.0)  # é\n"
    )
    nested = "class Kernels:\n" + textwrap.indent(f"@staticmethod\n{kernel}", "    ")
    opted_out = nested.replace("triton.jit", 'triton.jit(do_not_specialize=["num_tokens"])')
    assert safely(nested) == opted_out
