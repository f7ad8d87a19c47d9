"""The kind of each miss, which are recompiles, what caused them, and races."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jitwatch.analysis import Kind, MissEvent, analyse
from jitwatch.rundir import read_run
from jitwatch.specialization import Parameter, Subject
from tests.made_runs import START, MadeKernel, MadeProcess, MadeRun, tensor


@pytest.fixture
def run(tmp_path: Path) -> MadeRun:
    return MadeRun(tmp_path / "run")


@pytest.fixture
def process(run: MadeRun) -> MadeProcess:
    return run.process()


@pytest.fixture
def kernel(process: MadeProcess) -> MadeKernel:
    return process.kernel("k", "x", "n")


def events_of(run: MadeRun) -> list[MissEvent]:
    findings = analyse(read_run(run.path))
    return [event for kernel in findings.kernels for event in kernel.events]


def kinds(run: MadeRun) -> list[tuple[str, bool]]:
    return [(event.kind.value, event.recompile) for event in events_of(run)]


def causes(run: MadeRun) -> list[list[str]]:
    return [[change.words() for change in event.changes] for event in events_of(run)]


# -- what is no recompile -----------------------------------------------------------------------------------------


def test_the_first_variant_of_a_kernel_is_no_recompile(run: MadeRun, kernel: MadeKernel) -> None:
    kernel.launch(tensor(), 48)
    kernel.process.kernel("other", "n", line=90).launch(7)
    assert kinds(run) == [("compile", False), ("compile", False)]


@pytest.mark.parametrize(
    ("via", "kind"),
    [("warmup", Kind.MANUAL_WARMUP), ("preload", Kind.PRELOAD), ("tune", Kind.AUTOTUNE_CANDIDATE)],
)
@pytest.mark.parametrize("cached", [True, False])
def test_what_no_launch_waited_for_is_no_recompile(
    run: MadeRun, kernel: MadeKernel, via: str, kind: Kind, cached: bool
) -> None:
    kernel.launch(tensor(), 48)
    kernel.launch(tensor(), 62, via=via, cached=cached)
    assert kinds(run)[1] == (kind.value, False)
    (found,) = analyse(read_run(run.path)).kernels
    assert (found.seconds, found.seconds_recompiles) == (0.1, 0)


@pytest.mark.parametrize("how", [{"served": False}, {"failed": "CompilationError: no"}])
@pytest.mark.parametrize("via", ["launch", "tune", "warmup"])
def test_a_failed_launch_is_no_recompile_and_no_variant(
    run: MadeRun, kernel: MadeKernel, how: dict[str, Any], via: str
) -> None:
    kernel.launch(tensor(), 48, via=via, **how)
    kernel.launch(tensor(), 48)
    assert kinds(run) == [("failed", False), ("compile", False)]
    assert analyse(read_run(run.path)).kernels[0].variants == 1


def test_processes_do_not_share_their_memory(run: MadeRun) -> None:
    for pid in (1, 2):
        run.process(pid=pid).kernel("k", "n").launch(48 if pid == 1 else 62)
    assert kinds(run) == [("compile", False), ("compile", False)]


# -- recompiles and their kinds -----------------------------------------------------------------------------------


def test_a_launch_after_a_warm_up_of_another_variant_is_a_recompile(run: MadeRun, kernel: MadeKernel) -> None:
    kernel.launch(tensor(), 48, via="warmup")
    kernel.launch(tensor(), 62)
    assert kinds(run)[1] == ("compile", True)
    assert causes(run)[1] == ["n: 48 (÷16) → 62 (other)"]


@pytest.mark.parametrize(("cached", "kind"), [(False, "compile"), (None, "compile"), (True, "disk_hit")])
def test_a_new_class_is_compiled_or_read_from_disk(
    run: MadeRun, kernel: MadeKernel, cached: bool | None, kind: str
) -> None:
    kernel.launch(tensor(), 48)
    kernel.launch(tensor(), 62, cached=cached)
    assert kinds(run)[1] == (kind, True)


def test_the_same_variant_on_another_device_is_told_so(run: MadeRun, kernel: MadeKernel) -> None:
    kernel.launch(tensor(), 48)
    kernel.launch(tensor(), 48, device=1, cached=True)
    assert kinds(run)[1] == ("another_device", True)
    assert causes(run)[1] == ["device 0 → 1"]


def test_a_new_variant_on_another_device_is_a_compile(run: MadeRun, kernel: MadeKernel) -> None:
    kernel.launch(tensor(), 48)
    kernel.launch(tensor(), 62, device=1)
    assert kinds(run)[1] == ("compile", True)


def test_a_function_decorated_again_is_told_so(run: MadeRun, process: MadeProcess) -> None:
    for _ in range(3):
        process.kernel("k", "n").launch(48, cached=True)
    assert kinds(run)[1:] == [("redecorated", True)] * 2
    assert analyse(read_run(run.path)).kernels[0].variants == 1


def test_functions_of_one_name_on_other_lines_are_other_kernels(run: MadeRun, process: MadeProcess) -> None:
    process.kernel("k", "n", line=10).launch(48)
    process.kernel("k", "n", line=20).launch(48)
    assert kinds(run) == [("compile", False)] * 2


def test_another_spelling_of_the_same_options_is_told_so(run: MadeRun, kernel: MadeKernel) -> None:
    kernel.launch(tensor(), 48)
    kernel.launch(tensor(), 48, options={"num_warps": 4}, cached=True)
    kernel.launch(tensor(), 48, options={"num_warps": 8})
    assert [kind for kind, _ in kinds(run)] == ["compile", "option_spelling", "compile"]


def test_what_was_compiled_in_spite_of_the_spelling_is_named_by_its_spelling(
    run: MadeRun, kernel: MadeKernel
) -> None:
    kernel.launch(tensor(), 48, options={"num_warps": 8, "num_stages": 2})
    kernel.launch(tensor(), 48, options={"num_stages": 2, "num_warps": 8}, cached=False)
    assert kinds(run)[1] == ("option_spelling", True)


def test_an_emptied_memory_cache_is_told_so(run: MadeRun, kernel: MadeKernel) -> None:
    kernel.launch(tensor(), 48)
    kernel.launch(tensor(), 48, cached=True)
    assert kinds(run)[1] == ("disk_hit", True)
    assert "emptied" in causes(run)[1][0]


def test_a_difference_that_no_event_carries_is_admitted(run: MadeRun, kernel: MadeKernel) -> None:
    kernel.launch(tensor(), 48, key="a")
    kernel.launch(tensor(), 48, key="b")
    (change,) = events_of(run)[1].changes
    assert change.subject is Subject.UNSEEN


# -- the closest earlier variant ----------------------------------------------------------------------------------


def test_the_fewest_differences_win_over_the_latest(run: MadeRun, kernel: MadeKernel) -> None:
    kernel.launch(tensor(), 48)
    kernel.launch(tensor(8), 62)
    kernel.launch(tensor(), 1)
    assert causes(run)[2] == ["n: 48 (÷16) → 1 (=1)"]


def test_of_equally_close_variants_the_latest_is_named(run: MadeRun, kernel: MadeKernel) -> None:
    kernel.launch(tensor(), 48)
    kernel.launch(tensor(), 62)
    kernel.launch(tensor(), 1)
    assert causes(run)[2] == ["n: 62 (other) → 1 (=1)"]


def test_every_difference_is_named_when_several_changed(run: MadeRun, kernel: MadeKernel) -> None:
    kernel.launch(tensor(), 48)
    kernel.launch(tensor(8), 62, options={"num_warps": 8})
    assert causes(run)[1] == [
        "x: aligned → unaligned (address % 16 = 8)",
        "n: 48 (÷16) → 62 (other)",
        "num_warps: 4 (default) → 8",
    ]


# -- threads and forks --------------------------------------------------------------------------------------------


def race(kernel: MadeKernel, starts_and_ends: list[tuple[float, float]], values: tuple[Any, ...]) -> None:
    """Threads that miss the same variant, each told with its own start and end."""
    process = kernel.process
    for thread, (start, end) in enumerate(starts_and_ends):
        process.clock = START + start
        kernel.launch(*values, thread=thread, wait=0, seconds=end - start)


def test_threads_that_race_on_one_variant_count_once(run: MadeRun, kernel: MadeKernel) -> None:
    race(kernel, [(10, 10.2), (10.05, 10.4), (10.1, 10.3), (10.15, 10.25)], (tensor(), 48))
    (event,) = events_of(run)
    assert event.threads == 4
    assert event.seconds == pytest.approx(0.35)


def test_the_same_variant_after_the_race_is_another_miss(run: MadeRun, kernel: MadeKernel) -> None:
    race(kernel, [(10, 10.2), (10.1, 10.3), (11, 11.1)], (tensor(), 48))
    assert [event.threads for event in events_of(run)] == [2, 1]


def test_threads_on_different_variants_do_not_race(run: MadeRun, kernel: MadeKernel) -> None:
    race(kernel, [(10, 10.2)], (tensor(), 48))
    race(kernel, [(10.1, 10.3)], (tensor(), 62))
    assert [event.threads for event in events_of(run)] == [1, 1]


def test_a_hook_called_twice_for_a_variant_in_flight_counts_once(run: MadeRun, kernel: MadeKernel) -> None:
    kernel.launch(tensor(), 48, seconds=1.0)
    kernel.process.clock -= 0.5
    kernel.launch(tensor(), 48, served=False)
    (event,) = events_of(run)
    assert (event.kind, event.threads) == (Kind.COMPILE, 1)


@pytest.mark.parametrize("forked", [True, False])
def test_a_forked_child_has_its_parents_variants(run: MadeRun, forked: bool) -> None:
    parent = run.process(pid=1)
    parent.kernel("k", "n").launch(48)
    parent.clock = START + 100
    parent.kernel("later", "n", line=50).launch(48)
    child = run.process(pid=2, clock=START + 50, parent=parent.file.name if forked else None)
    child.kernel("later", "n", line=50).launch(62)  # the parent compiled its own after the fork
    child.kernel("k", "n").launch(62)
    recompiles = [event for event in events_of(run) if event.recompile]
    assert [event.kernel.name for event in recompiles] == ["k"] * forked
    assert [change.words() for event in recompiles for change in event.changes] == [
        "n: 48 (÷16) → 62 (other)"
    ] * forked


def test_a_constexpr_that_takes_many_values_is_named_each_time(run: MadeRun, process: MadeProcess) -> None:
    kernel = process.kernel("k", Parameter("T", constexpr=True))
    for tokens in range(5):
        kernel.launch(tokens)
    assert causes(run) == [[], *([f"T: {t} → {t + 1} (constexpr)"] for t in range(4))]


def test_a_launch_that_succeeds_beside_one_that_fails_is_a_variant(run: MadeRun, kernel: MadeKernel) -> None:
    kernel.launch(tensor(), 48, failed="OutOfResources: shared memory", thread=1)
    kernel.process.clock -= 0.05
    kernel.launch(tensor(), 48, thread=2)
    assert [event.kind for event in events_of(run)] == [Kind.FAILED, Kind.COMPILE]
