"""What the source calls confined, compiled: every class of the argument makes the same accesses with it and without."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from jitwatch.source.confined import is_confined
from jitwatch.source.touches import Touch
from jitwatch.verify import Outcome
from tests.verify.conftest import Verify

CODE = Path(__file__).with_name("confined_code.py")
INTEGER, CONSTANT, POINTER = "do_not_specialize", "runtime_argument", "do_not_specialize_on_alignment"
SMALL = 16
"""Instructions that each program may run more once: a conversion and a division that 1 had made unnecessary."""

PLAIN = "x=*bf16:16, out=*bf16:16, BLOCK=1024, "
KINDS = [
    *((name, INTEGER) for name in ("guard", "early_return", "loaded_guard", "whole_mask", "selected")),
    ("stored_quotient", INTEGER),
    ("selected_by_constant", CONSTANT),
    ("guarded_by_constant", CONSTANT),
    ("single_elements", POINTER),
]
GIVEN = {INTEGER: ("n=i32:16", "n=i32:1"), CONSTANT: ("n=48", "n=1"), POINTER: ("n=*i32:16",)}
CLASSES = {INTEGER: {"=1", "÷16", "other"}, CONSTANT: {"1", "48", "96"}, POINTER: {"aligned"}}
"""What the signatures make ``verify`` compile, each with the remedy and without."""

TOUCHES = {INTEGER: Touch.ITSELF, CONSTANT: Touch.CONSTANT, POINTER: Touch.ADDRESS}


def called_confined(name: str, remedy: str) -> bool:
    functions = [each for each in ast.parse(CODE.read_text()).body if isinstance(each, ast.FunctionDef)]
    (function,) = (each for each in functions if each.name == name)
    return is_confined(function, "n", TOUCHES[remedy], {"tl": "triton.language"})


@pytest.mark.parametrize("target", ["cuda:90", "hip:gfx942"])
@pytest.mark.parametrize(("name", "remedy"), KINDS, ids=[name for name, _ in KINDS])
def test_what_is_called_confined_changes_no_access(
    verify: Verify, name: str, remedy: str, target: str
) -> None:
    assert called_confined(name, remedy)
    seen = set()
    for given in GIVEN[remedy]:
        verdict = verify(name, f"n={remedy}", signature=PLAIN + given, target=target, file=CODE)["n"]
        assert verdict.outcome is Outcome.HARMLESS, verdict.reason
        for pair in verdict.pairs:
            assert pair.before is not None
            assert pair.after is not None
            assert pair.before.accesses == pair.after.accesses
            assert pair.before.loops == pair.after.loops
            assert pair.growth <= SMALL
            seen.add(pair.words)
    assert seen >= CLASSES[remedy]
