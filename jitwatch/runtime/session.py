"""A process of a run: the recorder wired to the run directory, surviving fork and exit."""

from __future__ import annotations

import atexit
import os
import socket
import sys
import time

from .. import events
from .journal import Journal
from .recorder import Recorder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any


def start(triton: ModuleType, directory: str) -> None:
    """Watch the Triton that was just imported, for the run in `directory`."""
    target = os.environ.get(events.OFFLINE_ENV) or None
    journal = Journal(directory, lambda: header(triton, recorder, target))
    recorder = Recorder(triton, journal.write)
    journal.open()
    if target:
        from . import offline

        execute = os.environ.get(events.EXECUTE_ENV) != "0"
        offline.activate(target, execute, lambda text: recorder.notice("offline", text))
    recorder.attach()
    if recorder.places.miss is None:
        version = getattr(triton, "__version__", "?")
        recorder.notice("hooks", f"Triton {version} has no cache-miss hook: its launches cannot be watched")
    _tell_of_the_interpreter(recorder)

    def in_forked_child() -> None:
        journal.start_over()
        recorder.start_over()

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=in_forked_child)
    atexit.register(recorder.check_hooks)


def header(triton: ModuleType, recorder: Recorder, target: str | None) -> dict[str, Any]:
    """What the ``process`` line tells of this process (``jitwatch.events.Process``)."""
    rank = os.environ.get("RANK", "")
    return {
        "time": time.time(),
        "pid": os.getpid(),
        "ppid": os.getppid(),
        "host": socket.gethostname(),
        "argv": [word[:300] for word in getattr(sys, "orig_argv", sys.argv)[:40]],
        "python": sys.executable,
        "triton": getattr(triton, "__version__", "?"),
        "torch": getattr(sys.modules.get("torch"), "__version__", None),
        "rank": int(rank) if rank.isdigit() else None,
        "offline": target,
        "probes": recorder.places.probes(),
    }


def _tell_of_the_interpreter(recorder: Recorder) -> None:
    """Interpreted kernels have no cache and call no hook: say so, rather than report no misses (triton #10610)."""
    from .imports import ImportWatcher

    def say(module: ModuleType) -> None:
        if os.environ.get("TRITON_INTERPRET", "0").lower() in ("1", "true", "on", "yes", "y"):
            text = "TRITON_INTERPRET is set: kernels run in the interpreter and compile nothing; unset it to profile"
            recorder.notice("interpreter", text)

    ImportWatcher({"triton.runtime.interpreter": say}).install()
