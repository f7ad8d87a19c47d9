"""Edits applied to the bytes of a file: everything they do not name stays as it is."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable

from jitwatch.lint.finding import Edit


def apply_edits(source: bytes, edits: Iterable[Edit]) -> bytes:
    """Apply edits that do not overlap; new text takes the file's encoding and its kind of line end."""
    newline, encoding = newline_of(source).decode(), encoding_of(source)
    pieces, position = [], 0
    for edit in sorted(edits):
        pieces.append(source[position : edit.start])
        text = (edit.text or "").replace("\n", newline)
        pieces.append(text.encode(encoding, "backslashreplace"))
        position = edit.end
    return b"".join((*pieces, source[position:]))


def settle(source: bytes, edit: Edit) -> Edit:
    """Decide what goes with an element that an edit takes out of a list: its comma, and a line it leaves empty.

    Comments stay. Other edits are returned as they are.
    """
    if edit.text is not None:
        return edit
    start = line_start(source, edit.start)
    starts_line = not source[start : edit.start].strip()
    comma = _COMMA_AFTER.match(source, edit.end)
    if comma and comma[1].strip():  # a comment stands between the element and its comma
        between = comma[1].decode(encoding_of(source)).replace("\r\n", "\n")
        return Edit(edit.start, comma.end(), between)
    end = comma.end() if comma else edit.end
    rest = _REST_OF_LINE.match(source, end)
    if starts_line and rest:
        return Edit(start, rest.end(), "")
    if comma:
        blanks = (_ALL_BLANKS if starts_line else _BLANKS).match(source, end)
        return Edit(edit.start, blanks.end() if blanks else end, "")
    before = _COMMA_BEFORE.search(source, start, edit.start)
    return Edit(before.start() if before else edit.start, edit.end, "")


def with_parentheses(source: bytes, edit: Edit) -> Edit:
    """Let an edit that takes an element out of a list of names take its parentheses too: ``["a", ("b")]``."""
    if edit.text is not None:
        return edit
    start = len(source[: edit.start].rstrip())
    after = _CLOSED.match(source, edit.end)
    if source[start - 1 : start] != b"(" or after is None:
        return edit
    return with_parentheses(source, Edit(start - 1, after.end(), None))


_NEWLINE = re.compile(rb"[\r\n]")
_COMMA_AFTER = re.compile(rb"((?:\s|#[^\r\n]*)*),")
_COMMA_BEFORE = re.compile(rb",[ \t]*\Z")
_REST_OF_LINE = re.compile(rb"[ \t]*(?:\r\n|\r|\n)")
_CLOSED = re.compile(rb"\s*\)")
_BLANKS = re.compile(rb"[ \t]+(?=[^ \t#])")
"""Not those before a comment, which keeps its distance."""
_ALL_BLANKS = re.compile(rb"[ \t]+")
"""Of an element that began its line: what followed it, a comment too, begins the line now."""


def newline_of(source: bytes) -> bytes:
    """The line end that a file has most of."""
    pairs = source.count(b"\r\n")
    counts = {b"\n": source.count(b"\n") - pairs, b"\r\n": pairs, b"\r": source.count(b"\r") - pairs}
    return max(counts, key=lambda each: counts[each])


def line_start(source: bytes, offset: int) -> int:
    """Offset at which the line of an offset starts."""
    return max(source.rfind(b"\n", 0, offset), source.rfind(b"\r", 0, offset)) + 1


def line_end(source: bytes, offset: int) -> int:
    """Offset at which the line of an offset ends, its line end left out."""
    found = _NEWLINE.search(source, offset)
    return found.start() if found else len(source)


def encoding_of(source: bytes) -> str:
    """Encoding that a file declares; the byte order mark is not part of it."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    return "utf-8" if encoding == "utf-8-sig" else encoding


def collide(edit: Edit, others: Iterable[Edit]) -> bool:
    """Whether an edit overlaps or touches another one of the same file."""
    return any(edit.start <= other.end and other.start <= edit.end for other in others)
