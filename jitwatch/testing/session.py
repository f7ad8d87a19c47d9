"""``--jitwatch-offline`` and ``--jitwatch-report``: the whole session is watched as `jitwatch profile` would do it.

The first process makes the run directory and sets the environment; workers of pytest-xdist and other children
inherit it and are attached to by the bootstrap when they start.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from jitwatch.errors import JitwatchError
from jitwatch.events import OFFLINE_ENV
from jitwatch.launch.run import Run
from jitwatch.runtime import attach
from jitwatch.runtime.offline.target import parse_target


class SessionRun:
    """The run of this session."""

    def __init__(self, run: Run, shown: bool, before: dict[str, str | None]) -> None:
        self.run = run
        self.shown = shown
        self._before = before

    def report(self, reporter: pytest.TerminalReporter, exit_code: int) -> None:
        """Print which kernels recompiled, with what would end it."""
        if not self.shown:
            return
        from jitwatch.analysis import analyse
        from jitwatch.report.terminal import make_console, print_findings
        from jitwatch.rundir import read_run

        self.run.finish(exit_code, [])
        reporter.section("jitwatch")
        reporter.flush()
        print_findings(analyse(read_run(self.run.directory)), make_console(reporter._tw._file))

    def close(self) -> None:
        """Put the environment back, and delete what nobody asked to see."""
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        if not self.shown:
            shutil.rmtree(self.run.directory, ignore_errors=True)


def start(arguments: Sequence[str | os.PathLike[str]], target: str | None, shown: bool) -> SessionRun | None:
    """Watch this session from now on; None in a process that its parent's session watches already."""
    if target is not None:
        try:
            parse_target(target)
        except ValueError as error:
            raise pytest.UsageError(f"--jitwatch-offline: {error}") from None
    if "_jitwatch.runtime.attach" in sys.modules:
        if target and os.environ.get(OFFLINE_ENV) != target:
            raise pytest.UsageError(
                "jitwatch profile watches this session: give --offline to it, not to pytest"
            )
        return None
    directory = None if shown else Path(tempfile.mkdtemp(prefix="jitwatch-session-"))
    try:
        run = Run.create(
            directory, ["pytest", *(os.fspath(word) for word in arguments)], target, execute=True
        )
    except JitwatchError as error:
        raise pytest.UsageError(str(error)) from None
    added = run.environment()
    before = {name: os.environ.get(name) for name, value in added.items() if os.environ.get(name) != value}
    os.environ.update(added)
    attach.start(str(run.directory))
    return SessionRun(run, shown, before)
