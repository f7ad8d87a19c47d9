"""Autotuners that tune again, and the argument of their key behind it."""

from __future__ import annotations

from pathlib import Path

import pytest

from jitwatch.analysis import analyse
from jitwatch.analysis.tuning import TuneFindings
from jitwatch.rundir import read_run
from tests.made_runs import MadeRun


def tuning_of(run: MadeRun) -> TuneFindings | None:
    (found,) = analyse(read_run(run.path)).kernels
    return found.tuning


@pytest.fixture
def run(tmp_path: Path) -> MadeRun:
    return MadeRun(tmp_path / "run")


def test_tuning_once_in_each_process_loses_nothing(run: MadeRun) -> None:
    for pid in (1, 2):
        run.process(pid=pid).kernel("k", "M").tune({"M": pid}, 1.0)
    tuning = tuning_of(run)
    assert tuning is not None
    assert (tuning.tunes, tuning.retunes, tuning.seconds_retunes) == (2, 0, 0)


def test_a_kernel_that_was_never_tuned_has_no_tuning(run: MadeRun) -> None:
    run.process().kernel("k", "M").launch(3)
    assert tuning_of(run) is None


def test_the_dearest_tuning_stays_whatever_the_order(run: MadeRun) -> None:
    kernel = run.process().kernel("k", "M")
    for m, seconds in ((48, 1.0), (49, 3.0), (50, 2.0)):
        kernel.tune({"M": m}, seconds, losers=seconds / 2)
    tuning = tuning_of(run)
    assert tuning is not None
    assert (tuning.retunes, tuning.seconds, tuning.seconds_retunes, tuning.losers) == (2, 6.0, 3.0, 3.0)


def test_the_argument_that_takes_many_values_is_named_first(run: MadeRun) -> None:
    kernel = run.process().kernel("k", "M", "N", "K")
    for m in range(48, 54):
        for n in (128, 256):
            kernel.tune({"M": m, "N": n, "K": 64}, 1.0)
    tuning = tuning_of(run)
    assert tuning is not None
    assert [(each.name, each.retunes_saved, each.seconds_saved) for each in tuning.arguments] == [
        ("M", 10, 10.0),
        ("N", 6, 6.0),
    ]
    assert tuning.arguments[0].values == (48, 49, 50, 51, 52, 53)


def test_dtypes_are_part_of_the_key_but_no_argument(run: MadeRun) -> None:
    process = run.process()
    kernel = process.kernel("k", "M")
    for dtype in ("torch.float16", "torch.float32"):
        row = {"event": "tune", "time": 1.0, "kernel": kernel.id, "candidates": 2, "seconds": 1.0}
        process.write(row | {"key": [["M", 48], ["dtype", dtype]]})
    tuning = tuning_of(run)
    assert tuning is not None
    assert (tuning.retunes, tuning.arguments) == (1, [])
