"""Which parameters stay among scalars; what must not be called so first."""

from __future__ import annotations

import ast
import textwrap

import pytest

from jitwatch.source.confined import is_confined
from jitwatch.source.touches import Touch

IMPORTS = {"triton": "triton", "tl": "triton.language"}


def confined(body: str, touch: Touch = Touch.ITSELF, signature: str = "n, x, y, q, B, FLAG") -> bool:
    source = f"def kernel({signature}):\n{textwrap.indent(textwrap.dedent(body).strip(), '    ')}"
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    return is_confined(function, "n", touch, IMPORTS)


ROW = "row = tl.program_id(0)\n"
COLUMNS = f"{ROW}at = row * B + tl.arange(0, B)\n"


@pytest.mark.parametrize(
    "body",
    [
        # vector_add: a bound of the vector itself, 2.8 times slower without its divisibility.
        f"{COLUMNS}tl.store(y + at, tl.load(x + at, mask=at < n), mask=at < n)",
        f"{COLUMNS}keep = at < n\nkeep &= row < 7\ntl.store(y + at, 0.0, mask=keep)",
        f"{COLUMNS}if row < n:\n    tl.store(y + at, 0.0, mask=at < n)",
        # A bound of rows is no scalar either: that no vector lies across them takes another proof.
        "rows = tl.arange(0, B)\ntl.store(y + rows[:, None] * B, 0.0, mask=rows[:, None] < n)",
        # Addresses, straight or by way of variables, branches and loops.
        f"{ROW}tl.store(y + row * n, 0.0)",
        f"{ROW}at = row * n\nwhere = y + at\ntl.store(where, 0.0)",
        f"{ROW}row = tl.minimum(row, n - 1)\ntl.store(y + row, 0.0)",
        f"{ROW}last = row if row < n else 0\ntl.store(y + last, 0.0)",
        f"{ROW}p = y\nfor i in range(B):\n    tl.store(p, 0.0)\n    p += n",
        f"{ROW}row, p = row, y + n\ntl.store(p, 0.0)",
        f"{ROW}tl.atomic_add(y + n, 1.0)",
        # Loops: a 1 folds them away.
        f"{ROW}for i in range(n):\n    tl.store(y + row, 0.0)",
        f"{ROW}while n > row:\n    row += 1",
        # What a 1 decides at compile time.
        f"{ROW}if n > 1:\n    tl.store(y + row, 0.0)",
        f"{ROW}if n == q:\n    tl.store(y + row, 0.0)",
        f"{ROW}for i in range(4):\n    if i < n:\n        tl.store(y + row, 0.0)",
        f"{ROW}if row % n < 2:\n    tl.store(y + row, 0.0)",
        f"{ROW}if row // n == 0:\n    tl.store(y + row, 0.0)",
        f"{ROW}tl.store(y + row, tl.load(x + row) * (n - 1))",
        f"{ROW}tl.store(y + row, tl.load(x + row) % n)",
        f"{ROW}tl.store(y + row, (2 - n) * tl.load(x + row))",
        f"{ROW}tl.store(y + row, tl.maximum(tl.load(x + row), n))",
        # A whole vector computed with it.
        f"{COLUMNS}tl.store(y + at, tl.load(x + at) / n)",
        f"{COLUMNS}tl.store(y + at, tl.where(at < n, tl.load(x + at), 0.0))",
        # What is not known.
        f"{ROW}helper(y + row, n)",
        f"{ROW}if helper(row) < n:\n    tl.store(y + row, 0.0)",
        f"{ROW}tl.device_assert(n > row)",
        f"{ROW}n = tl.load(x)\nif row < n:\n    tl.store(y + row, 0.0)",
        f"{ROW}if 0 <= row < n:\n    tl.store(y + row, 0.0)",
        f"{ROW}if n is None:\n    tl.store(y + row, 0.0)",
        f"{ROW}z = tl.zeros([n], tl.float32)",
        f"{ROW}tl.store(y + row, 0.0, cache_modifier=n)",
        f"{ROW}tl.load(x + row, mask=row < 3, other=n)",
        f"{ROW}with tl.async_tasks():\n    if row < n:\n        tl.store(y + row, 0.0)",
        f"{ROW}if (m := n) > row:\n    tl.store(y + m, 0.0)",
        f"{ROW}m = n.dtype",
        f"{ROW}m: tl.constexpr = n",
        f"{ROW}pair = (row, n)\ntl.store(y + pair[1], 0.0)",
        f"{ROW}def inner():\n    return n",
        f"{ROW}return n",
        # A variable that is a vector on one path.
        "m = tl.program_id(0)\nif FLAG:\n    m = tl.arange(0, B)\ntl.store(y + m, 0.0, mask=m < n)",
    ],
)
def test_a_parameter_that_may_matter_is_not_confined(body: str) -> None:
    assert not confined(body)


