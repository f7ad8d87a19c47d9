"""Processes that a test starts: they write their misses to a directory, which the test's verdict reads."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jitwatch.events import EVENTS_DIR, SEEN_FILE, SESSION_ENV
from jitwatch.launch.run import BOOTSTRAP


class Children:
    """Where the processes that tests of this process start report to."""

    def __init__(self) -> None:
        outer = os.environ.get(SESSION_ENV)
        self.outer = Path(outer) if outer else None
        """The run that watches this very process (``--jitwatch-report``, ``jitwatch profile pytest``)."""
        self.directory = Path(tempfile.mkdtemp(prefix="jitwatch-tests-", dir=self.outer))
        (self.directory / EVENTS_DIR).mkdir()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Let processes that are started from now on report here."""
        before = {name: os.environ.get(name) for name in (SESSION_ENV, "PYTHONPATH")}
        paths = [path for path in (before["PYTHONPATH"] or "").split(os.pathsep) if path]
        os.environ[SESSION_ENV] = str(self.directory)
        os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([str(BOOTSTRAP), *paths]))
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value

    def files(self) -> list[Path]:
        """Event files written so far."""
        return sorted((self.directory / EVENTS_DIR).glob("*.jsonl"))

    def close(self) -> None:
        """Hand what was recorded on to the run that watches this process, if one does."""
        if self.outer is not None and self.outer.is_dir():
            # Renamed and not copied: a child that still runs goes on writing to the same file.
            for file in self.files():
                file.rename(self.outer / EVENTS_DIR / file.name)
            seen = self.directory / SEEN_FILE
            if seen.exists():
                with (self.outer / SEEN_FILE).open("a", encoding="utf-8") as stream:
                    stream.write(seen.read_text(encoding="utf-8"))
        shutil.rmtree(self.directory, ignore_errors=True)
