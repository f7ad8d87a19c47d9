"""The options that concern a whole session, and what one pays that uses none of them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.testing.conftest import ON_DEVICE, TARGET, WORKERS, Session

TORCH = """
import pytest
import torch
import triton
import triton.language as tl

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


@triton.jit
def double(x_ptr, y_ptr, num_rows, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, WIDTH)
    x = tl.load(x_ptr + row * WIDTH + columns, mask=row < num_rows)
    tl.store(y_ptr + row * WIDTH + columns, x * 2, mask=row < num_rows)


def run(rows):
    x = torch.ones((rows, 16), device="cuda")
    y = torch.empty_like(x)
    double[(rows,)](x, y, rows, WIDTH=16)
    return y


@needs_gpu
def test_result():
    assert torch.equal(run(3).cpu(), torch.full((3, 16), 2.0))


@needs_gpu
def test_sweep(jitwatch):
    jitwatch.sweep(run, [1, 2, 16], variants=3)


@needs_gpu
def test_recompiles(no_recompiles):
    run(2)
    run(16)
"""


def test_a_conftest_sees_a_gpu_when_the_session_is_offline(
    session: Session, pytester: pytest.Pytester
) -> None:
    pytester.makeconftest(
        """
        import torch
        assert torch.cuda.is_available()
        assert torch.cuda.get_device_capability() == (9, 0)
        """
    )
    got = session("", preamble=TORCH)
    got.assert_outcomes(passed=2, failed=1)
    got.stdout.fnmatch_lines(["*num_rows: 2 (other) → 16 (÷16)*", '*do_not_specialize=?"num_rows"?*'])


def test_a_path_after_the_bare_option_is_a_path(session: Session, pytester: pytest.Pytester) -> None:
    (pytester.path / "more").mkdir()
    (pytester.path / "more" / "test_more.py").write_text(
        "import os\ndef test_target():\n    assert os.environ['JITWATCH_OFFLINE'] == 'cuda:90'\n"
    )
    got = session(
        "def test_not_asked_for(): pass\n", "--jitwatch-offline", "more", offline=False, preamble=""
    )
    got.assert_outcomes(passed=1)
    again = session("", "--jitwatch-offline", "more/test_more.py::test_target", offline=False, preamble="")
    again.assert_outcomes(passed=1)


def test_settings_and_targets_that_mean_nothing_are_refused(session: Session) -> None:
    wrong = session("", "--jitwatch-offline=cuda:1", offline=False, preamble="")
    assert wrong.ret == pytest.ExitCode.USAGE_ERROR
    wrong.stderr.fnmatch_lines(
        ["*--jitwatch-offline: unknown offline target 'cuda:1': choose one of cuda:80*"]
    )
    wrong = session("", "-o", "jitwatch_missing=maybe", offline=False, preamble="")
    assert wrong.ret == pytest.ExitCode.USAGE_ERROR
    wrong.stderr.fnmatch_lines(["*jitwatch_missing is skip or fail (default skip)"])


@pytest.mark.parametrize("workers", [pytest.param([], id="alone"), WORKERS])
def test_the_report_covers_tests_workers_and_their_children(
    session: Session, pytester: pytest.Pytester, workers: list[str]
) -> None:
    got = session(
        """
        import subprocess, sys

        def test_unguarded():
            for n in (16, 17):
                kernel[(1,)](n)

        @pytest.mark.max_recompiles(1)
        def test_with_a_child():
            subprocess.run([sys.executable, "-c", "import test_it\\nfor n in (16, 1): test_it.other[(1,)](n)"])
        """,
        "--jitwatch-report",
        *([] if ON_DEVICE else ["-o", f"jitwatch_offline={TARGET}"]),
        *workers,
        offline=False,
    )
    got.assert_outcomes(passed=2)
    got.stdout.fnmatch_lines_random(["*= jitwatch =*", "*num_tokens: 16 (÷16) → 17 (other)*", "*→ 1 (=1)*"])
    (run,) = (pytester.path / ".jitwatch" / "runs").iterdir()
    assert (run / "run.json").exists()
    assert list(run.glob("jitwatch-tests-*")) == []


def test_an_outer_profile_gets_what_the_children_of_guarded_tests_recorded(
    session: Session, pytester: pytest.Pytester
) -> None:
    session(
        """
        import subprocess, sys

        def test_child(no_recompiles):
            kernel[(1,)](16)
            subprocess.run([sys.executable, "-c", "import test_it; test_it.other[(1,)](16)"], check=True)
            subprocess.run([sys.executable, "-c", "import test_it; test_it.other[(1,)](17)"], check=True)
        """,
        "--collect-only",
    )
    offline = [] if ON_DEVICE else ["--offline"]
    command = [sys.executable, "-m", "jitwatch", "profile", *offline, "--out", "run", "--"]
    got = pytester.run(*command, sys.executable, "-m", "pytest", "test_it.py")
    got.assert_outcomes(passed=1)
    events = [path.read_text() for path in (pytester.path / "run" / "events").iterdir()]
    assert sum('"name":"other"' in text for text in events) == 2
    assert sum('"name":"kernel"' in text for text in events) == 1


def test_switched_off_it_is_not_there(session: Session) -> None:
    got = session("def test_it(no_recompiles): pass\n", "-p", "no:jitwatch", offline=False, preamble="")
    got.assert_outcomes(errors=1)
    got.stdout.fnmatch_lines(["*fixture 'no_recompiles' not found"])


def test_a_session_that_does_not_use_it_imports_nothing_of_it(session: Session) -> None:
    session(
        """
        import sys

        def test_nothing_heavy_was_imported():
            heavy = {"triton", "torch", "libcst", "rich", "jitwatch.runtime", "jitwatch.analysis", "jitwatch.lint"}
            assert heavy.isdisjoint(sys.modules)
            assert {each for each in sys.modules if each.startswith("jitwatch.")} <= {
                "jitwatch.testing", "jitwatch.testing.errors", "jitwatch.testing.plugin", "jitwatch.testing.usage"
            }
        """,
        offline=False,
        preamble="",
    ).assert_outcomes(passed=1)


def test_loading_it_takes_less_than_five_milliseconds() -> None:
    """Of processor time, the best of five: what else the machine does can only add."""
    program = (
        "import argparse, pytest, time; begun = time.process_time(); import jitwatch.testing.plugin; "
        "print(time.process_time() - begun)"
    )
    command = [sys.executable, "-c", program]
    printed = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(5)]
    assert min(map(float, printed)) < 0.005
