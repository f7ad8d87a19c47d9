"""Read a run directory: what every report starts from.

Tolerant where a crash leaves marks (a line cut short, an alien line, an unknown key: counted, skipped) and
strict where an answer would be wrong (a newer schema, no run at all: a one-line JitwatchError).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from jitwatch.collector import without_collector
from jitwatch.errors import JitwatchError
from jitwatch.events import EVENTS_DIR, RUN_FILE, SEEN_FILE
from jitwatch.rundir.reader import EventReader
from jitwatch.rundir.records import (
    Kernel,
    Miss,
    Notice,
    ProcessLog,
    Run,
    Served,
    Site,
    Tune,
    Unobserved,
)

__all__ = [
    "RUNS_DIR",
    "Kernel",
    "Miss",
    "Notice",
    "ProcessLog",
    "Run",
    "Served",
    "Site",
    "Tune",
    "Unobserved",
    "find_run",
    "read_run",
    "settle_processes",
]

RUNS_DIR = Path(".jitwatch", "runs")
"""Where `jitwatch profile` puts runs, under the working directory; names sort by time."""

RUN_SCHEMA = 1
"""``schema`` of ``run.json``."""

CLOCK_SLACK = 60.0
"""Seconds an event file may seem older than its run: hosts of one run need not agree on the time."""


def find_run(named: Path | None = None) -> Path:
    """The run directory `named`, or the latest under the working directory. Raises JitwatchError."""
    if named is not None:
        return named
    runs = sorted(path for path in RUNS_DIR.glob("*") if path.is_dir())
    if not runs:
        raise JitwatchError(
            f"no run found in {RUNS_DIR}: record one with `jitwatch profile CMD`, or name a run directory"
        )
    return runs[-1]


def read_run(path: Path) -> Run:
    """Read a run directory, finished or still being written. Raises JitwatchError on what is no run."""
    try:
        names = {entry.name for entry in path.iterdir()}
    except OSError as error:
        raise JitwatchError(f"cannot read run {path}: {error.strerror}") from error
    if not names & {RUN_FILE, EVENTS_DIR, SEEN_FILE}:
        inside = sorted(each.parent.name for each in path.glob(f"*/{RUN_FILE}"))
        hint = f"it holds runs, name one: {path / inside[-1]}" if inside else f"it has no {RUN_FILE}"
        raise JitwatchError(f"{path} is not a run directory: {hint}")
    run = _read_header(path)
    reader = EventReader(run)
    run.seen = sum(1 for _ in reader.lines(path / SEEN_FILE))
    with without_collector():
        for file in sorted((path / EVENTS_DIR).glob("*.jsonl")):
            reader.read_process(file)
    settle_processes(run)
    _drop_older_run(run)
    return run


def settle_processes(run: Run) -> None:
    """Bring the processes of a run into order, once all have been read."""
    run.processes.sort(key=lambda process: (process.time, process.file))
    _inherit_kernels(run.processes)


def _read_header(path: Path) -> Run:
    file = path / RUN_FILE
    if not file.exists():
        note = f"no {RUN_FILE}: the command line and the exit code are unknown"
        return Run(path, notes=[note])
    try:
        head = json.loads(file.read_text(encoding="utf-8"))
        if head["schema"] > RUN_SCHEMA:
            raise JitwatchError(f"{file} was written by a newer jitwatch (schema {head['schema']}): upgrade")
        return Run(
            path,
            command=tuple(map(str, head.get("command") or ())),
            cwd=head.get("cwd") or "",
            started=head.get("started"),
            ended=head.get("ended"),
            exit_code=head.get("exit_code"),
            target=head.get("target"),
            offline=bool(head.get("offline")),
            unobserved=tuple(
                Unobserved(int(each["pid"]), tuple(each.get("argv") or ()), each.get("reason") or "unknown")
                for each in head.get("unobserved") or ()
            ),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise JitwatchError(f"cannot read {file}: {error!r}; delete it to read the events alone") from error


def _inherit_kernels(processes: Iterable[ProcessLog]) -> None:
    """A forked child may name kernels its parent told of; parents sort before children."""
    by_file = {process.file: process for process in processes}
    for process in by_file.values():
        parent = by_file.get(process.parent or "")
        if parent is not None:
            process.kernels = {**parent.kernels, **process.kernels}


def _drop_older_run(run: Run) -> None:
    """Leave out files an earlier run left in a directory that was used twice."""
    try:
        started = datetime.fromisoformat((run.started or "").replace("Z", "+00:00")).timestamp()
    except ValueError:
        return
    own = [process for process in run.processes if process.time >= started - CLOCK_SLACK]
    older = len(run.processes) - len(own)
    if older:
        run.processes = own
        run.notes.append(
            f"{older} event files in {run.path / EVENTS_DIR} are older than this run and were left out: "
            "give each run its own directory"
        )
