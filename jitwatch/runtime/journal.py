"""The file of this process in the run directory: one JSON line an event, appended as it happens.

One ``write`` on an ``O_APPEND`` descriptor a line, no lock and no buffer: a line is whole on disk before the launch
goes on (350 bytes: 2 us beside a 50 ms compile), ``kill -9`` and ``os._exit`` lose nothing, and a fork can copy no
half-held lock. A forked child gets a file of its own.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time

from .. import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Header = Callable[[], "dict[str, Any]"]


class Journal:
    """Appends events to ``RUN/events/HOST-PID-START.jsonl``."""

    def __init__(self, session: str, header: Header) -> None:
        self.session = session
        self.header = header
        self.name: str | None = None
        self._descriptor = -1

    def write(self, event: dict[str, Any]) -> None:
        """Append one event. Raises OSError when the run directory cannot be written."""
        self.open()
        self._append(event)

    def start_over(self) -> None:
        """In a forked child: leave the parent's file to the parent; the next event opens a new one."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def open(self) -> None:
        """Open the file of this process and write its first line, unless that is done."""
        if self._descriptor >= 0:
            return
        parent, folder = self.name, os.path.join(self.session, events.EVENTS_DIR)
        os.makedirs(folder, exist_ok=True)
        self.name = f"{socket.gethostname()}-{os.getpid()}-{time.time_ns()}.jsonl"
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
        self._descriptor = os.open(os.path.join(folder, self.name), flags, 0o644)
        self._append({"event": "process", "v": events.VERSION, **self.header(), "parent": parent})

    def _append(self, event: dict[str, Any]) -> None:
        os.write(self._descriptor, (json.dumps(event, separators=(",", ":")) + "\n").encode())


def complain(where: str, error: BaseException) -> None:
    """Say on stderr that the recorder itself failed, once a place and error: measuring stops, the program goes on."""
    said = f"jitwatch: {where}: {type(error).__name__}: {error}"
    if said not in _complaints:
        _complaints.add(said)
        print(f"{said} (recording may be incomplete; the program is not affected)", file=sys.stderr)


_complaints: set[str] = set()
