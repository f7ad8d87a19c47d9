"""Where the code of two variants differs, a reader sees the lines that differ, memory first."""

from __future__ import annotations

from typing import Any

import pytest

from jitwatch.specialization import Remedy
from jitwatch.verify import Outcome
from jitwatch.verify.code.difference import MOST, changed_lines, plain
from tests.verify.conftest import KERNELS, Verify
from tests.verify.test_verify_command import ADD, rows
from tests.verify.test_verify_command import verify as run_verify


def test_the_same_instructions_with_other_registers_offsets_and_order_are_no_change() -> None:
    before = ["add.s32 \t%r1, %r2, 4", "@%p1 ld.global.b32 { %r3 }, [ %rd1 + 0 ]"]
    after = ["@%p7 ld.global.b32 { %r9 }, [ %rd4 + 16 ]", "add.s32 \t%r5, %r6, 4"]
    assert changed_lines(before, after) == ([], 0)
    assert changed_lines(["v_add_u32 v1, s4, v[2:3]"], ["v_add_u32 v7, s12, v[4:5]"]) == ([], 0)


@pytest.mark.parametrize("line", ["setp.lt.s32 %p, 1", "v_cmp_gt_i32_e32 vcc, 8", "s_waitcnt vmcnt(1)"])
def test_what_looks_like_a_register_inside_a_name_stays(line: str) -> None:
    assert plain(line) == line


def test_an_immediate_that_changes_is_a_change() -> None:
    assert changed_lines(["add.s32 %r1, %r2, 4"], ["add.s32 %r1, %r2, 8"])[0] == [
        "- add.s32 %r, %r, 4",
        "+ add.s32 %r, %r, 8",
    ]


def test_memory_comes_first_and_the_rest_is_counted() -> None:
    before = [f"add.s32 %r1, %r2, {i}" for i in range(40)] + ["ld.global.v4.b32 { %r1 }, [ %rd1 ]"]
    after = [f"sub.s32 %r1, %r2, {i}" for i in range(3)] + ["ld.global.b32 { %r1 }, [ %rd1 ]"] * 4
    lines, more = changed_lines(before, after)
    assert lines[:2] == ["- ld.global.v4.b32 { %r }, [ %rd ]", "+ 4 × ld.global.b32 { %r }, [ %rd ]"]
    assert (len(lines), more) == (MOST, 41 + 4 - MOST)
    assert sum(line.startswith("+") for line in lines) == 4


@pytest.mark.parametrize(
    ("target", "old", "new"),
    [
        ("cuda:90", "- 2 × @%p ld.global.v4.b32", "+ 16 × @%p ld.global.b16"),
        ("hip:gfx942", "- 2 × global_load_dwordx2", "+ 8 × global_load_ushort"),
    ],
)
def test_a_lost_vector_width_is_seen_in_the_lines_of_both_vendors(
    verify: Verify, target: str, old: str, new: str
) -> None:
    verdict = verify("vector_add", "n=do_not_specialize", target=target)["n"]
    assert verdict.remedy is Remedy.SPECIALIZE
    assert verdict.outcome is Outcome.COSTS
    lines = verdict.changed_lines
    assert any(line.startswith(old) for line in lines), lines
    assert any(line.startswith(new) for line in lines), lines
    assert len(lines) == MOST
    assert verdict.changed_lines_left_out > 0


def test_identical_code_has_no_changed_lines(verify: Verify) -> None:
    verdict = verify("scale_rows", "num_rows=do_not_specialize")["num_rows"]
    assert verdict.outcome is Outcome.HARMLESS
    assert {pair.reason for pair in verdict.pairs} == {"identical code"}
    assert verdict.changed_lines == ()


def test_the_command_shows_them_and_json_has_them() -> None:
    table = run_verify(f"{KERNELS}::vector_add", *ADD).stdout
    assert "- 2 × @%p ld.global.v4.b32" in table
    assert "+ 16 × @%p ld.global.b16" in table
    assert "further lines" in table
    row: dict[str, Any]
    (row,) = rows(run_verify(f"{KERNELS}::vector_add", *ADD, "--format", "json"))
    assert len(row["changed_lines"]) == MOST
    assert row["changed_lines_left_out"] > 0
