"""`jitwatch profile` as a user types it: options, bad input, exit codes, the printed report."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Profiled

Write = Callable[..., Path]
Profile = Callable[..., Profiled]

RECOMPILES = """
@triton.jit
def kernel(n):
    tl.device_print("n", n)
kernel[(1,)](3)
kernel[(1,)](16)
kernel[(1,)](1)
"""


def jitwatch(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command line."""
    return subprocess.run(
        [sys.executable, "-m", "jitwatch", *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        timeout=120,
    )


def one_line(got: subprocess.CompletedProcess[str]) -> str:
    """The error of a command that could not run: one line, no traceback, exit 2."""
    assert got.returncode == 2, got.stderr
    (line,) = got.stderr.strip().splitlines()
    assert line.startswith("jitwatch: ")
    return line


def test_a_command_that_does_not_exist_is_named(tmp_path: Path) -> None:
    line = one_line(jitwatch("profile", "no-such-command", "x", cwd=tmp_path))
    assert "no-such-command: command not found" in line
    assert not (tmp_path / ".jitwatch").exists(), "nothing ran, so there is no run"


def test_a_file_that_may_not_be_executed_is_told_how(tmp_path: Path) -> None:
    script = tmp_path / "serve.py"
    script.write_text("print(1)\n")
    line = one_line(jitwatch("profile", str(script), cwd=tmp_path))
    assert "permission denied" in line
    assert f"python {script}" in line


def test_a_program_without_interpreter_line_is_told(tmp_path: Path) -> None:
    script = tmp_path / "serve"
    script.write_text("print(1)\n")
    script.chmod(0o755)
    assert "#! line" in one_line(jitwatch("profile", str(script), cwd=tmp_path))


def test_no_command_is_told(tmp_path: Path) -> None:
    assert "no command given" in one_line(jitwatch("profile", cwd=tmp_path))
    assert "no command given" in one_line(jitwatch("profile", "--offline", "--", cwd=tmp_path))


def test_an_unknown_target_lists_the_known_ones(tmp_path: Path) -> None:
    got = jitwatch("profile", "--offline=cuda:12", "true", cwd=tmp_path)
    assert got.returncode == 2
    assert "cuda:90" in got.stderr
    assert "Traceback" not in got.stderr


def test_a_run_directory_in_use_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    line = one_line(jitwatch("profile", "--out", str(tmp_path), "true"))
    assert "is not empty" in line
    assert (tmp_path / "precious").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_run_directory_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert "cannot write" in one_line(jitwatch("profile", "--out", str(tmp_path / "run"), "true"))


def test_a_run_directory_below_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "cannot write" in one_line(jitwatch("profile", "--out", str(tmp_path / "file" / "run"), "true"))


def test_a_command_without_python_says_so(tmp_path: Path) -> None:
    got = jitwatch("profile", "true", cwd=tmp_path)
    assert got.returncode == 0
    assert "No Python process" in got.stderr


def test_a_python_that_never_imports_triton_says_so(write: Write, profile: Profile) -> None:
    run = profile(write("print('done')\n", preamble=""), options=())
    assert (run.code, run.stdout) == (0, "done\n")
    assert "Triton" in run.stderr


def test_options_after_the_command_belong_to_the_command(write: Write, tmp_path: Path) -> None:
    program = write("import sys\nprint(sys.argv[1:])\n", preamble="")
    words = ["--offline", "--out", "x", "--help"]
    got = jitwatch("profile", "--offline", sys.executable, str(program), *words, cwd=tmp_path)
    assert got.stdout == f"{words}\n"


def test_a_bare_offline_does_not_swallow_the_command(write: Write, tmp_path: Path) -> None:
    program = write("import os\nprint(os.environ['JITWATCH_OFFLINE'])\n", preamble="")
    for option, target in [("--offline", "cuda:90"), ("--offline=hip:gfx942", "hip:gfx942")]:
        assert jitwatch("profile", option, sys.executable, str(program), cwd=tmp_path).stdout == f"{target}\n"


def test_the_default_run_directory_is_found_by_report_and_ignored_by_git(
    write: Write, tmp_path: Path
) -> None:
    program = write(RECOMPILES)
    home = tmp_path / "home"
    home.mkdir()
    got = jitwatch("profile", "--offline", "--no-execute", sys.executable, str(program), cwd=home)
    assert got.returncode == 0
    assert (home / ".jitwatch" / ".gitignore").read_text() == "*\n"
    again = jitwatch("report", cwd=home)
    assert again.returncode == 0
    assert again.stdout == got.stderr
    assert "kernel" in again.stdout
    assert "2 recompiles" in again.stdout


def test_fail_on_gives_an_exit_code_of_its_own(write: Write, profile: Profile) -> None:
    program = write(RECOMPILES)
    offline = ("--offline", "--no-execute")
    assert profile(program, options=(*offline, "--fail-on", "2")).code == 0
    failed = profile(program, options=(*offline, "--fail-on", "1"))
    assert failed.code == 3
    assert "2 recompiles, more than --fail-on 1" in failed.stderr


def test_fail_on_leaves_the_code_of_a_command_that_failed_itself(write: Write, profile: Profile) -> None:
    program = write(RECOMPILES + "raise SystemExit(9)\n")
    assert profile(program, options=("--offline", "--no-execute", "--fail-on", "0")).code == 9


def test_quiet_prints_nothing_of_its_own(write: Write, profile: Profile) -> None:
    run = profile(write(RECOMPILES), options=("--offline", "--no-execute", "--quiet"))
    assert (run.stdout, run.stderr) == ("", "")
    assert len(run.events("miss")) == 3
