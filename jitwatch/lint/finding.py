"""What a rule reports: one place in one file, why it matters, and the edit that would mend it."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from jitwatch.fix.changes import Change


class Applicability(str, enum.Enum):
    """What a fix promises."""

    SAFE = "safe"
    """The program does the same afterwards, in every case."""
    UNSAFE = "unsafe"
    """Nearly always what is wanted; somebody has to look at the result, or verify it."""
    DISPLAY = "display"
    """Shown, never applied."""


class Edit(NamedTuple):
    """Replace the bytes ``start:end`` of a file with ``text`` (``start == end`` inserts)."""

    start: int
    end: int
    text: str | None
    """None takes an element out of a list, with its comma: the engine, which has the bytes, sees which one."""
    path: str = ""
    """Of another file than the finding's."""


class Place(NamedTuple):
    """A range of displayed text: lines and columns from 1, the end one past the last character."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True)
class Evidence:
    """What a profiled run says about a finding."""

    ran: bool
    """The kernel was launched in the run."""
    recompiles: int = 0
    """Those that the finding's argument (or function, or option) caused."""
    seconds: float = 0.0
    """Stall of those."""
    example: str = ""
    """One of them, such as ``num_tokens: 48 (÷16) → 62 (other)``."""

    @property
    def confirmed(self) -> bool:
        """Whether the run shows what the finding says."""
        return self.recompiles > 0

    def __str__(self) -> str:
        if not self.ran:
            return "the kernel was not launched in the run"
        if not self.confirmed:
            return "no recompile of this kind in the run"
        noun = "recompile" if self.recompiles == 1 else "recompiles"
        example = f" ({self.example})" if self.example else ""
        return f"{self.recompiles} {noun}, {self.seconds:.2g} s{example}"


@dataclass(frozen=True, order=True)
class Finding:
    """One violation of one rule. Sorts by file, then by place."""

    path: str
    line: int
    """From 1."""
    column: int
    """From 1, in characters."""
    end_line: int
    end_column: int
    """One past the last character."""
    code: str
    name: str
    kernel: str | None
    """Name of the ``@triton.jit`` function it is about, None when it is about no single one."""
    parameter: str | None
    message: str
    """One sentence: what happens here and what it costs."""
    remedy: str = ""
    """What to write instead."""
    applicability: Applicability = Applicability.DISPLAY
    edits: tuple[Edit, ...] = ()
    """All of them or none: they belong to one change, and do not overlap."""
    change: Change | None = field(default=None, compare=False)
    """What the edits do to a kernel; None for an edit of another kind. A rule gives the one or the other."""
    suppressed: bool = False
    """A comment in the source says to leave it. Kept: SARIF reports it, JW100 counts it."""
    reason: str = ""
    """The words after the suppressing comment's code."""
    proven: bool = field(default=False, compare=False)
    """Both forms were compiled: the applicability and the remedy say what came of it."""
    evidence: Evidence | None = field(default=None, compare=False)
    """What a run says about it, when one was given."""

    @property
    def is_provable(self) -> bool:
        """Whether compiling both forms would tell more about its fix, and nobody has done so."""
        return self.change is not None and self.change.kind.is_compiled and not self.proven
