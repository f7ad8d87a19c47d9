"""Which Python processes ran under the command, and which of them were not observed, and why.

A process escapes the bootstrap when it clears PYTHONPATH or the environment, or runs ``python -I``, ``-E`` or ``-S``.
It then reports nothing, and a report that did not say so would read as "no recompiles there".
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jitwatch import events
from jitwatch.launch.run import BOOTSTRAP

PROC = Path("/proc")


@dataclass
class Census:
    """Looks at the process tree now and then; what lives shorter than two looks can be missed."""

    directory: Path
    pythons: dict[int, dict[str, Any]] = field(default_factory=dict)
    """``{pid, argv, reason}`` of each Python process seen at or below the command."""

    def look(self, root: int) -> None:
        """Note the Python processes at and below pid `root`. Does nothing where there is no /proc."""
        for pid, parent in _tree(root, os.getpid()):
            argv, program = _words(pid, "cmdline"), _program(pid)
            if not argv or not program:
                continue  # it ended: what an earlier look saw stands
            if not program.startswith(("python", "pypy")) or argv == _words(parent, "cmdline"):
                # A copy of its parent is a fork, which reports by itself, or is about to exec something else.
                self.pythons.pop(pid, None)
                continue
            self.pythons[pid] = {"pid": pid, "argv": argv[:40], "reason": _why(argv, _words(pid, "environ"))}

    def unobserved(self) -> list[dict[str, Any]]:
        """The Python processes that never reported."""
        reported = self._reported()
        return [seen for pid, seen in sorted(self.pythons.items()) if pid not in reported]

    def _reported(self) -> set[int]:
        pids = set()
        try:
            lines = (self.directory / events.SEEN_FILE).read_text(encoding="utf-8").splitlines()
        except OSError:
            return set()
        for line in lines:
            try:
                pids.add(json.loads(line)["pid"])
            except (ValueError, KeyError, TypeError):
                continue
        return pids


def _tree(root: int, parent: int) -> Iterator[tuple[int, int]]:
    """(pid, pid of its parent) at and below `root`."""
    waiting = [(root, parent)]
    while waiting:
        pid, above = waiting.pop()
        yield pid, above
        try:
            for task in (PROC / str(pid) / "task").iterdir():
                waiting += [(int(word), pid) for word in (task / "children").read_text().split()]
        except OSError:
            continue  # it ended while we looked


def _program(pid: int) -> str:
    """Name of the executable file; empty when the process has gone or belongs to another user."""
    try:
        return os.path.basename(os.readlink(PROC / str(pid) / "exe"))
    except OSError:
        return ""


def _words(pid: int, name: str) -> list[str]:
    """The NUL-separated words of /proc/PID/`name`; none when the process has gone or belongs to another user."""
    try:
        raw = (PROC / str(pid) / name).read_bytes()
    except OSError:
        return []
    return [os.fsdecode(word) for word in raw.split(b"\0")[:-1]]


def _why(argv: list[str], environment: list[str]) -> str:
    """Why the bootstrap cannot have run in a process that did not report."""
    flags = "".join(word[1:] for word in argv[1:4] if word.startswith("-") and not word.startswith("--"))
    for flag, meaning in [
        ("I", "ignores PYTHONPATH"),
        ("E", "ignores PYTHONPATH"),
        ("S", "skips sitecustomize"),
    ]:
        if flag in flags:
            return f"python -{flag} {meaning}"
    settings = dict(word.partition("=")[::2] for word in environment)
    if environment and events.SESSION_ENV not in settings:
        return "started with an environment of its own: pass JITWATCH_SESSION and PYTHONPATH on"
    if environment and str(BOOTSTRAP) not in settings.get("PYTHONPATH", "").split(os.pathsep):
        return f"its PYTHONPATH was replaced: keep {BOOTSTRAP} in it"
    return "ended before it could report"
