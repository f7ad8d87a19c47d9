"""``jitwatch lint --fix`` on files: what it writes, prints and returns."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from jitwatch.errors import JitwatchError
from jitwatch.fix.files import replace_file
from tests.fix.fixing import decorated
from tests.lint.conftest import BAD, GOOD, Lint

Project = Callable[..., Path]

UNSAFE = decorated("@triton.jit").replace("if row < num_tokens:", "for row in range(num_tokens):")
"""One finding of JW001, whose fix is unsafe: a 1 would have folded the loop away."""

FIXED = UNSAFE.replace("@triton.jit", '@triton.jit(do_not_specialize=["num_tokens"])')

SAFE = BAD.replace('"seeds"', '"factor", "nothing_alike"')
"""One finding of JW006, whose fix is safe."""

MENDED = SAFE.replace(', "nothing_alike"', "")


def test_without_a_word_nothing_is_written(project: Project, lint: Lint) -> None:
    folder = project({"a.py": SAFE, "b.py": UNSAFE})
    assert lint().code == 1
    assert lint("--unsafe-fixes").code == 1
    assert (folder / "a.py").read_text() == SAFE
    assert (folder / "b.py").read_text() == UNSAFE


def test_fix_applies_what_is_safe_and_reports_the_rest(project: Project, lint: Lint) -> None:
    folder = project({"a.py": SAFE, "b.py": UNSAFE})
    ran = lint("--fix", "--format", "concise")
    assert ran.code == 1
    assert (folder / "a.py").read_text() == MENDED
    assert (folder / "b.py").read_text() == UNSAFE
    assert "JW001" in ran.out
    assert "JW006" not in ran.out
    assert "Fixed 1 finding. Left: 1 finding in 1 file (2 kernels in 2 files looked at)." in ran.out
    assert "1 fixable with `--fix --unsafe-fixes`." in ran.out
    assert "`--fix --verify` compiles both forms" in ran.out


def test_unsafe_fixes_are_applied_when_asked_for(project: Project, lint: Lint) -> None:
    folder = project({"a.py": SAFE, "b.py": UNSAFE})
    ran = lint("--fix", "--unsafe-fixes")
    assert (ran.code, ran.out) == (
        0,
        "Fixed 2 findings. No findings left: 2 kernels in 2 files looked at.\n",
    )
    assert (folder / "b.py").read_text() == FIXED
    again = lint("--fix", "--unsafe-fixes")
    assert (again.code, again.out) == (0, "No findings: 2 kernels in 2 files looked at.\n")


def test_a_plain_run_counts_what_could_be_fixed(project: Project, lint: Lint) -> None:
    project({"a.py": SAFE, "b.py": UNSAFE})
    assert "1 fixable with `--fix`, 1 more with `--unsafe-fixes`." in lint().out
    assert "2 fixable with `--fix --unsafe-fixes`." in lint("--unsafe-fixes").out


def test_diff_writes_nothing_and_is_a_patch(project: Project, lint: Lint) -> None:
    folder = project({"b.py": UNSAFE})
    assert (lint("--diff").code, lint("--diff").out) == (0, "")
    ran = lint("--diff", "--unsafe-fixes")
    assert ran.code == 1
    assert ran.err == "Would fix 1 finding.\n"
    assert (folder / "b.py").read_text() == UNSAFE
    patch = subprocess.run(["git", "apply", "-p0", "-"], input=ran.out, text=True, cwd=folder, check=False)
    assert patch.returncode == 0
    assert (folder / "b.py").read_text() == FIXED


def test_fix_only_says_nothing_of_the_rest_and_exits_0(project: Project, lint: Lint) -> None:
    folder = project({"a.py": SAFE, "b.py": UNSAFE})
    ran = lint("--fix-only")
    assert (ran.code, ran.out) == (0, "")
    assert (folder / "a.py").read_text() == MENDED


def test_exit_non_zero_on_fix_and_exit_zero(project: Project, lint: Lint) -> None:
    project({"a.py": SAFE})
    assert lint("--fix", "--exit-non-zero-on-fix").code == 1
    assert lint("--fix", "--exit-non-zero-on-fix").code == 0
    project({"b.py": UNSAFE})
    assert lint("--fix", "--exit-zero").code == 0


def test_show_fixes_lists_them_by_file_and_rule(project: Project, lint: Lint) -> None:
    project({"a.py": SAFE, "b.py": UNSAFE})
    ran = lint("--fix", "--unsafe-fixes", "--show-fixes")
    assert ran.out.endswith(
        "Fixed:\n"
        "- a.py:\n    1 × JW006 (useless-opt-out)\n"
        "- b.py:\n    1 × JW001 (specialised-length): num_tokens of kernel\n"
    )


def test_stdin_comes_back_mended_on_stdout() -> None:
    command = [sys.executable, "-m", "jitwatch", "lint", "--isolated", "--no-cache", "--fix", "-"]
    ran = subprocess.run(command, input=SAFE, text=True, capture_output=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, MENDED)
    assert "Fixed 1 finding." in ran.stderr
    clean = subprocess.run(command, input=GOOD, text=True, capture_output=True, check=False)
    assert (clean.returncode, clean.stdout) == (0, GOOD)


def test_only_selected_rules_are_applied(project: Project, lint: Lint) -> None:
    folder = project({"a.py": SAFE, "b.py": UNSAFE})
    lint("--fix", "--unsafe-fixes", "--select", "JW001")
    assert (folder / "a.py").read_text() == SAFE
    assert (folder / "b.py").read_text() == FIXED


def test_a_file_read_for_context_is_never_edited(project: Project, lint: Lint) -> None:
    kernel = "import triton\nimport triton.language as tl\n\n@triton.jit\ndef k(x, n_rows):\n    tl.store(x, 0.0)\n"
    launch = "from a import k\n\ndef run(x):\n    k[(1,)](x, x.shape[0])\n"
    folder = project({"src/a.py": kernel, "other/b.py": launch})
    lint("--fix", "--unsafe-fixes", "--context", "other", "src")
    assert (folder / "other/b.py").read_text() == launch
    assert (folder / "src/a.py").read_text() == kernel
    lint("--fix", "--unsafe-fixes", "src", "other")
    assert "n_rows" not in (folder / "src/a.py").read_text()
    assert (folder / "other/b.py").read_text() == launch.replace(", x.shape[0]", "")


def test_mode_links_and_line_ends_are_kept(project: Project, lint: Lint) -> None:
    folder = project({"real.py": SAFE.replace("\n", "\r\n").encode()})
    (folder / "real.py").chmod(0o750)
    (folder / "a.py").symlink_to("real.py")
    assert lint("--fix", "a.py").code == 0
    assert (folder / "a.py").is_symlink()
    assert stat.S_IMODE((folder / "real.py").stat().st_mode) == 0o750
    assert (folder / "real.py").read_bytes() == MENDED.replace("\n", "\r\n").encode()
    assert [each.name for each in folder.iterdir() if each.name.startswith(".real")] == []


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_file_in_a_folder_that_cannot_be_written_is_said_and_the_others_are_fixed(
    project: Project, lint: Lint
) -> None:
    folder = project({"a.py": SAFE, "locked/b.py": SAFE})
    (folder / "locked").chmod(0o500)
    ran = lint("--fix", "--no-cache")
    (folder / "locked").chmod(0o700)
    assert ran.code == 2
    assert ran.err == "jitwatch: locked/b.py: cannot be written: permission denied\n"
    assert (folder / "a.py").read_text() == MENDED


def test_a_file_that_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"new")
    with pytest.raises(JitwatchError, match=r"a\.py: changed while it was linted; run it again"):
        replace_file(str(path), b"fixed", expected=b"old")
    assert path.read_bytes() == b"new"


def test_a_file_that_cannot_be_parsed_stays_and_the_exit_code_says_so(project: Project, lint: Lint) -> None:
    folder = project({"a.py": SAFE, "b.py": "import triton\n@triton.jit\ndef broken(:\n"})
    ran = lint("--fix")
    assert ran.code == 2
    assert ran.err.startswith("jitwatch: b.py:3:")
    assert (folder / "a.py").read_text() == MENDED


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--fix", "--watch"], "--fix, --fix-only and --diff go with neither --watch nor --add-ignore"),
        (["--diff", "--add-ignore"], "--fix, --fix-only and --diff go with neither --watch nor --add-ignore"),
        (["--verify"], "add --fix, --fix-only or --diff"),
        (["--show-fixes"], "add --fix, --fix-only or --diff"),
        (["--fix", "--verify", "-"], "--verify imports the files it compiles: it cannot verify stdin"),
    ],
)
def test_options_that_make_no_sense_together_are_refused(
    project: Project, lint: Lint, arguments: list[str], message: str
) -> None:
    project({"a.py": SAFE})
    ran = lint(*arguments)
    assert ran.code == 2
    assert message in ran.err
    assert ran.err.count("\n") == 1
