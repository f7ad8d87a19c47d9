from __future__ import annotations

import pytest

from jitwatch.lint.edits import apply_edits, fix_once, settle
from jitwatch.lint.finding import Applicability, Edit, Finding


def finding(*edits: Edit, applicability: Applicability = Applicability.SAFE) -> Finding:
    return Finding("a.py", 1, 1, 1, 2, "JW006", "x", None, None, "m", "", applicability, edits)


def without(source: str, element: str) -> str:
    start = source.index(element)
    edit = settle(source.encode(), Edit(start, start + len(element), None))
    return apply_edits(source.encode(), [edit]).decode()


@pytest.mark.parametrize(
    ("source", "rest"),
    [
        ('["X"]', "[]"),
        ('["X",]', "[]"),
        ('["X", "b"]', '["b"]'),
        ('["a", "X"]', '["a"]'),
        ('["a", "X",]', '["a", ]'),
        ('["a" , "X" , "b"]', '["a" , "b"]'),
        ('[\n    "a",\n    "X",\n    "b",\n]', '[\n    "a",\n    "b",\n]'),
        ('[\n    "a",\n    "X"\n]', '[\n    "a",\n]'),
        ('[\r\n    "a",\r\n    "X",\r\n]', '[\r\n    "a",\r\n]'),
        ('[\n    "a",  # one\n    "X",  # two\n]', '[\n    "a",  # one\n      # two\n]'),
        ('[\n    "a", "X",  # two\n]', '[\n    "a",   # two\n]'),
        ('["a",\n "X"]', '["a",\n ]'),
    ],
)
def test_an_element_goes_with_its_comma_and_comments_stay(source: str, rest: str) -> None:
    assert without(source, '"X"') == rest


def test_new_text_takes_the_files_encoding_and_line_ends() -> None:
    assert apply_edits(b"a\r\nb\r\n", [Edit(0, 1, "x\ny")]) == b"x\r\ny\r\nb\r\n"
    assert (
        apply_edits(b"# coding: latin-1\n'\xe9'", [Edit(18, 19, '"\xfc')])
        == b"# coding: latin-1\n\"\xfc\xe9'"
    )


def test_fixes_that_touch_wait_for_the_next_pass() -> None:
    first, second = finding(Edit(0, 2, "x")), finding(Edit(2, 3, "y"))
    fixed, applied = fix_once(b"abc", [first, second])
    assert (fixed, applied) == (b"xc", [first])


def test_a_fix_goes_in_whole_or_not_at_all() -> None:
    whole = finding(Edit(0, 1, "x"), Edit(4, 5, "y"))
    other = finding(Edit(4, 5, "z"), Edit(8, 9, "z"))
    assert fix_once(b"a b c d e", [whole, other])[0] == b"x b y d e"


def test_the_same_edit_of_two_findings_is_made_once() -> None:
    assert fix_once(b"ab", [finding(Edit(0, 1, "x")), finding(Edit(0, 1, "x"))])[0] == b"xb"


def test_suppressed_displayed_and_unasked_for_fixes_stay_out() -> None:
    edit = Edit(0, 1, "x")
    shown = finding(edit, applicability=Applicability.DISPLAY)
    unsafe = finding(edit, applicability=Applicability.UNSAFE)
    assert fix_once(b"a", [shown]) == (b"a", [])
    assert fix_once(b"a", [unsafe], {Applicability.SAFE}) == (b"a", [])
    assert fix_once(b"a", [unsafe])[0] == b"x"
