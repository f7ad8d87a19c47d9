"""A file as statements and comments: which lines belong together, and what stands on a line alone."""

from __future__ import annotations

import io
import re
import tokenize
from bisect import bisect_left
from dataclasses import dataclass, field

from jitwatch.lint.lines import Lines

_LAYOUT_TOKENS = frozenset(
    (
        *(tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
        *(tokenize.ENCODING, tokenize.ENDMARKER),
    )
)

_LONE_RETURN = re.compile(rb"\r(?!\n)")
"""Ends a line for Python, and for tokenize does not."""


@dataclass
class Statement:
    """A logical line; decorators and the header of their definition count as one."""

    first: int
    last: int
    head: frozenset[int] = frozenset()
    """Of a definition: its decorators' lines, and the first and the last line of its header."""


@dataclass
class Statements:
    """The statements and comments of a file that is valid Python."""

    source: bytes
    comments: list[tokenize.TokenInfo] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    code_lines: list[int] = field(default_factory=list)
    """Lines on which a token other than a comment starts or ends, ascending."""
    string_lines: set[int] = field(default_factory=set)
    """Lines that end inside a string, where no comment can be put."""

    def __post_init__(self) -> None:
        self.lines = Lines(self.source)
        self._read()

    def statement_at(self, line: int) -> Statement | None:
        """Find the statement that a line belongs to."""
        return next((each for each in self.statements if each.first <= line <= each.last), None)

    def code_line_from(self, line: int) -> int | None:
        """First line from ``line`` on that has more than a comment."""
        following = bisect_left(self.code_lines, line)
        return self.code_lines[following] if following < len(self.code_lines) else None

    def _read(self) -> None:
        code_lines: set[int] = set()
        opening: tokenize.TokenInfo | None = None
        decorated: Statement | None = None
        try:
            for token in tokenize.tokenize(io.BytesIO(_LONE_RETURN.sub(b"\n", self.source)).readline):
                if token.type == tokenize.COMMENT:
                    self.comments.append(token)
                elif token.type == tokenize.NEWLINE and opening is not None:
                    decorated = self._close(opening, token.end[0], decorated)
                    opening = None
                elif token.type not in _LAYOUT_TOKENS:
                    opening = opening or token
                    code_lines.update((token.start[0], token.end[0]))
                    self.string_lines.update(range(token.start[0], token.end[0]))
        except (tokenize.TokenError, SyntaxError):
            pass  # the rest of a file that the parser rejects anyhow
        self.code_lines = sorted(code_lines)

    def _close(self, opening: tokenize.TokenInfo, last: int, decorated: Statement | None) -> Statement | None:
        """End a logical line; returns the definition that goes on after it, when it is a decorator."""
        first = opening.start[0]
        is_decorator = opening.string == "@"
        head: frozenset[int] = frozenset()
        if is_decorator:
            head = frozenset(range(first, last + 1))
        elif opening.string in ("def", "async", "class"):
            head = frozenset((first, last))
        if decorated is None:
            decorated = Statement(first, last, head)
            self.statements.append(decorated)
        else:
            decorated.last = last
            decorated.head |= head
        return decorated if is_decorator else None
