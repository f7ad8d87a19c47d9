"""Comments that say: leave this finding."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Suppression:
    """One code in one comment."""

    code: str
    line: int
    column: int
    """Of the code itself, from 1."""
    end_column: int
    lines: range
    """Lines whose findings it suppresses."""
    reason: str = ""
    used: bool = False
