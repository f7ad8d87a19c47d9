"""A file's lines as text, and the way between byte offsets and displayed places."""

from __future__ import annotations

import re
from bisect import bisect_right

from jitwatch.fix.text import encoding_of

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_BOM = b"\xef\xbb\xbf"


class Lines:
    """Lines counted from 1 as Python counts them: ``\\n``, ``\\r\\n`` and ``\\r`` end one."""

    def __init__(self, source: bytes) -> None:
        try:
            self.encoding = encoding_of(source)
        except SyntaxError:
            self.encoding = "utf-8"
        start = len(_BOM) if source.startswith(_BOM) else 0
        self._raw = _LINE.findall(source, start)
        self._offsets = [start]
        for line in self._raw:
            self._offsets.append(self._offsets[-1] + len(line))

    def __len__(self) -> int:
        return len(self._raw)

    def text(self, line: int) -> str:
        """Return a line with its line end; empty beyond the last."""
        return self._raw[line - 1].decode(self.encoding, "replace") if 1 <= line <= len(self) else ""

    def offset(self, line: int, column: int) -> int:
        """Byte offset of a place: line from 1, column from 0 in characters."""
        return self._offsets[line - 1] + len(self.text(line)[:column].encode(self.encoding, "replace"))

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1, of a byte offset."""
        line = min(bisect_right(self._offsets, offset), max(len(self), 1))
        before = self._raw[line - 1][: offset - self._offsets[line - 1]] if self._raw else b""
        return line, len(before.decode(self.encoding, "replace")) + 1
