"""Findings held against a real run of the program they are about."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from jitwatch.lint.evidence import Recording
from tests.lint.conftest import Lint
from tests.sarif import sarif_run

Write = Callable[..., Path]

PROGRAM = """\
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["num_token"])
def fill(num_tokens, seed):
    tl.device_print("n", num_tokens + seed)


@triton.jit
def spelled(seed):
    tl.device_print("n", seed)


@triton.jit(do_not_specialize=["seeds"])
def never_run(seed):
    tl.device_print("n", seed)


def values():
    return [3, 16]


if __name__ == "__main__":
    for value in values():
        fill[(1,)](value, 7)
        fill[(1,)](16, value)
    spelled[(1,)](7, num_warps=2)
    spelled[(1,)](7, num_warps=8)
    spelled[(1,)](7, num_warps=8, num_stages=3)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("triton")
    folder = tmp_path_factory.mktemp("evidence")
    (folder / "program.py").write_text(PROGRAM)
    jitwatch = [sys.executable, "-m", "jitwatch", "profile", "--offline", "--no-execute", "--out", "run"]
    command = [*jitwatch, "--", sys.executable, "program.py"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return folder


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


SELECT = ("--no-cache", "--select", "JW006,JW010,JW200", "program.py")


def test_without_a_run_there_is_no_evidence(here: Path, lint: Lint) -> None:
    findings = lint(*SELECT, "--format", "json").findings
    assert [finding["evidence"] for finding in findings] == [None] * len(findings)
    assert not [finding for finding in findings if finding["code"] == "JW200"]


def test_confirmed_findings_come_first_by_what_they_cost(here: Path, lint: Lint) -> None:
    findings = lint(*SELECT, "--profile", "run", "--format", "json").findings
    seconds = [finding["evidence"]["seconds"] for finding in findings]
    assert seconds == sorted(seconds, reverse=True)
    recompiles = {
        (finding["code"], finding["kernel"], finding["parameter"]): finding["evidence"]["recompiles"]
        for finding in findings
    }
    assert recompiles == {
        ("JW200", "fill", "num_tokens"): 1,
        ("JW200", "fill", "seed"): 1,
        ("JW200", "spelled", None): 1,
        ("JW010", "spelled", None): 1,
        ("JW006", "fill", None): 0,
        ("JW006", "never_run", None): 0,
    }
    ran = {finding["kernel"]: finding["evidence"]["ran"] for finding in findings}
    assert ran == {"fill": True, "spelled": True, "never_run": False}


def test_what_another_rule_found_is_not_added_again(here: Path, lint: Lint) -> None:
    found = lint("--no-cache", "program.py", "--profile", "run", "--format", "json").findings
    added = {(f["kernel"], f["parameter"]) for f in found if f["code"] == "JW200"}
    by_rules = {(f["kernel"], f["parameter"]) for f in found if f["code"] != "JW200" and f["parameter"]}
    assert ("fill", "num_tokens") in by_rules
    assert added.isdisjoint(by_rules)


def test_the_text_says_what_was_observed_and_what_was_not(here: Path, lint: Lint) -> None:
    out = lint(*SELECT, "--profile", "run").out
    assert "  = observed: no recompile of this kind in the run\n" in out
    assert "  = observed: the kernel was not launched in the run\n" in out
    assert "of the option `num_warps`, of which the source gives no hint\n" in out
    assert "(num_warps: 2 → 8)\n" in out
    assert "\nThe run confirms 4 of them, at " in out


def test_an_observed_recompile_is_suppressed_like_any_finding(here: Path, lint: Lint, tmp_path: Path) -> None:
    source = PROGRAM.replace("def fill(num_tokens, seed):", "def fill(num_tokens, seed):  # noqa: JW200")
    (tmp_path / "program.py").write_text(source)
    arguments = ("--no-cache", "--select", "JW200", "--profile", "run", str(tmp_path / "program.py"))
    ran = lint(*arguments, "--format", "json")
    assert {finding["kernel"] for finding in ran.findings} == {"spelled"}


def test_sarif_carries_the_evidence(here: Path, lint: Lint) -> None:
    first = sarif_run(lint(*SELECT, "--profile", "run", "--format", "sarif").out)["results"][0]
    assert first["properties"]["evidence"]["recompiles"] > 0


def test_what_is_no_run_is_one_line(here: Path, lint: Lint) -> None:
    ran = lint("--profile", "nowhere", "program.py")
    assert ran.code == 2
    assert ran.err.startswith("jitwatch: cannot read run nowhere")


def test_a_kernel_of_an_installed_copy_is_matched_by_file_and_name(here: Path) -> None:
    recording = Recording.of_run(here / "run")
    assert recording.rows("program.py", "fill") == recording.rows("elsewhere/program.py", "fill") != ()
    assert recording.rows("elsewhere/other.py", "fill") == ()
