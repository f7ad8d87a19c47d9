"""What the router chooses from which table, and what it says about it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton", "3.6")

from jitwatch.errors import JitwatchError
from jitwatch.kernels.fused_moe.experts import Scheme
from jitwatch.kernels.fused_moe.problem import MODELS, Shape, make_experts
from jitwatch.kernels.fused_moe.routing import Router
from jitwatch.kernels.fused_moe.table import Backend, Entry, Machine, Result, Table
from jitwatch.kernels.fused_moe.tiles import Accumulation, Plan, Tile
from tests.kernels.moe_variants import unwritten_experts

SHAPE = Shape(4, 2, 64, 32)

TILE = Tile(64, 128, 4, 3)
FEW = Plan(16, replace(TILE, swap_ab=True), TILE)
MANY = Plan(64, TILE, TILE)


def entry(tokens: int, accumulation: Accumulation = Accumulation.EXACT, **microseconds: float) -> Entry:
    """A measurement; backends by their names in `Backend`."""
    plans = {
        "SWAPPED": replace(FEW, accumulation=accumulation),
        "PLAIN": replace(MANY, accumulation=accumulation),
    }
    results = tuple(
        Result(Backend[name].value, time_taken, plans.get(name)) for name, time_taken in microseconds.items()
    )
    return Entry(SHAPE, Scheme.TENSOR, accumulation, tokens, results)


TABLE = Table(
    Machine("NVIDIA H200", "580", "2.11.0", "3.6.0"),
    (
        entry(2, SWAPPED=10.0, PLAIN=12.0, GROUPED=5.0),
        entry(64, SWAPPED=30.0, PLAIN=20.0, GROUPED=25.0),
        entry(2, Accumulation.FAST, SWAPPED=10.0, PLAIN=12.0, GROUPED=5.0),
    ),
)

EXPERTS = make_experts(SHAPE, Scheme.TENSOR, "cpu")


def test_exact_accumulation_is_never_given_to_who_adds_up_fast() -> None:
    router = Router(EXPERTS, 2, table=TABLE, accumulation=Accumulation.EXACT)
    choice = router.choose(2)
    assert (choice.backend, choice.plan) == (Backend.SWAPPED, FEW)


@pytest.mark.parametrize(
    ("fast", "accumulation"), [(9.2, Accumulation.EXACT), (9.0, Accumulation.FAST)]
)  # 10 us exact: a tenth more than 9.09
def test_exact_is_kept_while_it_costs_no_more_than_a_tenth(fast: float, accumulation: Accumulation) -> None:
    entries = (entry(2, SWAPPED=10.0, PLAIN=12.0), entry(2, Accumulation.FAST, SWAPPED=fast, PLAIN=fast + 1))
    choice = Router(EXPERTS, 2, table=replace(TABLE, entries=entries)).choose(2)
    assert choice.accumulation is accumulation
    assert choice.plan is not None
    assert choice.plan.accumulation is accumulation


def test_fast_times_of_another_number_of_tokens_decide_nothing() -> None:
    entries = (entry(2, SWAPPED=10.0), entry(4, Accumulation.FAST, SWAPPED=1.0))
    choice = Router(EXPERTS, 2, table=replace(TABLE, entries=entries)).choose(2)
    assert choice.accumulation is Accumulation.EXACT


def test_the_shipped_table_adds_up_exactly_while_weights_are_what_takes_the_time() -> None:
    router = Router(unwritten_experts(MODELS["mixtral-tp2"], Scheme.TENSOR), 2)
    assert {router.choose(tokens).accumulation for tokens in range(1, 129)} == {Accumulation.EXACT}
    assert router.choose(2048).accumulation is Accumulation.FAST


def test_a_backend_that_is_not_installed_is_not_chosen() -> None:
    table = replace(TABLE, entries=(entry(2, Accumulation.FAST, SWAPPED=10.0, FBGEMM=1.0),))
    router = Router(EXPERTS, 2, table=table, accumulation=Accumulation.FAST)
    assert router.choose(2).backend is Backend.SWAPPED


def test_fast_accumulation_goes_to_the_fastest() -> None:
    router = Router(EXPERTS, 2, table=TABLE, accumulation=Accumulation.FAST)
    assert router.choose(1).backend is Backend.GROUPED


@pytest.mark.parametrize(
    ("tokens", "plan"), [(1, FEW), (11, FEW), (12, MANY), (5000, MANY)]
)  # 2 and 64 meet at their geometric mean, 11.3
def test_the_nearest_measurement_by_ratio_decides(tokens: int, plan: Plan) -> None:
    router = Router(EXPERTS, 2, table=TABLE, accumulation=Accumulation.EXACT)
    assert router.choose(tokens).plan == plan


def test_the_explanation_names_rows_measurement_times_and_what_is_stale() -> None:
    assert Router(EXPERTS, 2, table=TABLE).explain(48).splitlines() == [
        "48 tokens, Shape(experts=4, top_k=2, hidden=64, inner=32), fp8-tensor, exact accumulation: triton",
        "  because: 24 rows per expert, nearest measured 32 (64 tokens): triton 20.0 us, triton-swapped 30.0 us",
        "  plan: block_m 64 | gate_up 64x128 warps 4 stages 3 group 1 | down 64x128 warps 4 stages 3 group 1",
        "  careful: measured with NVIDIA H200; there is no CUDA device here",
    ]


def test_the_explanation_names_what_the_other_accumulation_would_take() -> None:
    entries = (entry(2, SWAPPED=10.0), entry(2, Accumulation.FAST, SWAPPED=5.0, GROUPED=7.0))
    reason = Router(EXPERTS, 2, table=replace(TABLE, entries=entries)).choose(2).reason
    assert reason.endswith("(2 tokens): triton-swapped 5.0 us, torch-grouped-mm 7.0 us; exact 10.0 us")


def test_a_layer_that_was_not_measured_runs_by_default_and_says_so() -> None:
    router = Router(make_experts(SHAPE, Scheme.PLAIN, "cpu"), 2, table=TABLE)
    choice = router.choose(3)
    assert (choice.backend, choice.reason) == (Backend.SWAPPED, "nothing was measured for this layer")
    assert choice.plan == router.default(3)


def test_an_override_wins_with_its_measured_plan() -> None:
    choice = Router(EXPERTS, 2, table=TABLE, override=Backend.PLAIN).choose(2)
    assert (choice.backend, choice.plan, choice.reason) == (Backend.PLAIN, MANY, "asked for")


def test_an_override_that_cannot_run_is_refused() -> None:
    exact = Accumulation.EXACT
    router = Router(EXPERTS, 2, table=TABLE, accumulation=exact, override=Backend.GROUPED)
    with pytest.raises(JitwatchError, match="backend torch-grouped-mm cannot run this layer"):
        router.choose(2)


def test_a_machine_that_differs_is_named_part_by_part() -> None:
    here = replace(TABLE.machine, driver="590", triton="3.7.1")
    assert TABLE.machine.differences(here) == ["driver 580, here 590", "triton 3.6.0, here 3.7.1"]
    assert TABLE.machine.differences(TABLE.machine) == []


def test_a_table_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    TABLE.save(path)
    assert Table.load(path) == TABLE
    assert [file.name for file in tmp_path.iterdir()] == ["table.json"]


def test_measuring_again_replaces_an_entry() -> None:
    table = TABLE.add(entry(2, SWAPPED=1.0))
    assert len(table.entries) == len(TABLE.entries)
    found = table.find((SHAPE, Scheme.TENSOR, Accumulation.EXACT), 2)
    assert found is not None
    assert found.results[0].microseconds == 1.0


@pytest.mark.parametrize("text", ["", "{}", '{"format": 1, "machine": {}, "entries": []}', '{"format": 0}'])
def test_a_file_that_is_no_table_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "table.json"
    path.write_text(text)
    with pytest.raises(JitwatchError, match=r"table.json: .*tune again") as refusal:
        Table.load(path)
    assert "\n" not in str(refusal.value)


def test_the_shipped_table_has_every_model_and_names_its_machine() -> None:
    table = Table.shipped()
    assert (table.machine.device, table.machine.triton) == ("NVIDIA H200", "3.6.0")
    for shape in MODELS.values():
        for accumulation in Accumulation:
            layer = (shape, Scheme.TENSOR, accumulation)
            assert all(table.find(layer, tokens) for tokens in (1, 2, 4, 8, 16, 32, 64, 128, 512, 2048))
