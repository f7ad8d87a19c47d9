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
    code = 0
    names = PythonFilter(extra_extensions=("pyproject.toml", ".gitignore"))
    try:
        code = _announced(lint)
        for _ in changes(*paths, watch_filter=names):
            code = _announced(lint)
    except KeyboardInterrupt:  # the way to end it, whether it came while waiting or while linting
        pass
    return code


def _announced(lint: Callable[[], int]) -> int:
    if sys.stdout.isatty():
        print("\x1b[2J\x1b[H", end="")
    code = lint()
    print("Watching for changes; Ctrl-C ends.", flush=True)
    return code
