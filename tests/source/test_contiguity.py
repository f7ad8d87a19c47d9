"""Whose divisibility by 16 the vector width needs."""

from __future__ import annotations

import pytest

from jitwatch.source.model import Contiguity
from tests.source.reading import kernel, parameter

NONE, MASK, STRIDE = Contiguity.NONE, Contiguity.MASK, Contiguity.STRIDE


def body(text: str, signature: str = "x, n, stride, B: tl.constexpr") -> str:
    return f"@triton.jit\ndef f({signature}):\n" + "\n".join(
        f"    {line}" for line in text.strip().split("\n")
    )


@pytest.mark.parametrize(
    "text",
    [
        # A row mask: every vector lies within a row.
        "r = tl.program_id(0) * 4 + tl.arange(0, 4)\nc = tl.arange(0, B)\n"
        "tl.store(x + r[:, None] * 64 + c[None, :], 0.0, mask=r[:, None] < n)",
        # A scalar access.
        "if tl.program_id(0) < n: tl.store(x + tl.program_id(0), 0.0)",
        # The range starts anywhere: nothing is aligned, whatever n is.
        "s = tl.load(x)\no = s + tl.arange(0, B)\ntl.store(x + o, 0.0, mask=o < n)",
        # The bound is a multiple of a constant.
        "o = tl.arange(0, B)\ntl.store(x + o, 0.0, mask=o < n * 32)",
        # The range is not the contiguous axis.
        "o = tl.arange(0, B)\ntl.store(x + o * 7, 0.0, mask=o < n)",
        # A vector of scales beside tiles moves no bytes.
        "r = tl.arange(0, B)\nc = tl.arange(0, 64)\ntl.store(x + r, 0.0, mask=r < n)\n"
        "tl.store(x + r[:, None] * 64 + c[None, :], 0.0)",
        # The range is compared with what was loaded along it, or turned around: no vector is whole anyway.
        "o = tl.arange(0, B)\ntl.store(x + o, 0.0, mask=(o < n) & (tl.load(x + o) > 0))",
        "o = tl.arange(0, B)\ntl.store(x + o, 0.0, mask=o <= n)",
        "o = tl.arange(0, B)\ntl.store(x + o, 0.0, mask=n >= o)",
        "o = tl.arange(0, B)\ntl.store(x + o, 0.0, mask=o == n)",
        # A vector of positions beside tiles whose rows were loaded by it.
        "r = tl.arange(0, 4)\np = tl.load(x + r, mask=r < n)\n"
        "tl.load((x + p * 64)[:, None] + tl.arange(0, B)[None, :])",
        # The compiler was told.
        "n = tl.multiple_of(n, 16)\no = tl.arange(0, B)\ntl.store(x + o, 0.0, mask=o < n)",
    ],
)
def test_a_bound_that_no_vector_needs_is_free(text: str) -> None:
    assert parameter(body(text), "n").contiguity is NONE


@pytest.mark.parametrize(
    "text",
    [
        "o = tl.program_id(0) * B + tl.arange(0, B)\ntl.store(x + o, 0.0, mask=o < n)",
        "o = tl.program_id(0) * B + tl.arange(0, B)\nm = (o < n) & (o >= 0)\ntl.store(x + o, 0.0, mask=m)",
        "for s in range(0, 999, B):\n    o = s + tl.arange(0, B)\n    tl.store(x + o, 0.0, mask=o < n)",
        "p = x\no = tl.arange(0, B)\np += o\ntl.store(p, 0.0, n > o)",
        "o = (tl.program_id(0) * B + tl.arange(0, B)) % n\ntl.load(x + o)",
        "o = tl.program_id(0) * B + tl.arange(0, B)\ntl.store(x + o % 64, 0.0, mask=o < n)",
        "o = tl.arange(0, B)\ntl.store(x + o, 0.0, mask=o < tl.minimum(n, stride))",
        "o = tl.arange(0, B)\no = tl.max_contiguous(tl.where(o < n, o, 0), B)\ntl.store(x + o, 0.0, mask=o < n)",
        "o = tl.arange(0, B)\ntl.store(x + o, 0.0, mask=o // n == stride)",
        "r = tl.arange(0, 4)\nc = tl.max_contiguous(tl.arange(0, B), B)\n"
        "tl.store(x + r[:, None] * stride + c[None, :], 0.0, mask=c[None, :] < n)",
        "p = tl.make_block_ptr(x, (8, n), (64, 1), (0, 0), (8, B), (1, 0))\ntl.load(p, boundary_check=(0, 1))",
    ],
)
def test_a_bound_of_the_contiguous_axis_carries_the_width(text: str) -> None:
    assert MASK in parameter(body(text), "n").contiguity


