"""Where nothing can be counted, a test is skipped or failed with the reason; it never passes on nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.testing.conftest import Session

ONE = """
def test_it(no_recompiles):
    kernel[(1,)](16)
"""

NO_TRITON = """
import pytest

def test_unguarded():
    pass

def test_guarded(no_recompiles):
    raise AssertionError("not reached")

@pytest.mark.max_recompiles(0)
def test_marked():
    raise AssertionError("not reached")
"""


def test_the_interpreter_fails_with_the_reason(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    got = session(ONE)
    got.assert_outcomes(failed=1)
    got.stdout.fnmatch_lines(["TRITON_INTERPRET is set: *unset it, *", "FAILED *TRITON_INTERPRET*"])


@pytest.mark.parametrize("choice", ["skip", "fail"])
def test_without_a_gpu(session: Session, monkeypatch: pytest.MonkeyPatch, choice: str) -> None:
    for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"):
        monkeypatch.setenv(name, "")  # what a machine has is hidden
    got = session(ONE, "-rs", "-o", f"jitwatch_missing={choice}", offline=False)
    got.assert_outcomes(skipped=int(choice == "skip"), failed=int(choice == "fail"), errors=0)
    got.stdout.fnmatch_lines(["*no GPU that Triton can use: run with --jitwatch-offline*"])


@pytest.mark.parametrize("choice", ["skip", "fail"])
def test_without_triton(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, choice: str
) -> None:
    (tmp_path / "hide").mkdir()
    (tmp_path / "hide" / "sitecustomize.py").write_text(
        "import functools, importlib.machinery as machinery\n"
        "find = machinery.PathFinder.find_spec\n"
        "hide = lambda name, *rest: None if name == 'triton' else find(name, *rest)\n"
        "machinery.PathFinder.find_spec = functools.partial(hide)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "hide"), prepend=os.pathsep)
    got = session(NO_TRITON, "-rs", "-o", f"jitwatch_missing={choice}", offline=False, preamble="")
    skipped, failed = (2, 0) if choice == "skip" else (0, 2)
    got.assert_outcomes(passed=1, skipped=skipped, failed=failed, errors=0)
    got.stdout.fnmatch_lines(["*Triton cannot be imported (No module named 'triton')*"])


def test_a_hook_that_was_replaced_fails_the_test_and_not_the_next(session: Session) -> None:
    got = session(
        """
        def put(hook):
            knobs = getattr(triton, "knobs", None)
            if knobs is not None:
                knobs.runtime.jit_cache_hook = hook
            else:
                triton.runtime.jit.JITFunction.cache_hook = staticmethod(hook)

        def test_replaces_it(no_recompiles):
            put(lambda **call: None)
            kernel[(1,)](16)
            kernel[(1,)](17)

        def test_is_watched_again(no_recompiles):
            kernel[(1,)](16)
            kernel[(1,)](17)
        """
    )
    got.assert_outcomes(failed=2)
    got.stdout.fnmatch_lines(
        [
            "misses cannot be counted: *cache_hook was replaced by test_it.*",
            "no_recompiles: 1 recompile*",
        ]
    )


def test_asking_too_late_is_refused(session: Session) -> None:
    got = session(
        """
        @pytest.mark.max_recompiles(5)
        def test_switches_the_plugin_on():
            pass

        def test_asks_late(request):
            request.getfixturevalue("no_recompiles")
        """
    )
    got.assert_outcomes(passed=1, failed=1)
    got.stdout.fnmatch_lines(["ask for no_recompiles in the test's signature: it was asked for too late"])
