"""Everything the kernels of this process missed, kept in memory, and the misses of the processes it started."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Set
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from jitwatch.events import OFFLINE_ENV, VERSION
from jitwatch.rundir import Run, settle_processes
from jitwatch.rundir.reader import EventReader
from jitwatch.runtime import session
from jitwatch.runtime.hooks import Slot
from jitwatch.runtime.imports import ImportWatcher
from jitwatch.runtime.journal import Journal
from jitwatch.runtime.recorder import Recorder
from jitwatch.testing.children import Children
from jitwatch.testing.memory import Aside, Entry, Functions, Tuned, set_aside

OWN = "this process"
"""What stands for a file's name of the process that runs the tests."""


@dataclass(frozen=True)
class Mark:
    """A moment of a recording."""

    row: int
    time: float


class Recording:
    """Records from ``start`` to ``stop``, across forks."""

    def __init__(self, children: Children) -> None:
        self.children = children
        self.rows: list[dict[str, Any]] = []
        self.recorder: Recorder | None = None
        self.functions: Functions | None = None
        self.started = time.time()
        self._header: Callable[[], dict[str, Any]] = dict
        self._journal: Journal | None = None

    def start(self) -> None:
        """Attach to Triton, now or when it is imported."""
        ImportWatcher({"triton": self._attach}).install()

    def stop(self) -> None:
        """Let go of Triton."""
        if self.recorder is not None and self.functions is not None:
            self.recorder.detach()
            self.functions.detach()

    def set_aside(self, keep: Set[int], choices: Set[Tuned]) -> Aside:
        """Take what is in memory out of it, except what the misses `keep` made, and the autotuners' `choices`."""
        if self.recorder is None or self.functions is None:
            return Aside()
        return set_aside(self.recorder, self.functions, self._entries(keep), choices)

    def mark(self) -> Mark:
        """The moment that is now."""
        return Mark(len(self.rows), time.time())

    def misses(self, begin: Mark, end: Mark) -> frozenset[int]:
        """Numbers of the misses of this process between two moments."""
        return frozenset(row["n"] for row in self.rows[begin.row : end.row] if row["event"] == "miss")

    def _entries(self, misses: Set[int]) -> frozenset[Entry]:
        """Cache entries that misses made."""
        return frozenset(
            (row["kernel"], str(row["device"]), row["key"])
            for row in self.rows
            if row["event"] == "miss" and row["n"] in misses
        )

    def run(self, begin: Mark, also: Set[int]) -> Run:
        """What happened since `begin`, here and in child processes, and the misses `also` of this process."""
        run = Run(self.children.directory, cwd=os.getcwd())
        reader = EventReader(run)
        if self.recorder is not None:
            reader.read_rows(OWN, [self._first_row(), *self._rows_since(begin, also)], OWN)
        for file in self.children.files():
            reader.read_process(file)
        run.processes = [each for each in run.processes if each.file == OWN or _last(each) >= begin.time]
        settle_processes(run)
        return run

    def lost_hook(self) -> str | None:
        """Who put a hook in the place of one that misses are seen by, in words; None while all are there."""
        if self.recorder is None:
            return None
        self.recorder.check_hooks()
        if not any(slot is not None and slot.ours is None for slot in self._vital()):
            return None
        told = [row["text"] for row in self.rows if row["event"] == "notice" and row["topic"] == "hooks"]
        return told[-1] if told else "Triton's hooks were replaced"

    def hook_again(self) -> None:
        """Take displaced hooks back."""
        if self.recorder is not None and self.lost_hook():
            self.recorder.detach()
            self.recorder.attach()

    def _vital(self) -> list[Slot | None]:
        """Without the first no miss is told, without the second none is seen to end."""
        assert self.recorder is not None
        return [self.recorder.places.miss, self.recorder.places.post]

    def _attach(self, triton: ModuleType) -> None:
        recorder = Recorder(triton, self._write)
        self._header = lambda: session.header(triton, recorder, os.environ.get(OFFLINE_ENV) or None)
        recorder.attach()
        self.recorder = recorder
        self.functions = Functions(recorder.places.jit.JITFunction)
        _follow_into_forks(self)

    def _write(self, row: dict[str, Any]) -> None:
        self.rows.append(row)
        if self._journal is not None:
            self._journal.write(row)

    def in_forked_child(self) -> None:
        """Write to a file too: the parent cannot see this memory. Kernels told before the fork are told again."""
        if self.recorder is None or not self.children.directory.exists():
            return
        self.recorder.misses.forget()
        told = [row for row in self.rows if row["event"] == "kernel"]
        self._journal = _LateJournal(str(self.children.directory), self._header, told)

    def _first_row(self) -> dict[str, Any]:
        return {"event": "process", "v": VERSION, **self._header(), "time": self.started}

    def _rows_since(self, begin: Mark, also: Set[int]) -> list[dict[str, Any]]:
        """All kernels, and of the rest what is asked for."""
        wanted = self.misses(begin, self.mark()) | also
        numbered = ("miss", "served", "load")
        return [
            row
            for i, row in enumerate(self.rows)
            if row["event"] == "kernel"
            or (row["event"] in numbered and row["n"] in wanted)
            or (row["event"] == "tune" and i >= begin.row)
        ]


class _LateJournal(Journal):
    """A forked child's file, opened at its first event: most forks launch nothing."""

    def __init__(
        self, directory: str, header: Callable[[], dict[str, Any]], told: list[dict[str, Any]]
    ) -> None:
        super().__init__(directory, header)
        self.name = OWN
        self._told = told

    def write(self, event: dict[str, Any]) -> None:
        told, self._told = self._told, []
        for row in told:
            super().write(row)
        super().write(event)


def _last(process: Any) -> float:
    """Unix seconds of the last miss or tuning of a process."""
    return max([each.time for each in (*process.misses, *process.tunes)], default=0.0)


def _follow_into_forks(recording: Recording) -> None:
    if not hasattr(os, "register_at_fork"):
        return
    reference = weakref.ref(recording)

    def in_child() -> None:
        alive = reference()
        if alive is not None:
            alive.in_forked_child()

    os.register_at_fork(after_in_child=in_child)
