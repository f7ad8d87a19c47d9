"""Sentences for the reader of the report, each given once."""

from __future__ import annotations

from typing import Callable

Notice = Callable[[str], None]


class Notices:
    """Passes each distinct sentence on once; those said before anyone listens wait."""

    def __init__(self) -> None:
        self._said: set[str] = set()
        self._waiting: set[str] = set()
        self._listener: Notice | None = None

    def say(self, text: str) -> None:
        """Say it, unless it was said."""
        if text in self._said:
            return
        self._said.add(text)
        if self._listener is None:
            self._waiting.add(text)
        else:
            self._listener(text)

    def listen(self, listener: Notice | None) -> None:
        """Send sentences, those waiting too, to `listener`."""
        self._listener = listener
        if listener is not None:
            waiting, self._waiting = self._waiting, set()
            for text in sorted(waiting):
                listener(text)

    def forget(self) -> None:
        """Let everything be said anew."""
        self._said.clear()
        self._waiting.clear()


notices = Notices()
"""Of this process."""
