"""Start watching this process: say it was seen, then wait for Triton to be imported.

Costs a process that never imports Triton one appended line and one finder (well below 3 ms): this module imports
only what the interpreter has loaded by itself, and the recorder is imported when Triton is.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # the typing module costs more than all the rest of this file
    from types import ModuleType

NOT_WATCHED = frozenset(
    [
        *("pip", "pip3", "pipx", "uv", "uvx", "poetry", "conda", "mamba", "pre_commit", "pre-commit"),
        *("ninja", "cmake", "nvcc", "ptxas", "gcc", "cc", "c++", "g++", "clang", "ld", "jitwatch"),
    ]
)
"""Programs that build or install: they never launch a kernel worth reporting, and start-up time is theirs."""

_started_in = -1
"""The pid that was started. A pid and not a flag: a forked child inherits this module (and .pth files run twice)."""


def start(session: str) -> None:
    """Watch this process for the run directory `session`. Safe to call again."""
    global _started_in
    if _started_in == os.getpid():
        return
    _started_in = os.getpid()
    argv = _command_line()
    program = _program(argv)
    skipped = f"{program} is not watched" if program in NOT_WATCHED else None
    _say_seen(session, argv, skipped)
    if skipped:
        return
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: _say_forked(session, argv))
    from .imports import ImportWatcher

    ImportWatcher({"triton": _on_triton, "torch": _on_torch}).install()


def _on_triton(module: ModuleType) -> None:
    """Attach the recorder, and offline the stand-in device, to the Triton that was just imported."""
    from . import session

    session.start(module, os.environ["JITWATCH_SESSION"])


def _on_torch(module: ModuleType) -> None:
    """Let a CPU-only torch answer as a GPU, when the run is offline."""
    if os.environ.get("JITWATCH_OFFLINE"):
        from . import offline

        offline.attach_torch()


def _say_forked(session: str, argv: list[str]) -> None:
    """A forked child runs no bootstrap of its own; the run directory may be gone by then."""
    try:
        _say_seen(session, argv, None)
    except OSError:
        return


def _command_line() -> list[str]:
    """Whole command line. ``sys.argv`` is not complete yet at this point of the start (it holds ``-m``)."""
    whole = getattr(sys, "orig_argv", None)  # Python 3.10
    if whole:
        return list(whole)
    with open("/proc/self/cmdline", "rb") as stream:
        return [os.fsdecode(part) for part in stream.read().split(b"\0")[:-1]]


def _program(argv: list[str]) -> str:
    """Name of the script or module that Python was asked to run."""
    position = 1
    while position < len(argv) and argv[position].startswith("-") and argv[position] != "-":
        option = argv[position]
        if option.startswith("-m"):
            module = option[2:] or (argv[position + 1] if position + 1 < len(argv) else "")
            return module.split(".")[0]
        if option.startswith("-c"):
            return "-c"
        # -W and -X take a value, joined or as the next word.
        position += 2 if option in ("-W", "-X") else 1
    return os.path.basename(argv[position]) if position < len(argv) else ""


def _say_seen(session: str, argv: list[str], skipped: str | None) -> None:
    """Append this process to ``processes.jsonl`` (``jitwatch.events.Seen``)."""
    from _json import encode_basestring_ascii as quote  # the json package would cost a millisecond

    shown = ", ".join(quote(word[:300]) for word in argv[:40])
    line = (
        f'{{"pid": {os.getpid()}, "ppid": {os.getppid()}, "time": {time.time():.6f}, "argv": [{shown}], '
        f'"python": {quote(sys.executable or "")}, "skipped": {quote(skipped) if skipped else "null"}}}\n'
    )
    target = os.open(os.path.join(session, "processes.jsonl"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(target, line.encode())
    finally:
        os.close(target)
