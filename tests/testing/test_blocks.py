"""``with no_recompiles:`` in the many places a test can write it."""

from __future__ import annotations

from tests.testing.conftest import Session


def test_what_does_not_miss_passes_and_what_misses_is_failed_with_its_cause(session: Session) -> None:
    got = session(
        """
        def test_hits_after_warming_up(no_recompiles):
            kernel[(1,)](16)
            with no_recompiles:
                kernel[(1,)](32)

        def test_launches_before_and_after_the_block_may_miss(no_recompiles):
            kernel[(1,)](1)
            with no_recompiles:
                kernel[(1,)](1)
            kernel[(1,)](16)

        def test_is_used_twice(no_recompiles):
            kernel[(1,)](16)
            with no_recompiles:
                kernel[(1,)](32)
            kernel[(1,)](17)
            with no_recompiles:
                kernel[(1,)](18)

        def test_nests(no_recompiles):
            with pytest.raises(RecompileError):
                with no_recompiles:
                    kernel[(1,)](16)
                    with no_recompiles:
                        kernel[(1,)](32)

        def test_is_expected_to_fail(no_recompiles):
            with pytest.raises(RecompileError, match="num_tokens: 16 .* 17 ") as caught, no_recompiles:
                kernel[(1,)](16)
                kernel[(1,)](17)
            assert caught.value.kernels == ("kernel",)

        def test_raises_by_itself(no_recompiles):
            with pytest.raises(ZeroDivisionError), no_recompiles:
                kernel[(1,)](16)
                1 / 0

        def test_a_launch_that_raises_is_no_miss(no_recompiles):
            with pytest.raises(TypeError), no_recompiles:
                kernel[(1,)]()

        def test_a_warm_up_inside_is_no_launch(no_recompiles):
            with no_recompiles:
                kernel.warmup(16, grid=(1,))
                kernel[(1,)](16)

        @pytest.mark.parametrize("n", [32, 17, 1])
        def test_parametrized(no_recompiles, n):
            kernel[(1,)](16)
            with no_recompiles:
                kernel[(1,)](n)

        def test_first_variant(no_recompiles):
            with no_recompiles:
                kernel[(1,)](16)
        """
    )
    got.assert_outcomes(passed=9, failed=3)
    got.stdout.fnmatch_lines(
        [
            "no_recompiles (test_it.py:*): 1 launch of kernel missed Triton's in-memory cache",
            "*num_tokens: 16 (÷16) → 17 (other)*test_it.py:*",
            "*÷16: divisible by 16*",
            "  kernel (test_it.py:8)",
            "    write this, which leaves 1 variant of 2:",
            "    - @triton.jit",
            '    + @triton.jit(do_not_specialize=?"num_tokens"?)',
            "*num_tokens: 16 (÷16) → 1 (=1)*test_it.py:*",
            "*its first variant*test_it.py:*",
            "*launch it once before the block*",
            "FAILED test_it.py::test_parametrized?17? - no_recompiles (test_it.py:*): 1 launch of kernel*",
        ]
    )
    got.stdout.no_fnmatch_line("*jitwatch/testing/*")
    got.stdout.no_fnmatch_line("ERROR *")


def test_a_block_that_a_fixture_leaves_open_fails_the_test_and_not_its_tear_down(session: Session) -> None:
    got = session(
        """
        @pytest.fixture
        def steady(no_recompiles):
            kernel[(1,)](16)
            with no_recompiles:
                yield

        def test_steady(steady):
            kernel[(1,)](32)

        def test_not_steady(steady):
            kernel[(1,)](17)
        """
    )
    got.assert_outcomes(passed=1, failed=1, errors=0)
    got.stdout.fnmatch_lines(
        ["no_recompiles (test_it.py:*): 1 launch of kernel missed*", "FAILED *not_steady*"]
    )


def test_asynchronous_and_unittest_tests_are_guarded_too(session: Session) -> None:
    got = session(
        """
        import asyncio, threading, unittest

        @pytest.fixture
        def anyio_backend():
            return "asyncio"

        @pytest.mark.anyio
        async def test_block(no_recompiles):
            kernel[(1,)](16)
            with no_recompiles:
                await asyncio.sleep(0)
                await asyncio.to_thread(lambda: kernel[(1,)](17))

        @pytest.mark.anyio
        async def test_whole(no_recompiles):
            kernel[(1,)](16)
            await asyncio.sleep(0)
            kernel[(1,)](17)

        @pytest.mark.anyio
        async def test_quiet(no_recompiles):
            kernel[(1,)](16)
            await asyncio.sleep(0)
            kernel[(1,)](32)

        @pytest.mark.usefixtures("no_recompiles")
        class Steady(unittest.TestCase):
            def test_case(self):
                kernel[(1,)](16)
                kernel[(1,)](1)

        class TestClass:
            pytestmark = pytest.mark.usefixtures("no_recompiles")

            def test_method_with_threads(self):
                threads = [threading.Thread(target=lambda n=n: kernel[(1,)](n)) for n in (16, 17)]
                for thread in threads:
                    thread.start()
                    thread.join()
        """
    )
    got.assert_outcomes(passed=1, failed=4)
    got.stdout.fnmatch_lines_random(
        [
            "FAILED *test_block*",
            "FAILED *test_whole*",
            "FAILED *Steady::test_case*",
            "FAILED *test_method_with*",
        ]
    )
