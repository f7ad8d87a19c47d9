"""A progress bar on stderr, for runs that take longer than a second in front of a person."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator

from jitwatch.lint.analysis import Progress

SHOW_AFTER = 1.0
"""Seconds."""


@contextlib.contextmanager
def progress_bar() -> Iterator[Progress | None]:
    """Give the function to report to; None where nobody looks."""
    if not sys.stderr.isatty():
        yield None
        return
    bar = _Bar()
    try:
        yield bar.report
    finally:
        bar.close()


class _Bar:
    """Imports rich and draws once it is late enough; redraws at reports only, since workers are forked."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._close = contextlib.ExitStack()
        self._draw: Progress | None = None

    def report(self, done: int, total: int) -> None:
        if self._draw is None and time.monotonic() - self._start > SHOW_AFTER:
            self._draw = self._open()
        if self._draw is not None:
            self._draw(done, total)

    def close(self) -> None:
        self._close.close()

    def _open(self) -> Progress:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as RichProgress

        columns = (TextColumn("analysing"), BarColumn(), TextColumn("{task.percentage:>3.0f}%"))
        console = Console(stderr=True)
        bar = RichProgress(*columns, console=console, transient=True, auto_refresh=False)
        self._close.enter_context(bar)
        task = bar.add_task("")

        def draw(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, refresh=True)

        return draw
