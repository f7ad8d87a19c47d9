"""Places of a file as the protocol counts them: lines from 0, columns in the code units agreed with the editor."""

from __future__ import annotations

from lsprotocol.types import Position, Range
from pygls.workspace import PositionCodec

from jitwatch.lint.finding import Finding, Place
from jitwatch.lint.lines import Lines


class Text:
    """A file's bytes, with the way from and to positions."""

    def __init__(self, source: bytes, codec: PositionCodec) -> None:
        self.source = source
        self.lines = Lines(source)
        self._codec = codec

    def position(self, line: int, column: int) -> Position:
        """Position of a displayed place, both from 1."""
        before = self.lines.text(line)[: column - 1]
        return Position(line - 1, self._codec.client_num_units(before))

    def range(self, stretch: Finding | Place) -> Range:
        """Range of a displayed stretch."""
        return Range(
            self.position(stretch.line, stretch.column), self.position(stretch.end_line, stretch.end_column)
        )

    def range_of_bytes(self, start: int, end: int) -> Range:
        """Range of bytes of the file."""
        return Range(self.position(*self.lines.place(start)), self.position(*self.lines.place(end)))

    def place(self, position: Position) -> tuple[int, int]:
        """Displayed line and column, both from 1, of a position; one beyond the line's end is at its end."""
        units, text = 0, self.lines.text(position.line + 1).rstrip("\r\n")
        for column, character in enumerate(text, start=1):
            units += self._codec.client_num_units(character)
            if units > position.character:
                return position.line + 1, column
        return position.line + 1, len(text) + 1

    def new_text(self, text: str | None) -> str:
        """Text to put in, with the file's kind of line end."""
        return (text or "").replace("\n", "\r\n" if b"\r\n" in self.source else "\n")
