from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jitwatch.cli import main

BAD = """\
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["seeds"])
def scale(x, seed, factor):
    tl.store(x, seed * factor)
"""
"""One finding of JW006, at 5:32, and none of another rule."""

GOOD = BAD.replace('"seeds"', '"seed"')


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def findings(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.out)
        return found


Lint = Callable[..., Ran]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Write files into an empty working folder: ``project({"a.py": "..."})``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def write(files: dict[str, str | bytes]) -> Path:
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            data = content if isinstance(content, bytes) else textwrap.dedent(content).encode()
            path.write_bytes(data)
        return tmp_path

    return write


@pytest.fixture
def lint(capsys: pytest.CaptureFixture[str]) -> Lint:
    """Run ``jitwatch lint ARGUMENTS`` in this process."""

    def run(*arguments: str) -> Ran:
        capsys.readouterr()
        try:
            code = main(["lint", *arguments])
        except SystemExit as stop:
            code = int(stop.code or 0)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run
