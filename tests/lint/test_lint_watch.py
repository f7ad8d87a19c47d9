from __future__ import annotations

import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lint.conftest import BAD, GOOD, Lint

Write = Callable[..., Path]


def test_without_the_extra_it_says_what_to_install(
    project: Write, lint: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    project({})
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    ran = lint("--watch")
    assert (ran.code, ran.err) == (2, "jitwatch: --watch needs watchfiles: pip install 'jitwatch[watch]'\n")


def test_a_changed_file_is_linted_again_until_interrupted(project: Write) -> None:
    pytest.importorskip("watchfiles")
    root = project({"a.py": BAD})
    command = [sys.executable, "-m", "jitwatch", "lint", "--watch", "--no-cache", "--format", "concise"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        seen = _until(process, "Watching for changes")
        assert "a.py:5:32: JW006" in seen
        # The watch begins after the first answer; a change made too early would be missed, so make several.
        for number in range(100):
            (root / "a.py").write_text(GOOD + f"# {number}\n")
            if _wait_readable(process, 0.2):
                break
        seen = _until(process, "Watching for changes")
        assert "No findings: 1 kernel in 1 file looked at." in seen
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 0
    finally:
        process.kill()
        process.communicate()


def _until(process: subprocess.Popen[str], text: str) -> str:
    assert process.stdout is not None
    seen = ""
    while text not in seen:
        line = process.stdout.readline()
        assert line, seen
        seen += line
    return seen


def _wait_readable(process: subprocess.Popen[str], seconds: float) -> bool:
    assert process.stdout is not None
    return bool(select.select([process.stdout], [], [], seconds)[0])
