"""Start the command and stay its parent: signals go through, and so does its exit code."""

from __future__ import annotations

import errno
import shutil
import signal
import subprocess
import types
from collections.abc import Callable, Sequence

from jitwatch.errors import JitwatchError

FORWARDED = [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT, signal.SIGCONT]
"""Sent to the parent alone, so handed on. SIGINT is not: the terminal sends it to the whole foreground group, so
the command has it already, and jitwatch waits for what the command makes of it."""

TICK = 0.2
"""Seconds between looks at the process tree while the command runs."""


def resolve(command: Sequence[str]) -> list[str]:
    """The command with its program looked up on PATH. Raises JitwatchError when there is none, or it may not be run."""
    program = command[0]
    found = shutil.which(program)
    if found is not None:
        return [found, *command[1:]]
    if shutil.which(program, mode=0) is not None:
        raise JitwatchError(f"{program}: permission denied: make it executable, or run `python {program}`")
    raise JitwatchError(f"{program}: command not found: check the spelling, or give its path")


def run(command: Sequence[str], environment: dict[str, str], on_tick: Callable[[int], None]) -> int:
    """Run `command` to its end and return its exit code, 128 + N when signal N ended it.

    `on_tick` is called with the child's pid about every TICK seconds, and once at the very start.
    """
    try:
        child = subprocess.Popen(command, env=environment)
    except OSError as error:
        hint = (
            "give it a #! line, or name its interpreter" if error.errno == errno.ENOEXEC else "check the file"
        )
        raise JitwatchError(f"{command[0]} cannot be started: {error.strerror}; {hint}") from None

    def forward(number: int, frame: types.FrameType | None) -> None:
        child.send_signal(number)

    previous = {number: signal.signal(number, forward) for number in FORWARDED}
    previous[signal.SIGINT] = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        while True:
            on_tick(child.pid)
            try:
                code = child.wait(timeout=TICK)
                break
            except subprocess.TimeoutExpired:
                continue
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    return code if code >= 0 else 128 - code
