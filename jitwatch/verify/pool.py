"""Worker processes that compile, and the answers they gave."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jitwatch

Progress = Callable[[int, int], None]
"""Called with the compiles done and all of them."""

START = (
    "import sys; sys.path.append({root!r}); from jitwatch.verify.worker.main import main; "
    "sys.path.remove({root!r}); main()"
)
"""A worker. The interpreter may be another environment's: jitwatch comes along last on its path and leaves it
again, so that it brings none of its own environment's packages with it."""

TIME_LIMIT = 120.0
"""Seconds for one compile, the import of the user's module included. Large kernels take up to about 30 s."""

LOST = ("JITWATCH_", "TRITON_INTERPRET")
"""Variables that a worker must not inherit."""


class Pool:
    """Compiles in worker processes, which it keeps; each distinct job once, whoever asks. Close it after use."""

    def __init__(
        self,
        python: str | None = None,
        workers: int | None = None,
        cwd: str | None = None,
        time_limit: float = TIME_LIMIT,
    ) -> None:
        self.time_limit = time_limit
        self.python = python or sys.executable
        self.size = workers or max(1, min(2, os.cpu_count() or 1))
        self.cwd = cwd if cwd and os.path.isdir(cwd) else None
        self.answers: dict[str, Mapping[str, Any]] = {}
        self._idle: list[Worker] = []
        self._all: list[Worker] = []

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        while self._idle:
            self._idle.pop().stop()

    def compile(self, jobs: Iterable[Mapping[str, Any]], progress: Progress | None = None) -> None:
        """Fill ``answers`` with those of `jobs`."""
        new = [text for text in dict.fromkeys(map(spell, jobs)) if text not in self.answers]
        threads = ThreadPoolExecutor(max_workers=self.size)
        try:
            for number, (text, answer) in enumerate(zip(new, threads.map(self._ask, new), strict=True)):
                self.answers[text] = answer
                if progress is not None:
                    progress(number + 1, len(new))
        except BaseException:  # an interrupt, above all: what is being compiled is not waited for
            for worker in self._all:
                worker.kill()
            raise
        finally:
            threads.shutdown(cancel_futures=True)

    def answer(self, job: Mapping[str, Any]) -> Mapping[str, Any]:
        """Answer to a job that was compiled."""
        return self.answers[spell(job)]

    def _ask(self, text: str) -> Mapping[str, Any]:
        """Ask an idle worker or a new one; one that died is not asked again."""
        try:
            worker = self._idle.pop()
        except IndexError:
            worker = Worker(self.python, self.cwd)
            self._all.append(worker)
        answer = worker.ask(text, self.time_limit)
        if answer.get("last"):
            worker.stop()
        elif not worker.dead:
            self._idle.append(worker)
        return answer


class Worker:
    """One process."""

    def __init__(self, python: str, cwd: str | None) -> None:
        root = str(Path(jitwatch.__file__).resolve().parents[1])
        environment = {k: v for k, v in os.environ.items() if not k.startswith(LOST)}
        self.python, self.dead = python, False
        try:
            self.process: subprocess.Popen[str] | None = subprocess.Popen(
                [python, "-c", START.format(root=root)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=None if os.environ.get("JITWATCH_DEBUG") else subprocess.DEVNULL,
                text=True,
                encoding="utf-8",
                env=environment,
                cwd=cwd,
                start_new_session=True,
            )
        except OSError as error:
            self.process, self.dead = None, True
            self.reason = f"cannot start {python}: {error.strerror}"

    def ask(self, job: str, time_limit: float) -> Mapping[str, Any]:
        """Answer to one job, whatever becomes of the process."""
        if self.process is None:
            return {"failed": self.reason, "stage": "find"}
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            self.kill()

        timer = threading.Timer(time_limit, expire)
        timer.start()
        try:
            self.process.stdin.write(job + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except OSError:
            line = ""
        finally:
            timer.cancel()
        if line.endswith("\n"):
            answer: Mapping[str, Any] = json.loads(line)
            return answer
        self.dead = True
        return {"failed": self._last_words(time_limit if expired.is_set() else None), "stage": "find"}

    def stop(self) -> None:
        """End the process; its input ends."""
        if self.process is not None:
            assert self.process.stdin is not None
            assert self.process.stdout is not None
            for stream in (self.process.stdin, self.process.stdout):
                with contextlib.suppress(OSError):
                    stream.close()
            self.process.wait()

    def kill(self) -> None:
        """End the process now."""
        if self.process is not None:
            self.process.kill()

    def _last_words(self, time_limit: float | None) -> str:
        assert self.process is not None
        code = self.process.wait()
        if time_limit is not None:
            return f"not compiled within {time_limit:.0f} s"
        if code < 0:
            return f"the compiling process was ended by signal {-code}"
        return f"{self.python} cannot run the compiler (exit code {code}); set JITWATCH_DEBUG=1 to see why"


def spell(job: Mapping[str, Any]) -> str:
    """Text of a job, one line; equal for equal jobs."""
    return json.dumps(job, sort_keys=True)
