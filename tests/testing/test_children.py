"""Processes that a test starts count as well."""

from __future__ import annotations

import pytest

from tests.testing.conftest import ON_DEVICE, Session

LAUNCHES = """
import multiprocessing, os, subprocess, sys

def launch(*lengths):
    for n in lengths:
        kernel[(1,)](n)

def run(*lengths):
    program = f"import test_it; test_it.launch(*{lengths})"
    subprocess.run([sys.executable, "-c", program], check=True)

def fork(*lengths):
    process = multiprocessing.get_context("fork").Process(target=launch, args=lengths)
    process.start()
    process.join()
    assert process.exitcode == 0
"""


def test_subprocesses_are_watched(session: Session) -> None:
    got = session(
        LAUNCHES
        + """
def test_a_child_has_its_first_variants_free(no_recompiles):
    with no_recompiles:
        run(16, 32)

def test_a_child_recompiles_in_a_block(no_recompiles):
    with no_recompiles:
        run(16, 17)

def test_nothing_of_it_is_left():
    assert "jitwatch-tests" not in os.environ.get("JITWATCH_SESSION", "")
"""
    )
    got.assert_outcomes(passed=2, failed=1)
    got.stdout.fnmatch_lines(
        ["no_recompiles (test_it.py:*): 1 launch of kernel missed*", "*num_tokens: 16 (÷16) → 17 (other)*"]
    )


@pytest.mark.skipif(ON_DEVICE, reason="CUDA does not survive a fork")
def test_forks_inherit_memory_and_are_watched(session: Session) -> None:
    got = session(
        LAUNCHES
        + """
def test_a_fork_inherits_memory(no_recompiles):
    kernel[(1,)](16)
    with no_recompiles:
        fork(32)

def test_a_fork_recompiles(no_recompiles):
    kernel[(1,)](16)
    fork(32, 1)
"""
    )
    got.assert_outcomes(passed=1, failed=1)
    got.stdout.fnmatch_lines(["no_recompiles: 1 recompile of kernel", "*num_tokens: 16 (÷16) → 1 (=1)*"])
