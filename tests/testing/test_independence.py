"""A verdict depends on the test alone: not on tests before it, not on how workers share them."""

from __future__ import annotations

import pytest

from tests.testing.conftest import WORKERS, Session

ORDERED = """
def test_recompiles(no_recompiles):
    kernel[(1,)](16)
    kernel[(1,)](17)

def test_once(no_recompiles):
    kernel[(1,)](17)

def test_other_once(no_recompiles):
    kernel[(1,)](1)

def test_unguarded():
    for n in (1, 16, 17):
        kernel[(1,)](n)

def test_still_recompiles(no_recompiles):
    kernel[(1,)](16)
    kernel[(1,)](17)

def test_a_block_without_warm_up_fails_whatever_ran_before(no_recompiles):
    with no_recompiles:
        kernel[(1,)](16)
"""


@pytest.mark.parametrize("arguments", [pytest.param([], id="alone"), WORKERS])
def test_what_other_tests_launched_changes_nothing(session: Session, arguments: list[str]) -> None:
    got = session(ORDERED, *arguments)
    got.assert_outcomes(passed=3, failed=3)
    got.stdout.fnmatch_lines_random(
        [
            "FAILED *::test_recompiles - no_recompiles: 1 recompile of kernel",
            "FAILED *::test_still_recompiles - no_recompiles: 1 recompile of kernel",
            "FAILED *::test_a_block_without_* - no_recompiles (test_it.py:*): 1 launch of kernel missed*",
            "*num_tokens: 16 (÷16) → 17 (other)*",
            '*+ @triton.jit(do_not_specialize=?"num_tokens"?)',
        ]
    )


def test_warm_up_of_wider_fixtures_counts_for_the_tests_that_ask_for_it(session: Session) -> None:
    session(
        """
        def test_before(no_recompiles):
            for n in (16, 17):
                with pytest.raises(RecompileError), no_recompiles:
                    kernel[(1,)](n)

        @pytest.fixture(scope="module")
        def warm():
            kernel[(1,)](16)
            kernel[(1,)](17)

        def test_warm(no_recompiles, warm):
            with no_recompiles:
                kernel[(1,)](32)
                kernel[(1,)](18)

        def test_warm_again(warm, no_recompiles):
            kernel[(1,)](32)
            kernel[(1,)](18)

        def test_a_class_that_was_not_warmed_up_is_a_recompile(no_recompiles, warm):
            with pytest.raises(RecompileError, match=r"17 \\(other\\) → 1 \\(=1\\)"), no_recompiles:
                kernel[(1,)](1)

        def test_without_it(no_recompiles):
            with pytest.raises(RecompileError), no_recompiles:
                kernel[(1,)](16)

        def test_history_includes_it(jitwatch, warm):
            assert len(jitwatch.variants(kernel)) == 2

        def test_history_does_not(jitwatch):
            assert jitwatch.variants(kernel) == ()
        """
    ).assert_outcomes(passed=7)


def test_the_choices_of_autotuners_are_forgotten_too(session: Session) -> None:
    session(
        """
        @triton.autotune(configs=[triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 32})], key=["n"])
        @triton.jit
        def tuned(n, BLOCK: tl.constexpr):
            pass

        @pytest.fixture(scope="module")
        def warm():
            tuned[(1,)](16)

        @pytest.mark.parametrize("attempt", [1, 2])
        def test_tunes_each_time(jitwatch, attempt):
            with jitwatch.watch() as watched:
                tuned[(1,)](16)
            assert len(watched.tuned) == 1

        def test_unless_warm(no_recompiles, warm):
            with no_recompiles:
                tuned[(1,)](16)
        """
    ).assert_outcomes(passed=3)
