"""Where findings are written, and whether in colour."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TextIO

from jitwatch.errors import JitwatchError


@contextlib.contextmanager
def opened(path: str | None) -> Iterator[TextIO]:
    """Give stdout, or the file ``path`` opened for writing. Raises JitwatchError when it cannot be written."""
    try:
        # A letter in somebody's source that the terminal lacks must not end the run in an exception.
        if path is not None:
            with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
                yield file
            return
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(errors="backslashreplace")
        yield sys.stdout
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise JitwatchError(f"{path or 'the output'} cannot be written: {reason}") from error


def wants_colour(out: TextIO) -> bool:
    """Whether to write colour: on a terminal, unless the environment says otherwise."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or out.isatty()
