"""Counts that an assembly reader fills in, line by line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from jitwatch.verify.figures import Access

BLOCK = re.compile(r"^(?:\$L__|\.L)BB\d+_\d+:|^(?://|;) %bb\.\d+:")
"""First line of a basic block in LLVM's output, whatever the target."""

HEADER = re.compile(r"(?:This|Inner) (?:Inner )?Loop Header")


@dataclass(slots=True)
class Tally:
    """What was counted so far."""

    lines: list[str] = field(default_factory=list)
    """Instructions as written, which the digest is made of."""
    accesses: dict[Access, dict[int, int]] = field(default_factory=dict)
    singles: dict[Access, int] = field(default_factory=dict)
    matrix: dict[str, int] = field(default_factory=dict)
    loops: int = 0
    looped: int = 0
    """Instructions inside loops."""
    _in_loop: bool = False

    def read_layout(self, line: str) -> None:
        """Follow LLVM's own notes on loops (``=>This Inner Loop Header: Depth=1``, ``in Loop: Header=BB0_2``).

        A backward branch would not do: on AMD, cold blocks are laid out before the code that jumps to them.
        """
        if BLOCK.match(line):
            self._in_loop = False
        if HEADER.search(line):
            self.loops += 1
            self._in_loop = True
        elif "in Loop: Header" in line:
            self._in_loop = True

    def instruction(self, text: str) -> None:
        """Count one instruction."""
        self.lines.append(text)
        self.looped += self._in_loop

    def access(self, kind: Access, bits: int, *, single: bool = False) -> None:
        """Count one access; `single`: of one 64-bit element."""
        widths = self.accesses.setdefault(kind, {})
        widths[bits] = widths.get(bits, 0) + 1
        if single:
            self.singles[kind] = self.singles.get(kind, 0) + 1

    def multiply(self, name: str) -> None:
        """Count one matrix instruction."""
        self.matrix[name] = self.matrix.get(name, 0) + 1
