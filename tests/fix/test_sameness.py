"""The comparison of files before and after their fixes finds what no fix says; tampered files first."""

from __future__ import annotations

import pytest

from tests.fix.fixing import PREAMBLE, fix_and_record
from tests.fix.said import Record
from tests.fix.sameness import unsaid

PROGRAM = (
    PREAMBLE
    + """@triton.autotune([triton.Config({"W": 64}), triton.Config({"W": 32})], key=["n_tokens", "m"])
@triton.jit(debug=True)
def kernel(x, n_tokens, m: tl.constexpr, n_rows, width: tl.constexpr = 4, W: tl.constexpr = 8):  # rows
    for row in range(n_tokens + m):
        tl.store(x + row * width + tl.arange(0, W), 0.0)


def launch(x, y):
    kernel[(1,)](x, x.shape[0], y.shape[0], n_rows=y.shape[1])
"""
)


@pytest.fixture(scope="module")
def fixed() -> tuple[str, Record]:
    made, record = fix_and_record({"a.py": PROGRAM.encode()})
    return made.after["a.py"].decode(), record


def complaints(after: str, record: Record, before: str = PROGRAM) -> list[str]:
    return list(unsaid("a.py", before.encode(), after.encode(), record))


@pytest.mark.parametrize(
    ("text", "instead", "complaint"),
    [
        (
            'do_not_specialize=["n_tokens", "m"]',
            'do_not_specialize=["n_tokens"]',
            "kernel.m runtime_argument",
        ),
        ('"m"]', '"m", "m"]', "in its lists [2] times"),
        ('"m"]', '"m", "x"]', "became"),
        ("debug=True", "debug=False", "True became False"),
        ("key=[]", 'key=["m"]', "kernel.m leave_autotune_key: was in the key 1 times, now 1"),
        ("m, width", "m: tl.constexpr, width", "annotation 'tl.constexpr' became 'tl.constexpr'"),
        ("width: tl.constexpr = 4", "width = 4", "became"),
        ("width: tl.constexpr = 4", "width: tl.constexpr", "became"),
        ("m, width", "m, n_rows, width", "was no parameter, or still is one"),
        ("y.shape[0])", "y.shape[0], n_rows=y.shape[1])", "became"),
        ("x.shape[0], y.shape[0]", "y.shape[0], x.shape[0]", "'x' became 'y'"),
        ("n_tokens + m)", "m + n_tokens)", "'n_tokens' became 'm'"),
        ("  # rows", "", "comments"),
        ("\n", "\r\n", "line ends"),
    ],
)
def test_whatever_no_fix_says_is_found(
    fixed: tuple[str, Record], text: str, instead: str, complaint: str
) -> None:
    after, record = fixed
    assert text in after
    assert complaint in " ".join(complaints(after.replace(text, instead), record))


def test_a_fix_that_was_said_and_not_made_is_found(fixed: tuple[str, Record]) -> None:
    found = " ".join(complaints(PROGRAM, fixed[1]))
    for each in ("n_tokens do_not_specialize", "m runtime_argument", "n_rows drop", "m leave_autotune_key"):
        assert f"kernel.{each}" in found


def test_the_fixes_that_were_made_are_what_was_said(fixed: tuple[str, Record]) -> None:
    after, record = fixed
    assert after != PROGRAM
    assert complaints(after, record) == []
