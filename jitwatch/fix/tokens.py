"""Tokens of a part of a file, with byte offsets into the file."""

from __future__ import annotations

import re
import tokenize
from collections.abc import Iterator
from typing import NamedTuple

from jitwatch.fix.text import encoding_of

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_SILENT = frozenset({tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT})
OPENING, CLOSING = frozenset("([{"), frozenset(")]}")


class Token(NamedTuple):
    """One token; ``source[start:end]`` is its text."""

    kind: int
    text: str
    start: int
    end: int

    @property
    def is_code(self) -> bool:
        """Whether it is more than layout and comments."""
        return self.kind not in _SILENT

    @property
    def is_comment(self) -> bool:
        """Whether it is a comment."""
        return self.kind == tokenize.COMMENT

    def step(self) -> int:
        """1 for an opening bracket, -1 for a closing one, else 0."""
        if self.kind != tokenize.OP:
            return 0
        return (self.text in OPENING) - (self.text in CLOSING)


def tokens(source: bytes, start: int, end: int | None = None) -> Iterator[Token]:
    """Yield the tokens from the offset ``start`` on, which must be the start of one.

    Raises tokenize.TokenError, IndentationError or SyntaxError where it runs into what is no Python.
    """
    encoding = encoding_of(source)
    lines = _LINE.findall(source[start:end].decode(encoding))
    offsets = [start]
    for line in lines:
        offsets.append(offsets[-1] + len(line.encode(encoding)))

    def place(row: int, column: int) -> int:
        if row > len(lines):
            return offsets[-1]
        return offsets[row - 1] + len(lines[row - 1][:column].encode(encoding))

    for each in tokenize.generate_tokens(iter([*lines, ""]).__next__):
        if each.type == tokenize.ENDMARKER:
            return
        yield Token(each.type, each.string, place(*each.start), place(*each.end))
