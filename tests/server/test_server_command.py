"""``jitwatch server`` where there is no session to have."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from jitwatch.cli import main


def test_without_the_extra_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [each for each in sys.modules if each.partition(".")[0] == "pygls"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pygls", None)
    assert main(["server"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == "jitwatch: server needs pygls 2: pip install 'jitwatch[lsp]'\n"


def test_somebody_at_a_terminal_is_not_left_waiting() -> None:
    terminal, other_end = pty.openpty()
    try:
        command = [sys.executable, "-m", "jitwatch", "server"]
        got = subprocess.run(
            command, stdin=other_end, capture_output=True, text=True, timeout=60, check=False
        )
    finally:
        os.close(terminal)
        os.close(other_end)
    assert got.returncode == 2
    assert got.stderr == "jitwatch: server is for an editor to start: `jitwatch server --help` says how\n"


def test_its_half_second_of_imports_is_paid_by_nobody_else() -> None:
    program = (
        "import sys, jitwatch.cli.server, jitwatch.cli.lint, jitwatch.lint.engine, jitwatch.server.explain\n"
        "print({'pygls', 'lsprotocol', 'triton', 'torch'} & sys.modules.keys())"
    )
    got = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert got.stdout == "set()\n"
