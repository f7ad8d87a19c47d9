"""Formats of the findings: one module each, with ``render(outcome, look) -> lines``."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from jitwatch.lint.engine import Outcome

FORMATS = ("full", "concise", "json", "github", "sarif")
"""Names, which are those of the modules."""

HUMAN = frozenset({"full", "concise"})
"""Formats that a person reads: they end with the next command."""


@dataclass(frozen=True)
class Look:
    """How text is set out."""

    colour: bool = False

    def bold(self, text: str) -> str:
        """Set in bold."""
        return self._sgr("1", text)

    def red(self, text: str) -> str:
        """Set as what is wrong."""
        return self._sgr("1;31", text)

    def blue(self, text: str) -> str:
        """Set as scaffolding."""
        return self._sgr("34", text)

    def green(self, text: str) -> str:
        """Set as the cure."""
        return self._sgr("32", text)

    def _sgr(self, code: str, text: str) -> str:
        # By hand: rich takes 45 ms to import and 1 ms a finding, in a command that answers in 400.
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and text else text


class Renderer(Protocol):
    """What a format's module is."""

    def render(self, outcome: Outcome, look: Look) -> Iterator[str]:
        """Yield the lines of the output."""


def renderer(name: str) -> Renderer:
    """Import a format's module."""
    found: Renderer = importlib.import_module(f"{__name__}.{name}")
    return found
