"""Fixtures of the whole suite: run a real program under `jitwatch profile`, and read what it recorded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest_plugins = ["pytester"]

PREAMBLE = """\
import triton
import triton.language as tl
"""
"""Kernels of most tests take no tensor: a program that never imports torch starts a second sooner."""


@dataclass
class Profiled:
    """A program that ran under `jitwatch profile`."""

    directory: Path
    code: int
    stdout: str
    stderr: str

    def events(self, kind: str | None = None) -> list[dict[str, Any]]:
        """All events, or those of one kind, file by file."""
        lines = [
            json.loads(line)
            for path in sorted((self.directory / "events").iterdir())
            for line in path.read_text().splitlines()
        ]
        return [line for line in lines if kind is None or line["event"] == kind]

    def report(self) -> dict[str, Any]:
        """`jitwatch report --format json` of the run."""
        command = [sys.executable, "-m", "jitwatch", "report", str(self.directory), "--format", "json"]
        got = subprocess.run(command, capture_output=True, text=True, check=False)
        assert got.returncode == 0, got.stderr
        report: dict[str, Any] = json.loads(got.stdout)
        return report

    def run_file(self) -> dict[str, Any]:
        """``run.json``."""
        content: dict[str, Any] = json.loads((self.directory / "run.json").read_text())
        return content

    def seen(self) -> list[dict[str, Any]]:
        """``processes.jsonl``."""
        return [json.loads(line) for line in (self.directory / "processes.jsonl").read_text().splitlines()]


@pytest.fixture(autouse=True)
def _own_triton_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test starts with an empty disk cache, so that a miss is a compile unless the test made a disk hit."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton-cache"))
    for name in list(os.environ):
        if name.startswith("JITWATCH_"):
            monkeypatch.delenv(name)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a program into the test's folder; Triton needs its kernels in a file."""

    def write(source: str, name: str = "program.py", preamble: str = PREAMBLE) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(preamble + textwrap.dedent(source))
        return path

    return write


@pytest.fixture
def profile(tmp_path: Path) -> Callable[..., Profiled]:
    """Run a command under `jitwatch profile --offline --no-execute` (only compiling), or with other options."""
    numbers = iter(range(1000))

    def profile(
        *command: str | Path,
        options: tuple[str, ...] = ("--offline", "--no-execute"),
        environment: dict[str, str] | None = None,
        timeout: float = 120,
    ) -> Profiled:
        directory = tmp_path / f"run{next(numbers)}"
        words = [str(word) for word in command]
        if words[0].endswith(".py"):
            words.insert(0, sys.executable)
        line = [sys.executable, "-m", "jitwatch", "profile", *options, "--out", str(directory), "--", *words]
        got = subprocess.run(
            line,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            env={**os.environ, "JITWATCH_DEBUG": "1", **(environment or {})},
        )
        return Profiled(directory, got.returncode, got.stdout, got.stderr)

    return profile
