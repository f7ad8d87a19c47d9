"""``jitwatch``: what happened, how many variants, a sweep over lengths."""

from __future__ import annotations

from tests.testing.conftest import Session


def test_watching_tells_and_fails_nothing(session: Session) -> None:
    session(
        """
        def test_watch(jitwatch):
            kernel[(1,)](16)
            with jitwatch.watch() as watched:
                kernel[(1,)](32)
                assert watched.misses == ()
                kernel[(1,)](17)
                other[(1,)](17)
                assert len(watched.misses) == 2
            kernel[(1,)](1)
            assert watched.kernels == ("kernel", "other")
            assert len(watched.misses) == 2
            (recompile,) = watched.recompiles
            assert recompile.kernel.name == "kernel"
            assert [change.words() for change in recompile.changes] == ["num_tokens: 16 (÷16) → 17 (other)"]
            assert watched.variants(kernel) == ({"num_tokens": "i32 other"},)
            assert len(jitwatch.variants(kernel)) == 3
            assert len(jitwatch.variants("other")) == 1
            assert "16 (÷16) → 17 (other)" in str(watched)

        def test_limits(jitwatch):
            with jitwatch.no_recompiles(allow=2):
                kernel[(1,)](16)
                kernel[(1,)](17)
            with jitwatch.no_recompiles(kernel=other, first_variants=True):
                kernel[(1,)](1)
                other[(1,)](16)
            with jitwatch.no_recompiles(ignore=[kernel]):
                kernel[(1,)](2**40)
            with pytest.raises(RecompileError, match=r"2 launches of other missed .*, 1 allowed"):
                with jitwatch.no_recompiles(allow=1):
                    other[(1,)](17)
                    other[(1,)](1)
            with pytest.raises(TypeError, match="neither a @triton.jit function"):
                jitwatch.variants(42)
        """
    ).assert_outcomes(passed=2)


def test_a_sweep_counts_variants_as_if_none_had_been_launched_before(session: Session) -> None:
    got = session(
        """
        def run(n):
            kernel[(1,)](n)

        def both(n):
            kernel[(1,)](n)
            other[(1,)](n)

        def test_as_expected(jitwatch):
            kernel[(1,)](16)
            watched = jitwatch.sweep(run, range(1, 40), variants=3)
            assert [each["num_tokens"] for each in watched.variants(kernel)] == ["=1", "i32 other", "i32 ÷16"]
            jitwatch.sweep(run, [16, 32], variants=1)
            jitwatch.sweep(run, [16, 17], at_most=2)
            jitwatch.sweep(both, [16, 17], kernel=other, variants=2)
            jitwatch.sweep(run, [], variants=0)

        def test_what_was_in_memory_is_there_afterwards(jitwatch, no_recompiles):
            kernel[(1,)](16)
            jitwatch.sweep(run, [1, 16, 17])
            with no_recompiles:
                kernel[(1,)](16)

        def test_more_than_expected(jitwatch):
            jitwatch.sweep(run, [16, 17, 1], variants=2)

        def test_fewer_than_expected(jitwatch):
            jitwatch.sweep(run, [16, 32], variants=2)

        def test_over_the_limit(jitwatch):
            jitwatch.sweep(run, [16, 17, 1], at_most=2)

        def test_which_kernel(jitwatch):
            with pytest.raises(TypeError, match="it launches kernel, other"):
                jitwatch.sweep(both, [16, 17], variants=2)
        """
    )
    got.assert_outcomes(passed=3, failed=3)
    got.stdout.fnmatch_lines(
        [
            "jitwatch.sweep (test_it.py:*): kernel has 3 variants, expected 2",
            '    + @triton.jit(do_not_specialize=?"num_tokens"?)',
            "jitwatch.sweep (test_it.py:*): kernel has 1 variants, expected 2",
            "jitwatch.sweep (test_it.py:*): kernel has 3 variants, at most 2 allowed",
        ]
    )
