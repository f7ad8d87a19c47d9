"""What opt-outs would save: independent of launch order, never more than was paid."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jitwatch.analysis import KernelFindings, analyse
from jitwatch.analysis.whatif import Outcome
from jitwatch.rundir import read_run
from jitwatch.specialization import Parameter, Remedy
from tests.made_runs import MadeRun
from tests.sweep import align

Launch = tuple[tuple[Any, ...], dict[str, Any]]

SWEEP: list[Launch] = [
    ((1, align(1, 4)), {"seconds": 1.45}),
    ((2, align(2, 4)), {"seconds": 0.4}),
    ((13, align(13, 4)), {"seconds": 0.3}),
    ((16, align(16, 4)), {"seconds": 0.2}),
]


def study(
    path: Path, parameters: list[Parameter | str], launches: list[Launch], **run: Any
) -> KernelFindings:
    kernel = MadeRun(path, **run).process().kernel("k", *parameters)
    for values, how in launches:
        kernel.launch(*values, **how)
    return analyse(read_run(path)).kernels[0]


def test_the_prediction_does_not_depend_on_the_order_of_launches(tmp_path: Path) -> None:
    results = set()
    for i, order in enumerate(itertools.permutations(SWEEP)):
        found = study(tmp_path / str(i), ["num_tokens", "stride"], list(order))
        saved = [(a.variants_saved, a.seconds_saved) for a in found.arguments]
        results.add(repr((saved, [(step.edits, step.after) for step in found.plan])))
    assert len(results) == 1


def test_each_remedy_saves_what_the_model_says(tmp_path: Path) -> None:
    found = study(tmp_path / "run", ["num_tokens", "stride"], SWEEP)
    tokens, stride = found.arguments
    # (=1, other) (other, other) (other, ÷16) (÷16, ÷16)
    assert tokens.variants_saved == {Remedy.ALIGNMENT: 1, Remedy.SPECIALIZE: 2, Remedy.ANNOTATE: 2}
    assert stride.variants_saved == {Remedy.ALIGNMENT: 1, Remedy.SPECIALIZE: 1, Remedy.ANNOTATE: 1}
    # The dearest of each merged pair stays: 1.45 + 0.4 -> 1.45, 0.3 + 0.2 -> 0.3.
    assert tokens.seconds_saved[Remedy.SPECIALIZE] == pytest.approx(0.6)
    assert found.scenario.as_is == Outcome(4, 4, 2.35)


def test_do_not_specialize_keeps_the_widths_apart(tmp_path: Path) -> None:
    launches: list[Launch] = [((n,), {}) for n in (1, 7, 16, 2**40, 2**40 + 1)]
    (argument,) = study(tmp_path / "run", ["n"], launches).arguments
    assert argument.variants_saved == {Remedy.ALIGNMENT: 2, Remedy.SPECIALIZE: 3, Remedy.ANNOTATE: 4}


def test_do_not_specialize_keeps_none_apart(tmp_path: Path) -> None:
    (argument,) = study(tmp_path / "run", ["n"], [((n,), {}) for n in (None, 7, 16)]).arguments
    assert argument.variants_saved == {Remedy.ALIGNMENT: 1, Remedy.SPECIALIZE: 1}


def test_an_annotated_one_is_a_variant_that_do_not_specialize_ends(tmp_path: Path) -> None:
    parameter = Parameter("n", annotation="i32")
    (argument,) = study(tmp_path / "run", [parameter], [((n,), {}) for n in (1, 7)]).arguments
    assert argument.variants_saved == {Remedy.ALIGNMENT: 0, Remedy.SPECIALIZE: 1}


def test_opt_outs_end_nothing_for_the_elements_of_a_tuple(tmp_path: Path) -> None:
    (argument,) = study(tmp_path / "run", ["sizes"], [(([n, 3],), {}) for n in (1, 7, 16)]).arguments
    assert argument.variants_saved == {}


def test_variants_of_other_processes_are_paid_for_again(tmp_path: Path) -> None:
    run = MadeRun(tmp_path / "run")
    for rank in range(2):
        kernel = run.process(pid=rank + 1, rank=rank).kernel("k", "n")
        for n in (7, 16):
            kernel.launch(n, seconds=0.2)
    (found,) = analyse(read_run(run.path)).kernels
    assert found.variants == 2
    assert found.arguments[0].seconds_saved[Remedy.SPECIALIZE] == pytest.approx(0.4)
    assert found.recompiles_saved == 2


@pytest.mark.parametrize("via", ["warmup", "preload", "tune"])
def test_a_variant_made_ahead_serves_all_that_merge_with_it(tmp_path: Path, via: str) -> None:
    launches: list[Launch] = [((16,), {"via": via, "seconds": 5.0}), ((7,), {"seconds": 0.2})]
    found = study(tmp_path / "run", ["n"], launches)
    assert found.arguments[0].seconds_saved[Remedy.SPECIALIZE] == pytest.approx(0.2)
    assert found.plan[-1].after == Outcome(1, 0, 0)


values = st.sampled_from([1, 2, 7, 16, 32, 2**40, 2**40 + 16])
launches = st.lists(st.tuples(values, values, st.sampled_from([0.1, 0.2, 0.5])), min_size=2, max_size=12)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(launches=launches)
def test_more_opt_outs_never_leave_more(tmp_path_factory: pytest.TempPathFactory, launches: Any) -> None:
    path = tmp_path_factory.mktemp("runs") / "run"
    met: list[Launch] = [((a, b), {"seconds": s}) for a, b, s in launches]
    scenario = study(path, ["a", "b"], met).scenario
    ladder = [Remedy.ALIGNMENT, Remedy.SPECIALIZE, Remedy.ANNOTATE]
    for position, offered in scenario.remedies.items():
        last = scenario.as_is
        for remedy in [each for each in ladder if each in offered]:
            left = scenario.outcome({position: remedy})
            both = scenario.outcome({i: remedies[-1] for i, remedies in scenario.remedies.items()})
            assert both.seconds <= left.seconds + 1e-9
            assert left.seconds <= last.seconds + 1e-9
            assert both.variants <= left.variants <= last.variants
            last = left
