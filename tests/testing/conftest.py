"""Run real test files, with real kernels, in a pytest of their own."""

from __future__ import annotations

import importlib.util
import os
import textwrap
from collections.abc import Callable

import pytest

ON_DEVICE = bool(os.environ.get("JITWATCH_TESTS_ON_DEVICE"))
"""Run the same sessions on the GPU of this machine: the verdicts must not differ from those offline.

``JITWATCH_TESTS_ON_DEVICE=1 python -m pytest tests/testing``; the sessions load the plugin of an installed jitwatch.
"""

TARGET = "cuda:90"
OFFLINE = [] if ON_DEVICE else [f"--jitwatch-offline={TARGET}"]

WORKERS = pytest.param(
    ["-n", "2"],
    id="xdist",
    marks=pytest.mark.skipif(
        importlib.util.find_spec("xdist") is None, reason="pytest-xdist is not installed"
    ),
)
"""Arguments of a session with workers."""

KERNEL = """\
import pytest
import triton
import triton.language as tl
from jitwatch.testing import RecompileError


@triton.jit
def kernel(num_tokens):
    pass


@triton.jit
def other(num_tokens):
    pass


"""

Session = Callable[..., pytest.RunResult]


@pytest.fixture
def session(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Session:
    """Run pytest over a file that holds two kernels and `source`; offline, unless `offline` is False."""

    monkeypatch.setenv("COLUMNS", "160")  # the short summary cuts its lines there

    def session(
        source: str, *arguments: str, offline: bool = True, preamble: str = KERNEL
    ) -> pytest.RunResult:
        pytester.makepyfile(test_it=preamble + textwrap.dedent(source))
        options = OFFLINE if offline else []
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", *options, *arguments)

    return session