def test_a_row_stride_carries_the_width() -> None:
    found = body("c = tl.arange(0, B)\ntl.store(x + tl.program_id(0) * stride + c, 0.0, mask=c < n)")
    assert STRIDE in parameter(found, "stride").contiguity


@pytest.mark.parametrize(
    "row",
    [
        "tl.load(x) * stride",
        "tl.where(tl.program_id(0) < 8, tl.program_id(0) * 64, stride)",
        "tl.maximum(stride, 64)",
    ],
)
def test_a_row_that_was_loaded_or_selected_starts_where_its_stride_says(row: str) -> None:
    found = body(f"tl.load(x + {row} + tl.arange(0, B))")
    assert parameter(found, "stride").contiguity & (STRIDE | Contiguity.BASE)


def test_rows_of_either_branch_start_where_their_stride_says() -> None:
    found = body(
        "i = tl.program_id(0)\nif i < 8:\n    row = x + i * n\nelse:\n    row = x + i * stride\n"
        "tl.load(row + tl.arange(0, B))"
    )
    assert all(STRIDE in parameter(found, name).contiguity for name in ("n", "stride"))


@pytest.mark.parametrize(
    "address", ["tl.program_id(0) * stride", "tl.program_id(0) * stride * 16 + tl.arange(0, B)"]
)
def test_a_stride_of_scalars_or_of_multiples_is_free(address: str) -> None:
    assert parameter(body(f"tl.store(x + {address}, 0.0)"), "stride").contiguity is NONE


def test_the_last_of_a_tensors_strides_is_the_contiguous_one() -> None:
    found = kernel(
        """
        @triton.jit
        def f(q, n, d, stride_qn, stride_qd, B: tl.constexpr):
            rows = tl.arange(0, B)
            cols = tl.arange(0, 64)
            at = q + rows[None, :] * stride_qn + cols[:, None] * stride_qd
            tl.load(at, mask=(rows[None, :] < n) & (cols[:, None] < d))
        """
    )
    kept = {each.name: each.contiguity for each in found.parameters}
    assert kept["n"] is NONE
    assert MASK in kept["d"]
    assert Contiguity.UNIT in kept["stride_qd"]


@pytest.mark.parametrize("start", ["tl.load(starts)", "tl.program_id(0)"])
def test_where_rows_start_anywhere_even_the_contiguous_stride_is_free(start: str) -> None:
    source = body(
        f"tl.load(q + {start} + tl.arange(0, 64) * stride_qd)",
        "q, starts, stride_qn, stride_qd, B: tl.constexpr",
    )
    assert parameter(source, "stride_qd").contiguity is NONE


def test_what_a_helper_needs_its_caller_needs() -> None:
    found = kernel(
        """
        @triton.jit
        def fill(x, n, B: tl.constexpr):
            o = tl.arange(0, B)
            tl.store(x + o, 0.0, mask=o < n)
        @triton.jit
        def f(x, n, B: tl.constexpr):
            fill(x, n, B)
        """,
        "f",
    )
    assert MASK in found.parameters[1].contiguity


HELPER = """
        @triton.jit
        def chunk(pointers, position, stride, mask, B: tl.constexpr):
            return tl.load(pointers + position * stride + tl.arange(0, B)[None, :], mask=mask)
        @triton.jit
        def f(x, n, stride, B: tl.constexpr):
            r = tl.arange(0, 4)
            tl.store(x + r, 0.0, mask=r < n)
            chunk((x + r * 64)[:, None], POSITION, stride, (r < n)[:, None], B)
"""


def test_a_helper_is_judged_by_the_shapes_that_it_gets() -> None:
    found = kernel(HELPER.replace("POSITION", "tl.program_id(0)"), "f")
    kept = {each.name: each.contiguity for each in found.parameters}
    assert (
        kept["n"] is NONE
    )  # it bounds the rows of the helper's tile, and a vector that is nothing beside it
    assert STRIDE in kept["stride"]


def test_a_helper_that_calls_itself_ends() -> None:
    found = kernel(
        """
        @triton.jit
        def f(x, n, B: tl.constexpr):
            o = tl.arange(0, B)
            tl.store(x + o, 0.0, mask=o < n)
            f(x, n, B)
            f(x, n, B)
        """
    )
    assert MASK in found.parameters[1].contiguity
