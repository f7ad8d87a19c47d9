"""The smallest set of opt-outs, and what it must not contain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jitwatch.analysis import KernelFindings
from jitwatch.analysis.advice import advise
from jitwatch.analysis.cautions import caution
from jitwatch.analysis.plan import declarations, decorator
from jitwatch.specialization import Parameter, Remedy
from tests.analysis.test_whatif import Launch, study
from tests.made_runs import tensor


def launches(*rows: Any, **how: Any) -> list[Launch]:
    return [(row if isinstance(row, tuple) else (row,), how) for row in rows]


def remedies(found: KernelFindings) -> list[list[tuple[str, Remedy]]]:
    return [[(edit.parameter.name, edit.remedy) for edit in step.edits] for step in found.plan]


def written(found: KernelFindings) -> list[str]:
    edits = [edit for step in found.plan for edit in step.edits]
    return [decorator(found.kernel.parameters, edits), *declarations(edits)]


# -- what is not proposed -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameter", "met"),
    [
        (Parameter("BLOCK_M", constexpr=True), (48, 96)),
        (Parameter("HIDDEN", constexpr=True), (64, 128)),
        (Parameter("ACT", constexpr=True), ("relu", "silu")),
        (Parameter("CAUSAL", constexpr=True), (True, False)),
        (Parameter("eps"), (1.5, 1.25)),
        (Parameter("x"), (tensor(), tensor(dtype="float32"))),
        (Parameter("bias"), (tensor(), None)),
        (Parameter("sizes"), ([1, 2], [16, 2])),
        (Parameter("n", no_specialize=True), (7, None)),
    ],
)
def test_nothing_is_proposed_that_would_end_nothing(tmp_path: Path, parameter: Parameter, met: Any) -> None:
    found = study(tmp_path / "run", [parameter], [((value,), {}) for value in met])
    assert found.plan == ()


def test_an_argument_that_never_changed_is_left_alone(tmp_path: Path) -> None:
    found = study(tmp_path / "run", ["tokens", "rows"], launches((7, 3), (16, 3)))
    assert remedies(found) == [[("tokens", Remedy.SPECIALIZE)]]


def test_what_saves_next_to_nothing_is_not_proposed(tmp_path: Path) -> None:
    met = [((length, 7), {"seconds": 0.5}) for length in range(200)] + [((0, 16), {"seconds": 0.001})]
    found = study(tmp_path / "run", [Parameter("LEN", constexpr=True), "n"], met)
    assert remedies(found) == [[("LEN", Remedy.RUNTIME)]]


def test_a_stride_is_weakened_no_more_than_needed(tmp_path: Path) -> None:
    found = study(tmp_path / "run", ["stride_m"], launches(7, 16))
    assert remedies(found) == [[("stride_m", Remedy.ALIGNMENT)]]


# -- what is ------------------------------------------------------------------------------------------------------


def test_a_count_is_freed_of_the_classes_it_has_not_met_too(tmp_path: Path) -> None:
    found = study(tmp_path / "run", ["num_tokens"], launches(7, 16))
    assert remedies(found) == [[("num_tokens", Remedy.SPECIALIZE)]]


def test_arguments_that_change_together_are_one_step(tmp_path: Path) -> None:
    found = study(tmp_path / "run", ["rows", "tokens", "m"], launches((7, 7, 3), (16, 16, 3)))
    assert remedies(found) == [[("rows", Remedy.SPECIALIZE), ("tokens", Remedy.SPECIALIZE)]]
    assert found.plan[0].recompiles_saved == 1


def test_what_asks_for_caution_comes_last(tmp_path: Path) -> None:
    met = [((tensor(m), n), {"seconds": 0.9 if m else 0.1}) for m in (0, 8) for n in (7, 16)]
    found = study(tmp_path / "run", ["x", "tokens"], met)
    assert remedies(found) == [[("tokens", Remedy.SPECIALIZE)], [("x", Remedy.ALIGNMENT)]]
    assert [step.cautious for step in found.plan] == [False, True]
    assert [step.after.variants for step in found.plan] == [2, 1]


def test_widths_need_a_fixed_type(tmp_path: Path) -> None:
    found = study(tmp_path / "run", ["tokens"], launches(7, 16, 2**40))
    assert written(found) == ['@triton.jit(do_not_specialize=["tokens"])', "tokens: tl.int64"]


def test_a_constexpr_length_becomes_an_argument(tmp_path: Path) -> None:
    found = study(tmp_path / "run", [Parameter("LEN", constexpr=True)], launches(*range(100, 110)))
    assert written(found) == ['@triton.jit(do_not_specialize=["LEN"])', "LEN (without tl.constexpr)"]
    assert found.plan[0].after.variants == 1
    assert found.plan[0].cautious


def test_the_line_to_write_keeps_what_the_kernel_lists_already(tmp_path: Path) -> None:
    parameters: list[Parameter | str] = [
        Parameter("a", no_specialize=True),
        Parameter("x", no_alignment=True),
        "tokens",
    ]
    found = study(tmp_path / "run", parameters, launches((3, tensor(), 7), (3, tensor(), 16)))
    assert written(found) == [
        '@triton.jit(do_not_specialize=["a", "tokens"], do_not_specialize_on_alignment=["x"])'
    ]


def test_releases_without_the_alignment_list_get_no_such_line(tmp_path: Path) -> None:
    found = study(tmp_path / "run", ["stride_m"], launches(7, 16), triton="3.1.0")
    assert remedies(found) == [[("stride_m", Remedy.SPECIALIZE)]]


# -- cautions and advice ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["stride_am", "scale_stride_k", "lda", "n_cols", "N", "K", "hidden_size", "width"]
)
def test_names_that_reach_wide_loads_ask_for_caution(name: str) -> None:
    assert caution(Parameter(name), ()) is not None


@pytest.mark.parametrize("name", ["num_tokens", "batch", "seq_len", "step", "seed", "M", "n_rows", "flag"])
def test_names_of_counts_do_not(name: str) -> None:
    assert caution(Parameter(name), ()) is None


@pytest.mark.parametrize(
    ("parameter", "met", "said"),
    [
        (Parameter("BLOCK", constexpr=True), (64, 128), "block shape"),
        (Parameter("ACT", constexpr=True), ("relu", "silu"), "compiled in"),
        (Parameter("sizes"), ([1, 2], [16, 2]), "tuple"),
        (Parameter("bias"), (tensor(), None), "None"),
        (Parameter("x"), (tensor(), tensor(dtype="float32")), "type"),
    ],
)
def test_causes_that_no_opt_out_ends_get_a_sentence(
    tmp_path: Path, parameter: Parameter, met: Any, said: str
) -> None:
    found = study(tmp_path / "run", [parameter], [((value,), {}) for value in met])
    (sentence,) = advise(found)
    assert said in sentence


def test_launch_options_and_devices_get_a_sentence(tmp_path: Path) -> None:
    met: list[Launch] = [((3,), {}), ((3,), {"options": {"num_warps": 8}}), ((3,), {"device": 1})]
    assert [sentence.split(":")[0] for sentence in advise(study(tmp_path / "run", ["n"], met))] == [
        "each device keeps its own variants",
        "num_warps",
    ]


# -- the best there is --------------------------------------------------------------------------------------------

integers = st.sampled_from([1, 7, 16, 2**40])


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.tuples(integers, integers, integers), min_size=2, max_size=10))
def test_a_plan_leaves_no_more_than_everything_would_and_needs_each_of_its_edits(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, int, int]]
) -> None:
    found = study(tmp_path_factory.mktemp("runs") / "run", ["rows", "tokens", "stride"], launches(*rows))
    scenario = found.scenario
    everything = {i: remedies[-1] for i, remedies in scenario.remedies.items()}
    chosen = {edit.position: edit.remedy for step in found.plan for edit in step.edits}
    assert scenario.outcome(chosen).misses == scenario.outcome(everything).misses
    for position in chosen:
        fewer = {i: remedy for i, remedy in chosen.items() if i != position}
        assert scenario.outcome(fewer).misses > scenario.outcome(chosen).misses
