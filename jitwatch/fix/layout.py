"""Breaks a decorator over lines when an edit makes it too long for its file."""

from __future__ import annotations

from collections.abc import Sequence

from jitwatch.fix.brackets import Brackets
from jitwatch.fix.text import apply_edits, encoding_of, line_end, line_start, newline_of
from jitwatch.fix.tokens import Token, tokens
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
    line = source[line_start(source, brackets.opening) : brackets.opening]
    indentation = line[: len(line) - len(line.lstrip())]
    newline = newline_of(source)
    step = b"\t" if b"\t" in indentation else b"    "
    elements = (newline + indentation + step + source[a:b] + b"," for a, b in brackets.elements)
    inside = b"".join(elements) + newline + indentation
    return source[: brackets.opening + 1] + inside + source[brackets.closing :]


def _too_long(source: bytes, start: int, end: int, limit: int, old_lines: set[bytes]) -> int | None:
    """Offset of the outermost list that stands on one line, which is new and too long."""
    before: Token | None = None
    for token in tokens(source, start, end):
        if token.step() == 1 and _is_list(source, token, before):
            line = source[line_start(source, token.start) : line_end(source, token.start)]
            if len(line.decode(errors="replace")) > limit and line not in old_lines:
                brackets = Brackets.at(source, token.start)
                if brackets.on_one_line and brackets.elements:
                    return token.start
        before = token if token.is_code else before
    return None


def _is_list(source: bytes, opening: Token, before: Token | None) -> bool:
    """Whether a comma may be added at the end: what brackets hold is no comprehension, group or subscript."""
    depth = 0
    for token in tokens(source, opening.start):
        depth += token.step()
        if depth == 1 and token.text == "for":
            return False
        if depth == 0 and token.is_code:
            break
    follows = before is not None and before.ends_operand
    if opening.text == "[":
        return not follows
    brackets = Brackets.at(source, opening.start)
    return opening.text == "{" or follows or len(brackets.elements) > 1 or brackets.trailing is not None
