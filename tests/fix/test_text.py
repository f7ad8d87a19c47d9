from __future__ import annotations

import pytest

from jitwatch.fix.text import apply_edits, settle, with_parentheses
from jitwatch.lint.finding import Edit


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
        ('[\n    "a",  # one\n    "X",  # two\n]', '[\n    "a",  # one\n    # two\n]'),
        ('[\n    "a", "X",  # two\n]', '[\n    "a",   # two\n]'),
        ('["a",\n "X"]', '["a",\n ]'),
        ('["X"\n  , "a"]', '["a"]'),
        ('["X"  # one\n  , "a"]', '[  # one\n   "a"]'),
    ],
)
def test_an_element_goes_with_its_comma_and_comments_stay(source: str, rest: str) -> None:
    assert without(source, '"X"') == rest


def test_parentheses_around_an_element_go_with_it() -> None:
    source = b'["a", (("X"))]'
    assert with_parentheses(source, Edit(8, 11, None)) == Edit(6, 13, None)
    assert with_parentheses(b'["X"]', Edit(1, 4, None)) == Edit(1, 4, None)


def test_new_text_takes_the_files_encoding_and_line_ends() -> None:
    assert apply_edits(b"a\r\nb\r\n", [Edit(0, 1, "x\ny")]) == b"x\r\ny\r\nb\r\n"
    assert (
        apply_edits(b"# coding: latin-1\n'\xe9'", [Edit(18, 19, '"\xfc')])
        == b"# coding: latin-1\n\"\xfc\xe9'"
    )
