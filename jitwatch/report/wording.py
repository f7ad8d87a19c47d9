"""How a report writes seconds, counts and places."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import PurePath

from jitwatch.rundir import Site
from jitwatch.specialization import Value, show_value

ASCII = str.maketrans({"÷": "%", "×": "x", "≤": "<", "…": "~", "·": "-", "✓": "+"})
"""One character for one, so that columns stay columns where the locale has no more than ASCII."""


def to_ascii(text: str) -> str:
    """Nearest ASCII of the report's own signs, as wide as before: ``48 → 62`` becomes ``48-> 62``."""
    return text.replace(" →", "->").translate(ASCII)


def seconds(value: float) -> str:
    """``12 ms``, ``0.85 s``, ``9.8 s``, ``41 s``, ``3 min 20 s``."""
    if value >= 120:
        return f"{int(value // 60)} min {int(value % 60)} s"
    if value >= 9.95:
        return f"{value:.0f} s" if value >= 99.5 else f"{value:.1f} s"
    return f"{value:.2f} s" if value >= 0.0995 else f"{value * 1000:.0f} ms"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """``1 kernel``, ``3 kernels``, ``1,204 misses`` (give `plural` where it is no plain s)."""
    word = noun if number == 1 else plural or f"{noun}s"
    return f"{number:,} {word}"


def listed(values: Sequence[Value], limit: int = 4) -> str:
    """``48, 49, 50, 51, …``."""
    shown = ", ".join(show_value(value) for value in values[:limit])
    return f"{shown}, …" if len(values) > limit else shown


def place(path: str, line: int, home: str = "") -> str:
    """``file:line``, the path relative to `home` (the run's working directory) when it lies below."""
    if home and path.startswith(home.rstrip(os.sep) + os.sep):
        path = path[len(home.rstrip(os.sep)) + 1 :]
    return f"{path}:{line}"


def launch_place(site: Site | None, home: str | None = None) -> str:
    """``file:line`` of a launch: the path relative to `home`, or without one the file's name alone."""
    if site is None:
        return "unknown"
    return f"{PurePath(site.path).name}:{site.line}" if home is None else place(site.path, site.line, home)
