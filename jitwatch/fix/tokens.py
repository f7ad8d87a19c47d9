"""Tokens of a part of a file, with byte offsets into the file."""

from __future__ import annotations

import keyword
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

    @property
    def ends_operand(self) -> bool:
        """Whether a bracket that follows calls or subscripts what ends here."""
        if self.kind == tokenize.NAME:
            return not keyword.iskeyword(self.text)
        return self.text in CLOSING or self.kind == tokenize.STRING

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

    # tokenize takes a lone carriage return for an error, Python itself for the end of a line.
    read = iter([*(f"{line[:-1]}\n" if line.endswith("\r") else line for line in lines), ""])
    for each in tokenize.generate_tokens(read.__next__):
        if each.type == tokenize.ENDMARKER:
            return
        yield Token(each.type, each.string, place(*each.start), place(*each.end))
