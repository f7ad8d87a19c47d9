from __future__ import annotations

import textwrap

import pytest

from jitwatch.lint.registry import all_rules
from jitwatch.lint.suppressions import Suppression, find_suppressions


def find(source: str | bytes) -> list[Suppression]:
    data = source if isinstance(source, bytes) else textwrap.dedent(source).encode()
    return find_suppressions(data, all_rules())


@pytest.mark.parametrize(
    "source",
    [
        "x = 1  # noqa",
        "x = 1  # noqa: E501",
        "x = '# jitwatch: ignore[JW006]'",
        "x = '''\n# noqa: JW006\n'''",
        "x = 1  # this jitwatch: ignores nothing",
        "",
    ],
)
def test_other_comments_and_strings_suppress_nothing(source: str) -> None:
    assert find(source) == []


def test_a_comment_names_codes_and_a_reason() -> None:
    (found,) = find("x = 1  # jitwatch: ignore[JW006, JW007] one length only\n")
    assert (found.codes, found.reason, found.form) == (("JW006", "JW007"), "one length only", "ignore")
    assert (found.line, found.column, found.end_column) == (1, 8, 56)


def test_a_noqa_is_shared_with_other_linters() -> None:
    (found,) = find("x = 1  # noqa: E501,JW006 F401\n")
    assert (found.codes, found.foreign) == (("JW006",), ("E501", "F401"))


def test_two_comments_in_one_line_are_two() -> None:
    first, second = find("x = 1  # noqa: JW007  # jitwatch: ignore[JW006] why\n")
    assert (first.codes, second.codes) == (("JW007",), ("JW006",))
    assert first.end <= second.start


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_comment_ends_with_its_line_whatever_ends_that(end: str) -> None:
    (found,) = find(end.join(["# of a file", "x = 1  # jitwatch: ignore[JW006] why", "y = 2", ""]).encode())
    assert (found.line, found.reason) == (2, "why")


HEADER = """\
    @decorator  # line 1
    @triton.jit(
        do_not_specialize=["n"],
    )
    def kernel(
        x,
        n,
        BLOCK: tl.constexpr,
    ):
        store(
            x,
            n,
        )
        return None
"""


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        (1, range(1, 10)),
        (3, range(1, 10)),
        (5, range(1, 10)),
        (7, range(7, 8)),
        (9, range(1, 10)),
        (10, range(10, 14)),
        (12, range(10, 14)),
        (14, range(14, 15)),
    ],
)
def test_a_trailing_comment_speaks_for_statement_header_or_parameter(line: int, lines: range) -> None:
    text = textwrap.dedent(HEADER).splitlines()
    text[line - 1] = text[line - 1].partition("  #")[0] + "  # jitwatch: ignore[JW006]"
    (found,) = find("\n".join(text) + "\n")
    assert found.lines == lines


@pytest.mark.parametrize(
    ("above", "lines"), [(1, range(2, 11)), (7, range(8, 9)), (10, range(11, 15)), (14, range(15, 16))]
)
def test_a_comment_in_a_line_of_its_own_speaks_for_what_follows(above: int, lines: range) -> None:
    text = textwrap.dedent(HEADER).splitlines()
    text.insert(above - 1, "    # jitwatch: ignore[JW006]" if above > 5 else "# jitwatch: ignore[JW006]")
    (found,) = find("\n".join(text) + "\n")
    assert found.lines == lines


@pytest.mark.parametrize(
    ("source", "encoding"),
    [
        ("# héé\nx = 'ü'  # jitwatch: ignore[JW006]\n", "utf-8"),
        ("# héé\r\nx = 'ü'  # jitwatch: ignore[JW006]\r\n", "utf-8"),
        ("x = 'ü'  # jitwatch: ignore[JW006]\ny = 2\n", "utf-8-sig"),
        ("# -*- coding: latin-1 -*-\nx = 'ü'  # jitwatch: ignore[JW006]\n", "latin-1"),
        ("if x:\n\ty = 'ü'\t# jitwatch: ignore[JW006]", "utf-8"),
    ],
)
def test_byte_offsets_point_at_the_comment_in_every_encoding(source: str, encoding: str) -> None:
    data = source.encode(encoding)
    (found,) = find(data)
    assert data[found.start : found.end] == b"# jitwatch: ignore[JW006]"
    begin, end = found.removal
    rest = (data[:begin] + data[end:]).decode(encoding)
    assert rest == source.replace("  # jitwatch: ignore[JW006]", "").replace(
        "\t# jitwatch: ignore[JW006]", ""
    )


def test_a_comment_alone_on_its_line_is_removed_with_the_line() -> None:
    data = b"x = 1\n    # noqa: JW006\ny = 2\n"
    (found,) = find(data)
    begin, end = found.removal
    assert data[:begin] + data[end:] == b"x = 1\ny = 2\n"
