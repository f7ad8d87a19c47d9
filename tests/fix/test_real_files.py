"""Other people's kernels, as they are installed here: torch's own."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

from jitwatch.fix.passes import Fixed
from jitwatch.lint.finding import Applicability
from tests.fix.fixing import fix, fix_and_record
from tests.fix.sameness import unsaid

FILES = (
    "sparse/_triton_ops.py",
    "_inductor/runtime/triton_helpers.py",
    "_native/ops/bmm_outer_product/triton_kernels.py",
    "testing/_internal/triton_utils.py",
)


@pytest.fixture(scope="module")
def sources() -> dict[str, bytes]:
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        pytest.skip("torch is not installed")
    folder = Path(found.origin).parent
    return {name: (folder / name).read_bytes() for name in FILES if (folder / name).exists()}


@pytest.fixture(scope="module")
def fixed(sources: dict[str, bytes]) -> Fixed:
    made = fix(sources)
    if not made.applied:
        pytest.skip("this torch has no kernel that anything is to be said about")
    return made


def test_safe_fixes_alone_leave_no_safe_fix(sources: dict[str, bytes]) -> None:
    outcome = fix(sources, Applicability.SAFE).outcome
    assert [f for f in outcome.shown if f.applicability is Applicability.SAFE and f.edits] == []


def test_every_file_parses_and_differs_only_where_a_finding_says(sources: dict[str, bytes]) -> None:
    fixed, record = fix_and_record(sources)
    assert fixed.undone == ()
    for path, after in fixed.after.items():
        assert ast.dump(ast.parse(after)) != ast.dump(ast.parse(fixed.before[path]))
        assert list(unsaid(path, fixed.before[path], after, record)) == []


def test_lines_that_no_fix_is_about_are_the_same_bytes(fixed: Fixed) -> None:
    names = {finding.parameter for finding in fixed.applied}
    for path, after in fixed.after.items():
        before = set(fixed.before[path].split(b"\n"))
        for line in after.split(b"\n"):
            new = line not in before
            assert not new or b"jit" in line or any((name or "").encode() in line for name in names)


def test_a_second_run_changes_nothing(sources: dict[str, bytes], fixed: Fixed) -> None:
    assert fix({**sources, **fixed.after}).after == {}
