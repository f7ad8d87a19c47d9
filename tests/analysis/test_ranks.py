"""What one rank's stall costs its group, from the times of misses alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jitwatch.analysis import analyse
from jitwatch.analysis.ranks import RankFindings, study_ranks
from jitwatch.report.ranks import describe, rank_lines
from jitwatch.rundir import read_run
from tests.made_runs import START, MadeKernel, MadeRun

FIRST = 3
"""A length every rank meets first; all others here are of other classes."""


def study(path: Path) -> RankFindings | None:
    return study_ranks(analyse(read_run(path)))


def group_of(path: Path, world: int) -> list[MadeKernel]:
    """A run in which each rank compiled one variant of ``rope`` within the first second."""
    run = MadeRun(path)
    kernels = []
    for rank in range(world):
        kernel = run.process(pid=100 + rank, rank=rank).kernel("rope", "n")
        kernel.launch(FIRST, seconds=0.5)
        kernels.append(kernel)
    return kernels


def meet(kernel: MadeKernel, at: float, value: int, **how: Any) -> None:
    """A miss `at` seconds after the start of the run."""
    kernel.process.clock = START + at
    kernel.launch(value, wait=0, **how)


@pytest.fixture
def group(tmp_path: Path) -> list[MadeKernel]:
    return group_of(tmp_path / "run", 4)


def found(tmp_path: Path) -> RankFindings:
    ranks = study(tmp_path / "run")
    assert ranks is not None
    return ranks


def test_processes_that_are_no_ranks_are_no_group(tmp_path: Path) -> None:
    run = MadeRun(tmp_path / "run")
    for pid in (100, 101):
        run.process(pid=pid).kernel("rope", "n").launch(3)
    assert study(tmp_path / "run") is None


def test_one_rank_is_no_group_however_many_processes_it_started(tmp_path: Path) -> None:
    run = MadeRun(tmp_path / "run")
    for pid in (100, 101):
        run.process(pid=pid, rank=0).kernel("rope", "n").launch(3)
    assert study(tmp_path / "run") is None


def test_a_compile_by_one_rank_alone_costs_the_time_of_all(tmp_path: Path, group: list[MadeKernel]) -> None:
    meet(group[1], 10, 16, seconds=0.2)
    ranks = found(tmp_path)
    (window,) = ranks.recompiling
    assert window.only_rank == 1
    assert window.seconds == pytest.approx(0.2)
    assert ranks.gpu_seconds_recompiles == pytest.approx(0.8)
    assert describe(window) == "only rank 1 missed rope, the others waited"
    waited = [total.waited for total in ranks.totals]
    assert waited == pytest.approx([0.2, 0.0, 0.2, 0.2])


def test_ranks_that_compile_at_once_cost_the_longest_not_the_sum(
    tmp_path: Path, group: list[MadeKernel]
) -> None:
    for rank, kernel in enumerate(group):
        meet(kernel, 10 + rank / 1000, 16, seconds=0.2 + rank / 10)
    (window,) = found(tmp_path).recompiling
    assert window.only_rank is None
    assert window.slowest.rank == 3
    assert window.seconds == pytest.approx(0.5)
    assert describe(window) == "all 4 ranks missed rope, each compiled it"


def test_a_rank_that_compiles_while_the_others_read_from_disk_is_named(
    tmp_path: Path, group: list[MadeKernel]
) -> None:
    for rank, kernel in enumerate(group):
        meet(kernel, 10, 16, seconds=0.2 if rank == 2 else 0.002, cached=rank != 2)
    (window,) = found(tmp_path).recompiling
    assert window.compiled == (2,)
    assert describe(window) == (
        "all 4 ranks missed rope, only rank 2 compiled it, the rest read it from the disk cache"
    )


def test_a_read_that_ends_just_before_the_compile_begins_is_of_the_same_window(
    tmp_path: Path, group: list[MadeKernel]
) -> None:
    meet(group[0], 10, 16, seconds=0.002, cached=True)
    meet(group[1], 10.003, 16, seconds=0.2)
    (window,) = found(tmp_path).recompiling
    assert (window.missed, window.compiled) == ((0, 1), (1,))


def test_compiles_of_one_step_after_the_other_are_not_taken_for_one(
    tmp_path: Path, group: list[MadeKernel]
) -> None:
    meet(group[0], 10, 16, seconds=0.2)
    meet(group[1], 10.203, 16, seconds=0.2)
    meet(group[2], 10.410, 1, seconds=0.002, cached=True)
    assert found(tmp_path).seconds_recompiles == pytest.approx(0.402)


def test_stalls_that_do_not_overlap_are_paid_one_after_the_other(
    tmp_path: Path, group: list[MadeKernel]
) -> None:
    meet(group[0], 10, 16, seconds=0.2)
    meet(group[3], 11, 16, seconds=0.3)
    ranks = found(tmp_path)
    assert [window.only_rank for window in ranks.recompiling] == [0, 3]
    assert ranks.seconds_recompiles == pytest.approx(0.5)


def test_two_stalls_of_one_rank_beside_a_longer_one_are_added_first(
    tmp_path: Path, group: list[MadeKernel]
) -> None:
    meet(group[0], 10.0, 16, seconds=0.2)
    meet(group[0], 10.25, 1, seconds=0.2)
    meet(group[1], 10.1, 16, seconds=0.3)
    (window,) = found(tmp_path).recompiling
    assert window.slowest.rank == 0
    assert window.seconds == pytest.approx(0.4)


def test_threads_of_a_rank_that_stall_at_once_lose_the_time_once(
    tmp_path: Path, group: list[MadeKernel]
) -> None:
    meet(group[0], 10.0, 16, seconds=0.2, thread=1)
    meet(group[0], 10.1, 1, seconds=0.2, thread=2)
    assert found(tmp_path).seconds_recompiles == pytest.approx(0.3)


def test_loading_the_module_holds_the_group_up_too(tmp_path: Path, group: list[MadeKernel]) -> None:
    meet(group[0], 10, 16, seconds=0.2, load=0.05)
    assert found(tmp_path).seconds_recompiles == pytest.approx(0.25)


def test_first_variants_are_counted_apart_from_recompiles(tmp_path: Path, group: list[MadeKernel]) -> None:
    meet(group[0], 10, 16, seconds=0.2)
    ranks = found(tmp_path)
    assert ranks.seconds == pytest.approx(0.7)
    assert ranks.seconds_recompiles == pytest.approx(0.2)


def test_without_a_recompile_the_lines_tell_of_first_variants(
    tmp_path: Path, group: list[MadeKernel]
) -> None:
    assert list(rank_lines(found(tmp_path))) == [
        "in step, first variants hold all 4 up for 0.50 s, 2.00 GPU-seconds.",
        "· all 4 ranks missed rope, each compiled it: 1 time, 0.50 s",
    ]


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.floats(1, 50), st.floats(0.01, 3)),
        min_size=1,
        max_size=12,
        unique_by=lambda miss: miss[1],
    )
)
def test_the_group_loses_no_less_than_its_worst_rank_and_no_more_than_all(
    tmp_path_factory: pytest.TempPathFactory, misses: list[tuple[int, float, float]]
) -> None:
    path = tmp_path_factory.mktemp("made") / "run"
    group = group_of(path, 3)
    for number, (rank, at, seconds) in enumerate(sorted(misses, key=lambda miss: miss[1])):
        kernel = group[rank]
        kernel.process.clock = START + at + 2
        kernel.launch(16, wait=0, seconds=seconds, key=f"variant {number}")
    ranks = study(path)
    assert ranks is not None
    own = [total.seconds for total in ranks.totals]
    assert max(own) <= ranks.seconds + 1e-5
    assert ranks.seconds <= sum(own) + 1e-5
    assert all(total.waited >= -1e-5 for total in ranks.totals)
