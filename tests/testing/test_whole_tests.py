"""The guard of a whole test, and the marker."""

from __future__ import annotations

import pytest

from tests.testing.conftest import ON_DEVICE, Session


def test_each_kernel_has_one_variant_free(session: Session) -> None:
    got = session(
        """
        def test_launches_nothing(no_recompiles):
            pass

        def test_first_variants(no_recompiles):
            kernel[(1,)](16)
            kernel[(1,)](32)
            other[(1,)](17)

        def test_a_fixture_may_warm_up(no_recompiles, warm):
            kernel[(1,)](17)

        @pytest.fixture
        def warm():
            kernel[(1,)](16)
            kernel[(1,)](17)

        def test_recompiles(no_recompiles):
            kernel[(1,)](16)
            other[(1,)](16)
            other[(1,)](1)

        def test_its_own_failure_is_what_is_shown(no_recompiles):
            kernel[(1,)](16)
            kernel[(1,)](17)
            assert not "seen"

        def test_entered_blocks_replace_the_guard(no_recompiles):
            kernel[(1,)](16)
            kernel[(1,)](17)
            with no_recompiles:
                kernel[(1,)](18)

        def test_a_function_that_is_decorated_again_recompiles(no_recompiles):
            for _ in range(2):
                @triton.jit
                def local(n):
                    pass
                local[(1,)](16)

        def test_options_spelled_differently_recompile(no_recompiles):
            kernel[(1,)](16)
            kernel[(1,)](16, num_warps=4)
        """
    )
    got.assert_outcomes(passed=4, failed=4)
    got.stdout.fnmatch_lines(
        [
            "no_recompiles: 1 recompile of other",
            "*num_tokens: 16 (÷16) → 1 (=1)*",
            "E       AssertionError: assert not 'seen'",
            "*local  decorated again (a new function object)*",
            "*decorate it once, at module level*",
            "*same options, spelled differently*",
        ]
    )


def test_the_marker_counts_recompiles_of_all_kernels_or_of_one(session: Session) -> None:
    got = session(
        """
        def launches():
            for n in (16, 17, 1):
                kernel[(1,)](n)
            other[(1,)](16)
            other[(1,)](1)

        @pytest.mark.max_recompiles(3)
        def test_exactly_as_many():
            launches()

        @pytest.mark.max_recompiles(2)
        def test_one_too_many():
            launches()

        @pytest.mark.max_recompiles(1, kernel="other")
        def test_one_kernel_by_name():
            launches()

        @pytest.mark.max_recompiles(0, kernel=other)
        def test_one_kernel_by_object():
            launches()

        @pytest.mark.max_recompiles(5)
        @pytest.mark.max_recompiles(1, kernel="test_it.kernel")
        def test_the_tightest_of_several():
            launches()

        @pytest.mark.max_recompiles(0, kernel="kernle")
        def test_a_misspelled_kernel_does_not_pass_on_nothing():
            launches()

        @pytest.mark.max_recompiles(-1)
        def test_nonsense():
            launches()
        """
    )
    got.assert_outcomes(passed=2, failed=5)
    got.stdout.fnmatch_lines(
        [
            "max_recompiles(2): 3 recompiles of kernel, other, 2 allowed",
            "max_recompiles(0): 1 recompile of other",
            "max_recompiles(1): 2 recompiles of kernel, 1 allowed",
            "*no kernel called 'kernle' was launched in this test; launched: kernel, other",
            "write @pytest.mark.max_recompiles(n)*",
        ]
    )


AUTOTUNED = """
@triton.autotune(configs=[triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 32})], key=["n"])
@triton.jit
def tuned(n, BLOCK: tl.constexpr):
    pass
"""


@pytest.mark.parametrize("setting", ["count", "ignore"])
def test_tuning_counts_once_and_its_candidates_do_not(session: Session, setting: str) -> None:
    got = session(
        AUTOTUNED
        + """
def test_tuned_again(no_recompiles):
    tuned[(1,)](16)
    tuned[(1,)](32)

def test_tuned_in_the_block(no_recompiles):
    with no_recompiles:
        tuned[(1,)](16)

def test_tuned_once(no_recompiles):
    tuned[(1,)](16)
    tuned[(1,)](16)

def test_counts(jitwatch):
    with jitwatch.watch() as watched:
        tuned[(1,)](16)
        tuned[(1,)](17)
    assert (len(watched.tuned), len(watched.candidates), watched.misses) == (2, CANDIDATES, ())
""".replace("CANDIDATES", "4" if ON_DEVICE else "2"),  # offline tries one configuration of each key
        "-o",
        f"jitwatch_tunings={setting}",
    )
    got.assert_outcomes(passed=2 if setting == "count" else 4, failed=2 if setting == "count" else 0)
    if setting == "count":
        got.stdout.fnmatch_lines(
            [
                "no_recompiles: 1 recompile of tuned",
                "*autotuned again: n: 16 → 32*2 configurations*",
                "*take n out of the autotuner's key*",
                "*its first autotuning*",
            ]
        )


def test_disk_hits_count_unless_told_otherwise(session: Session) -> None:
    source = """
    def test_it(no_recompiles):
        kernel[(1,)](16)
        kernel[(1,)](17)
    """
    session(source).stdout.fnmatch_lines(["*num_tokens: 16 (÷16) → 17 (other)*compiled, *"])
    again = session(source)
    again.assert_outcomes(failed=1)
    again.stdout.fnmatch_lines(["*num_tokens: 16 (÷16) → 17 (other)*read from disk, *"])
    session(source, "-o", "jitwatch_disk_hits=ignore").assert_outcomes(passed=1)
