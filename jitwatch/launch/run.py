"""A run from the outside: its directory, the environment of its command, and how it ended."""

from __future__ import annotations

import json
import os
import tempfile
import time
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import jitwatch
from jitwatch import events
from jitwatch.errors import JitwatchError
from jitwatch.rundir import RUNS_DIR

BOOTSTRAP = Path(jitwatch.__file__).resolve().parent / "bootstrap"


@dataclass
class Run:
    """One profiled command."""

    directory: Path
    command: list[str]
    target: str | None = None
    execute: bool = True
    started: datetime = field(default_factory=lambda: datetime.now(timezone.utc))

    @classmethod
    def create(cls, directory: Path | None, command: list[str], target: str | None, execute: bool) -> Run:
        """Make the run directory and write its first ``run.json``. Raises JitwatchError when it cannot be written."""
        if directory is None:
            directory = RUNS_DIR / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
        elif directory.is_dir() and any(directory.iterdir()):
            raise JitwatchError(f"{directory} is not empty: name a new directory with --out, or delete it")
        try:
            (directory / events.EVENTS_DIR).mkdir(parents=True, exist_ok=True)
            run = cls(directory.resolve(), command, target, execute)
            run.write()
            if directory.parent == RUNS_DIR:
                (RUNS_DIR.parent / ".gitignore").write_text("*\n")
        except OSError as error:
            reason = error.strerror or error
            raise JitwatchError(
                f"cannot write {directory}: {reason}; name another place with --out"
            ) from None
        return run

    def environment(self) -> dict[str, str]:
        """Environment of the command: this process's own, the session, and the bootstrap first on PYTHONPATH."""
        inherited = os.environ.get("PYTHONPATH")
        added = {
            events.SESSION_ENV: str(self.directory),
            events.OFFLINE_ENV: self.target or "",
            events.EXECUTE_ENV: "1" if self.execute else "0",
            "PYTHONPATH": os.pathsep.join([str(BOOTSTRAP), inherited] if inherited else [str(BOOTSTRAP)]),
        }
        return {**os.environ, **added}

    def write(self, **ending: Any) -> None:
        """Write ``run.json`` whole, so that a reader sees the old one or the new one; `ending` adds to it."""
        content = {
            "schema": events.VERSION,
            "jitwatch": jitwatch.__version__,
            "command": self.command,
            "cwd": os.getcwd(),
            "started": self.started.isoformat(timespec="milliseconds"),
            "offline": self.target is not None,
            "target": self.target,
            "execute": self.execute,
            "ended": None,
            "exit_code": None,
            "unobserved": [],
            **ending,
        }
        with tempfile.NamedTemporaryFile("w", dir=self.directory, delete=False, encoding="utf-8") as stream:
            json.dump(content, stream, indent=1)
        os.chmod(stream.name, 0o644)
        os.replace(stream.name, self.directory / events.RUN_FILE)

    def finish(self, exit_code: int, unobserved: list[dict[str, Any]]) -> None:
        """Record how the command ended."""
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        self.write(ended=now, exit_code=exit_code, unobserved=unobserved)