@pytest.mark.parametrize(
    "body",
    [
        f"{COLUMNS}if row < n:\n    tl.store(y + at, tl.load(x + at) * 2)",
        f"{COLUMNS}if row >= n:\n    return\ntl.store(y + at, tl.load(x + at) * 2)",
        f"{COLUMNS}if FLAG and not (row * 4 + 3 > n):\n    tl.store(y + at, 0.0)",
        f"{COLUMNS}if row < n * B - 1:\n    tl.store(y + at, 0.0)",
        f"{COLUMNS}last = n - 1\nif row == last:\n    tl.store(y + at, 0.0)",
        f"{COLUMNS}if tl.load(x + row).to(tl.int32) < n:\n    tl.store(y + at, 0.0)",
        f"{COLUMNS}inside = row < n\ntl.store(y + at, tl.load(x + at, mask=inside & (at < q), other=0.0), inside)",
        f"{COLUMNS}v = tl.load(x + at)\ntl.store(y + at, tl.where(row < n, tl.exp(v), 0.0)[:, None])",
        f"{COLUMNS}m = tl.max(tl.abs(tl.load(x + at)), axis=0)\ntl.store(y + row, m / n)",
        f"{COLUMNS}m = tl.sum(tl.load(x + at))\nv, k = m * n, 0\ntl.store(y + row, tl.sqrt(v) + 1.0)",
        f"{ROW}tl.store(y + row, n)",
        f"{ROW}tl.store(y + row, n.to(tl.int64) + tl.load(x + row))",
        f"{ROW}tl.atomic_add(y + row, 1.0)",
    ],
)
def test_guards_masks_of_whole_accesses_selections_and_stored_scalars_are_confined(body: str) -> None:
    assert confined(body)


@pytest.mark.parametrize(
    "body",
    [
        f"{ROW}tl.store(y + row, n)",
        f"{ROW}if row < n * 4:\n    tl.store(y + row, 0.0)",
        f"{ROW}tl.store(y + row, tl.load(x + row) / n)",
        f"{ROW}half = n // 2\nif row < half:\n    tl.store(y + row, 0.0)",
    ],
)
def test_a_constexpr_that_is_computed_with_has_another_type_as_an_argument(body: str) -> None:
    assert not confined(body, Touch.CONSTANT)


def test_a_constexpr_that_is_only_compared_is_confined() -> None:
    assert confined(f"{COLUMNS}tl.store(y + at, tl.where(row < n, tl.load(x + at), 0.0))", Touch.CONSTANT)
    assert confined(f"{COLUMNS}if row < n:\n    tl.store(y + at, 0.0, mask=row < n)", Touch.CONSTANT)


@pytest.mark.parametrize(
    "body",
    [
        f"{COLUMNS}tl.load(n + at)",
        f"{COLUMNS}p = n + row\ntl.load(p + tl.arange(0, B))",
        f"{ROW}p = n\nfor i in range(4):\n    tl.load(p)\n    p += tl.arange(0, B)",
        f"{ROW}tl.make_block_ptr(n, (8,), (1,), (0,), (8,), (0,))",
        f"{ROW}tl.load((n + row).to(tl.pointer_type(tl.int64)))",
        f"{ROW}helper(n + row)",
        f"{ROW}if n is not None:\n    tl.load(n + row)",
        f"{ROW}tl.load((n + row)[None])",
        f"{ROW}tl.store(n + helper(row), 0.0)",
    ],
)
def test_a_pointer_that_vectors_may_go_through_is_not_confined(body: str) -> None:
    assert not confined(body, Touch.ADDRESS)


def test_a_pointer_to_single_elements_is_confined() -> None:
    assert confined(f"{ROW}tl.store(y + row, tl.cdiv(tl.load(n + row), B))", Touch.ADDRESS)
    assert confined(f"{ROW}p = n\nif FLAG:\n    p += row * q\ntl.store(p, tl.load(p + 1) + 1)", Touch.ADDRESS)
    loaded = f"{ROW}page = tl.load(n + row).to(tl.int64)\ntl.load(x + page * B + tl.arange(0, B))"
    assert confined(loaded, Touch.ADDRESS)
