"""Lint again whenever a Python file or the configuration changes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from jitwatch.errors import JitwatchError


def watch(paths: Sequence[str], lint: Callable[[], int]) -> int:
    """Call ``lint`` now and after every change below ``paths``, until interrupted; returns its last answer.

    Raises JitwatchError when the extra is not installed.
    """
    try:
        from watchfiles import PythonFilter
        from watchfiles import watch as changes
    except ImportError:
        raise JitwatchError("--watch needs watchfiles: pip install 'jitwatch[watch]'") from None
    answers = [0]

    def announce() -> None:
        if sys.stdout.isatty():
            print("\x1b[2J\x1b[H", end="")
        answers.append(lint())
        print("Watching for changes; Ctrl-C ends.", flush=True)

    names = PythonFilter(extra_extensions=("pyproject.toml", ".gitignore"))
    try:
        announce()
        for _ in changes(*paths, watch_filter=names):
            announce()
    except KeyboardInterrupt:  # the way to end it, whether it came while waiting or while linting
        pass
    return answers[-1]
