"""``jitwatch report`` as a command."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.made_runs import MadeRun
from tests.report import scenes


def jitwatch(*words: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "jitwatch", *map(str, words)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_latest_run_is_drawn_and_its_last_line_runs_as_printed(tmp_path: Path) -> None:
    scenes.quiet(tmp_path / ".jitwatch" / "runs" / "20260921-120000-1")
    scenes.serving(tmp_path / ".jitwatch" / "runs" / "20260921-120001-1")
    drawn = jitwatch("report", cwd=tmp_path)
    assert drawn.returncode == 0, drawn.stderr
    assert "8.44 s lost" in drawn.stdout
    command = drawn.stdout.splitlines()[-1].split(": ", 1)[1]
    assert shlex.split(command)[0] == "jitwatch"
    again = jitwatch(*shlex.split(command)[1:], cwd=tmp_path)
    assert json.loads(again.stdout)["totals"]["recompiles"] == 26


@pytest.mark.parametrize("format_", ["table", "json"])
def test_the_report_can_be_written_to_a_file(tmp_path: Path, format_: str) -> None:
    scenes.serving(tmp_path / "run")
    got = jitwatch("report", "run", "--format", format_, "--output-file", "out", cwd=tmp_path)
    assert (got.returncode, got.stdout) == (0, "")
    assert "_paged_attention_fwd" in (tmp_path / "out").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "words",
    [["report"], ["report", "nowhere"], ["report", "."], ["report", "run", "--output-file", "no/such/f"]],
)
def test_bad_input_is_one_line_and_exit_2(tmp_path: Path, words: list[str]) -> None:
    MadeRun(tmp_path / "run")
    got = jitwatch(*words, cwd=tmp_path)
    assert got.returncode == 2
    assert got.stdout == ""
    assert len(got.stderr.splitlines()) == 1
    assert got.stderr.startswith("jitwatch: ")


def test_a_dumb_terminal_in_the_c_locale_gets_plain_ascii(tmp_path: Path) -> None:
    scenes.serving(tmp_path / "run")
    got = jitwatch(
        "report", "run", cwd=tmp_path, LC_ALL="C", PYTHONIOENCODING="ascii", TERM="dumb", NO_COLOR="1"
    )
    assert got.returncode == 0, got.stderr
    assert got.stdout.isascii()
    assert "\x1b" not in got.stdout


def test_neither_format_imports_triton_or_torch(tmp_path: Path) -> None:
    scenes.serving(tmp_path / "run")
    program = (
        "import sys; from jitwatch.cli import main; main(['report', 'run', '--format', sys.argv[1]]);"
        "print(sorted({'triton', 'torch', 'libcst'} & sys.modules.keys()), file=sys.stderr)"
    )
    for format_ in ("table", "json"):
        got = subprocess.run(
            [sys.executable, "-c", program, format_], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert got.stderr.strip() == "[]"
