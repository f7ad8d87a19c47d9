"""The one exception a user is meant to see."""

from __future__ import annotations


class JitwatchError(Exception):
    """Bad input. The message is one line that says what, where and how to mend it; no traceback is shown."""

    exit_code = 2
