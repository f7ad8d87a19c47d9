"""A bracketed list of elements between commas: a list, a tuple, a call's arguments, a signature.

Elements are told apart by their commas and not by the syntax tree, whose nodes leave out the parentheses around
them: in ``k[grid](x, (T + 1))`` the second argument is ``(T + 1)``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from jitwatch.fix.text import line_end, line_start, settle
from jitwatch.fix.tokens import Token, tokens
from jitwatch.lint.finding import Edit


@dataclass(frozen=True)
class Brackets:
    """One list, by byte offsets into its file."""

    source: bytes
    opening: int
    """Of the opening bracket."""
    closing: int
    """Of the closing one."""
    elements: tuple[tuple[int, int], ...]
    """Start and end of each element, without comments and commas around it."""
    trailing: int | None
    """Offset of the comma after the last element."""
    commented: bool
    """A comment stands inside."""

    @classmethod
    def at(cls, source: bytes, opening: int) -> Brackets:
        """Read the list whose opening bracket is at an offset. Raises SyntaxError when it does not end."""
        reader = _Reader()
        for token in tokens(source, opening):
            if reader.take(token):
                return cls(
                    source,
                    opening,
                    token.start,
                    tuple(reader.elements),
                    reader.comma if reader.elements else None,
                    reader.commented,
                )
        raise SyntaxError("a bracket is not closed")

    def text(self, index: int) -> str:
        """Source of an element."""
        start, end = self.elements[index]
        return self.source[start:end].decode(errors="replace")

    def index_at(self, offset: int) -> int:
        """Number of the element that holds an offset. Raises IndexError."""
        return [start <= offset < end for start, end in self.elements].index(True)

    @property
    def on_one_line(self) -> bool:
        """Whether no line ends inside."""
        return line_end(self.source, self.opening) >= self.closing

    def appending(self, texts: Sequence[str]) -> list[Edit]:
        """Edits that add elements at the end, in the layout that the others have."""
        if not texts:
            return []
        if not self.elements:
            inside = self.opening + 1
            only_space = not self.source[inside : self.closing].strip()
            end = self.closing if only_space and self.on_one_line else inside
            return [Edit(inside, end, ", ".join(texts))]
        start, end = self.elements[-1]
        line_end = _end_of_line(self.source, self.trailing or end)
        if self.closing < line_end or not self._starts_line(start):
            return [Edit(end, end, "".join(f", {text}" for text in texts))]
        indentation = self.source[line_start(self.source, start) : start].decode(errors="replace")
        if self.trailing is not None:
            return [Edit(line_end, line_end, "".join(f"\n{indentation}{text}," for text in texts))]
        added = "".join(f",\n{indentation}{text}" for text in texts)
        if line_end == end:
            return [Edit(end, end, added)]
        return [Edit(end, end, ","), Edit(line_end, line_end, added[1:])]  # the comment between them stays

    def removing(self, indices: Collection[int], *, is_tuple: bool = False) -> list[Edit]:
        """Edits that take elements out, each with its comma; comments stay.

        ``is_tuple``: a single element that remains keeps, or gets, the comma that makes it a tuple.
        """
        kept = [index for index in range(len(self.elements)) if index not in indices]
        last = kept[-1] if kept else -1
        edits = [self._removal(index) for index in sorted(indices) if index < last or self.trailing]
        tail = [] if self.trailing else [index for index in sorted(indices) if index > last]
        begin = self.elements[last][1] if kept else self.elements[0][0]
        if tail and line_end(self.source, begin) >= self.elements[-1][1]:
            edits.append(Edit(begin, self.elements[-1][1], ""))
        else:
            edits += [self._removal(index) for index in tail]
        if is_tuple and len(kept) == 1 and not self.trailing:
            edits = self._keep_comma(kept[0], edits)
        return edits

    def _removal(self, index: int) -> Edit:
        start, end = self.elements[index]
        return settle(self.source, Edit(start, end, None))

    def _keep_comma(self, index: int, edits: Iterable[Edit]) -> list[Edit]:
        end = self.elements[index][1]
        return [edit for edit in edits if edit.start > end or edit.end <= end] + [
            Edit(end, max((edit.end for edit in edits if edit.start <= end < edit.end), default=end), ",")
        ]

    def _starts_line(self, offset: int) -> bool:
        return not self.source[line_start(self.source, offset) : offset].strip()


class _Reader:
    """Collects the elements from the tokens of a list."""

    def __init__(self) -> None:
        self.elements: list[tuple[int, int]] = []
        self.comma: int | None = None
        self.commented = False
        self._depth = 0
        self._start: int | None = None
        self._end = 0

    def take(self, token: Token) -> bool:
        """Take the next token; True when it closes the list."""
        self.commented |= token.is_comment
        if not token.is_code:
            return False
        self._depth += token.step()
        if self._depth == 0 or (self._depth == 1 and token.text == ","):
            self._finish(token)
            return self._depth == 0
        if not (self._depth == 1 and token.step() == 1):
            self._add(token)
        return False

    def _add(self, token: Token) -> None:
        self._start = token.start if self._start is None else self._start
        self._end, self.comma = token.end, None

    def _finish(self, token: Token) -> None:
        if self._start is not None:
            self.elements.append((self._start, self._end))
        self._start = None
        if self._depth:
            self.comma = token.start


def _end_of_line(source: bytes, offset: int) -> int:
    """Offset of the end of the line, without its line end and the blanks before that."""
    return offset + len(source[offset : line_end(source, offset)].rstrip())
