"""Remedies beyond the opt-outs: an argument taken out, a constexpr still specialised, a shorter autotuner's key."""

from __future__ import annotations

import pytest

from jitwatch.verify import Outcome
from jitwatch.verify.code.ptx import read_ptx
from jitwatch.verify.prove import CHOICE
from tests.verify.conftest import Verify

SCALED = "x=*bf16:16, out=*bf16:16, unread=i32:16, width=64, factor=i32, BLOCK=1024"


def test_an_argument_that_is_read_cannot_be_dropped(verify: Verify) -> None:
    verdict = verify("vector_add", "n=drop")["n"]
    assert verdict.outcome is Outcome.COSTS
    assert "does not compile without it" in verdict.reason


@pytest.mark.parametrize("target", ["cuda:90", "hip:gfx942"])
def test_an_argument_that_nothing_reads_is_dropped_without_harm(verify: Verify, target: str) -> None:
    verdict = verify("scale_by", "unread=drop", signature=SCALED, target=target)["unread"]
    assert verdict.outcome is Outcome.HARMLESS, verdict.reason
    assert len(verdict.pairs) == 2
    if target == "cuda:90":
        assert {pair.reason for pair in verdict.pairs} == {"identical code"}


def test_parameters_are_counted_among_those_that_are_read_and_stay_apart() -> None:
    entry = ".entry k(\n"
    loads = "ld.param.b64 %rd1, [k_param_{}];\nld.param.b32 %r1, [k_param_{}];\n"
    first, moved, swapped = (read_ptx(entry + loads.format(*pair)).lines for pair in [(0, 3), (0, 2), (2, 0)])
    assert first == moved != swapped


def test_a_constexpr_that_stays_specialised_costs_nothing_where_its_values_are_divisible(
    verify: Verify,
) -> None:
    text = "out=*i32:16, length={}, BLOCK=1024"
    verdict = verify("count_up", "length=specialized_runtime_argument", signature=text.format(64))["length"]
    by_class = {pair.words: pair.outcome for pair in verdict.pairs}
    assert by_class == {"64": Outcome.HARMLESS, "128": Outcome.HARMLESS, "72": Outcome.COSTS}
    assert verdict.outcome is Outcome.COSTS
    assert verdict.reason.startswith("72: ")


def test_what_an_autotuners_key_leaves_out_is_a_matter_of_time(verify: Verify) -> None:
    verdict = verify("count_up", "length=leave_autotune_key")["length"]
    assert (verdict.outcome, verdict.reason, verdict.pairs) == (Outcome.UNKNOWN, CHOICE, ())
