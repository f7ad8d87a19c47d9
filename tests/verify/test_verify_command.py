"""``jitwatch verify`` as a user calls it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Profiled
from tests.verify.conftest import KERNELS

Write = Callable[..., Path]
Profile = Callable[..., Profiled]

ADD = ("--signature", "x=*bf16:16, y=*bf16:16, out=*bf16:16, n=i32:16, BLOCK=1024")
PROGRAM = """
@triton.jit
def masked(x, n, num_rows, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    mask = (offsets < n) & (row < num_rows)
    tl.store(x + row * BLOCK + offsets, tl.load(x + row * BLOCK + offsets, mask=mask) * 2, mask=mask)

@triton.jit
def filled(x, length: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x + offsets, offsets, mask=offsets < length)
"""
LAUNCHES = """
from triton.runtime.jit import MockTensor
x, y = MockTensor("float32"), MockTensor("int32")
if __name__ == "__main__":
    for n, num_rows in [(1024, 16), (1000, 16), (1024, 3), (1000, 3), (1000, 1)]:
        masked[(1,)](x, n, num_rows, BLOCK=1024)
    for length in {lengths}:
        filled[(1,)](y, length, BLOCK=128)
"""


def verify(
    *words: str | Path, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    line = [sys.executable, "-m", "jitwatch", "verify", *map(str, words)]
    env = {**os.environ, **environment}
    return subprocess.run(line, capture_output=True, text=True, check=False, cwd=cwd, env=env)


def rows(got: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    """What ``--format json`` printed."""
    found: list[dict[str, Any]] = json.loads(got.stdout)
    return found


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ([f"{KERNELS}::no_such"], "has no kernel 'no_such': it has"),
        (["/no/such/file.py::kernel"], "cannot read /no/such/file.py"),
        ([f"{KERNELS}::vector_add", "--remedy", "n=magic"], "no remedy is called 'magic'"),
        ([f"{KERNELS}::vector_add", "--remedy", "m"], "no such parameter"),
        ([f"{KERNELS}::vector_add", "--target", "cuda:12"], "choose one of cuda:80"),
        ([f"{KERNELS}::vector_add", "--signature", "m=i32"], "its parameters are x, y, out, n, BLOCK"),
        ([f"{KERNELS}::vector_add", "--signature", "n=bla"], "neither a type"),
        (["/no/such/run"], "cannot read run"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(words: list[str], reason: str) -> None:
    got = verify(*words)
    assert got.returncode == 2
    assert reason in got.stderr
    assert got.stderr.count("\n") == 1


def test_a_named_remedy_that_costs_ends_with_1_and_an_unnamed_one_with_0() -> None:
    named = verify(f"{KERNELS}::vector_add", *ADD, "--remedy", "n=do_not_specialize", "--format", "json")
    assert named.returncode == 1
    (row,) = rows(named)
    assert {**row, "path": Path(row["path"])}.items() >= {
        "kernel": "vector_add",
        "path": KERNELS,
        "parameter": "n",
        "remedy": "do_not_specialize",
        "target": "cuda:90",
        "verdict": "costs",
    }.items()
    assert KERNELS.read_text().splitlines()[row["line"] - 1].startswith("def vector_add(")
    assert row["before"]["accesses"]["global loads"] == {"128": 2}
    assert row["after"]["accesses"]["global loads"] == {"16": 16}
    assert verify(f"{KERNELS}::vector_add", *ADD).returncode == 0


def test_the_table_names_the_verdict_what_changes_and_the_next_command() -> None:
    got = verify("kernels.py::vector_add", *ADD, cwd=KERNELS.parent)
    assert "costs" in got.stdout
    assert "8 → 1 wide" in got.stdout
    assert "warm up the variants instead" in got.stdout
    assert "jitwatch lint" not in got.stdout
    harmless = verify("kernels.py::scale_rows", cwd=KERNELS.parent)
    assert "types were guessed from the source; give them with --signature" in harmless.stdout
    assert "jitwatch lint --fix --verify kernels.py" in harmless.stdout


def test_a_run_is_verified_on_its_recorded_variants_and_keeps_the_verdicts(
    write: Write, profile: Profile
) -> None:
    run = profile(write(PROGRAM + LAUNCHES.format(lengths=[50, 60, 100])))
    assert run.code == 0, run.stderr
    got = verify(run.directory, "--format", "json")
    assert got.returncode == 0, got.stderr
    verdicts = {row["parameter"]: row for row in rows(got)}
    assert verdicts["n"]["verdict"] == "costs"
    assert verdicts["num_rows"]["verdict"] == "harmless"
    assert verdicts["length"]["verdict"] == "harmless"
    assert json.loads((run.directory / "verdicts.json").read_text()) == rows(got)
    report = subprocess.run(
        [sys.executable, "-m", "jitwatch", "report", run.directory],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "proven harmless, num_rows (cuda:90)" in report
    assert "proven to cost, n (cuda:90)" in report


def test_a_run_of_thirty_variants_is_verified_cold_within_a_minute(write: Write, profile: Profile) -> None:
    run = profile(write(PROGRAM + LAUNCHES.format(lengths=[*range(40, 65)])))
    assert sum(kernel["variants"] for kernel in run.report()["kernels"]) == 30
    started = time.monotonic()
    got = verify(run.directory, "--format", "json", TRITON_CACHE_DIR=str(write("", "cold/x").parent))
    assert time.monotonic() - started < 60
    assert {row["verdict"] for row in rows(got)} == {"harmless", "costs"}


def test_the_example_servers_mistakes_are_mended_without_harm(profile: Profile) -> None:
    server = Path(__file__).parents[2] / "examples" / "serve.py"
    run = profile(server, "--demo")
    assert run.code == 0, run.stderr
    found = {
        (row["kernel"], row["parameter"]): row for row in rows(verify(run.directory, "--format", "json"))
    }
    assert found["embed_kernel", "num_tokens"]["verdict"] == "harmless"
    assert found["rotary_cache_kernel", "num_tokens"]["verdict"] == "harmless"
    assert {row["verdict"] for row in found.values()} == {"harmless"}
