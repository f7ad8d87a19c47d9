"""Breaks a decorator over lines when an edit makes it too long for its file."""

from __future__ import annotations

from collections.abc import Sequence

from jitwatch.fix.brackets import Brackets
from jitwatch.fix.text import apply_edits, encoding_of
from jitwatch.fix.tokens import tokens
from jitwatch.lint.finding import Edit

SHORTEST, LONGEST = 88, 120
"""A file's own limit is its longest line, within these: black's, and what a formatter is ever set to."""


def fitted(source: bytes, start: int, end: int, edits: Sequence[Edit]) -> list[Edit]:
    """Edits to the code at ``start:end``, with brackets broken where a line would get longer than the file's are."""
    limit = line_limit(source)
    old_lines = set(source.splitlines())
    text = apply_edits(source, edits)
    behind = len(source) - end
    changed = False
    while opening := _too_long(text, start, len(text) - behind, limit, old_lines):
        text = broken(text, Brackets.at(text, opening))
        changed = True
    if not changed:
        return list(edits)
    new = text[start : len(text) - behind].decode(encoding_of(source)).replace("\r\n", "\n")
    return [Edit(start, end, new)]


def line_limit(source: bytes) -> int:
    """Length that the lines of a file keep to."""
    lengths = (len(line.decode(errors="replace")) for line in source.splitlines())
    return max((length for length in lengths if SHORTEST < length <= LONGEST), default=SHORTEST)


def broken(source: bytes, brackets: Brackets) -> bytes:
    """The source with each element of a list on a line of its own."""
    line = source[source.rfind(b"\n", 0, brackets.opening) + 1 : brackets.opening]
    indentation = line[: len(line) - len(line.lstrip())]
    newline = b"\r\n" if b"\r\n" in source else b"\n"
    step = b"\t" if b"\t" in indentation else b"    "
    elements = (newline + indentation + step + source[a:b] + b"," for a, b in brackets.elements)
    inside = b"".join(elements) + newline + indentation
    return source[: brackets.opening + 1] + inside + source[brackets.closing :]


def _too_long(source: bytes, start: int, end: int, limit: int, old_lines: set[bytes]) -> int | None:
    """Offset of the outermost list that stands on one line, which is new and too long."""
    for token in tokens(source, start, end):
        if token.step() != 1:
            continue
        line_start = source.rfind(b"\n", 0, token.start) + 1
        line = source[line_start : max(source.find(b"\n", token.start), token.end)].rstrip(b"\r\n")
        if len(line.decode(errors="replace")) <= limit or line in old_lines:
            continue
        brackets = Brackets.at(source, token.start)
        if brackets.on_one_line and brackets.elements:
            return token.start
    return None
