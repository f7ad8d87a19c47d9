"""What time says of a verdict, and the arguments it is measured with. The measuring itself: ``tests/gpu``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from jitwatch.analysis import analyse
from jitwatch.rundir import read_run
from jitwatch.runtime.offline.target import parse_target
from jitwatch.specialization import Remedy
from jitwatch.verify import Outcome, Pool, Verdict
from jitwatch.verify.requests import Launch
from jitwatch.verify.runs import requests_of_run
from jitwatch.verify.timed import SEEN_RANDOM, SEEN_ZEROS, add_times, judge_time
from jitwatch.verify.verdicts import Pair
from jitwatch.verify.wanted import Wanted
from jitwatch.verify.worker.launching import Unrepeatable, make_argument
from tests.conftest import Profiled
from tests.verify.test_figures import CHANGED, PLAIN

Write = Callable[..., Path]
Profile = Callable[..., Profiled]

TIMES = {"before": 100.0, "after": 101.0}
SLOWER = {"before": 100.0, "after": 103.0}


def verdict(outcome: Outcome, reason: str = "3 more instructions") -> Verdict:
    """On one pair whose code differs."""
    pair = Pair("÷16", outcome, reason, PLAIN, CHANGED)
    return Verdict("kernel", "ops.py", 3, "n", Remedy.SPECIALIZE, "cuda:90", outcome, reason, (pair,))


@pytest.mark.parametrize(
    ("before", "times", "zeroes", "after"),
    [
        (Outcome.HARMLESS, TIMES, True, Outcome.HARMLESS),
        (Outcome.HARMLESS, SLOWER, True, Outcome.COSTS),
        (Outcome.COSTS, TIMES, False, Outcome.COSTS),
        (Outcome.UNKNOWN, SLOWER, False, Outcome.COSTS),
        (Outcome.UNKNOWN, TIMES, False, Outcome.HARMLESS),
        (Outcome.UNKNOWN, TIMES, True, Outcome.UNKNOWN),
    ],
)
def test_time_settles_what_it_can(
    before: Outcome, times: Mapping[str, Any], zeroes: bool, after: Outcome
) -> None:
    timed = judge_time(verdict(before, "a loop more; time it on the device"), times, zeroes)
    assert timed.outcome is after
    assert timed.reason == f"a loop more; timed 100.0 → {times['after']:.1f} us ({times['after'] / 100:.2f})"
    assert timed.notes == (SEEN_ZEROS if zeroes else SEEN_RANDOM,)
    row = timed.to_json()
    assert row["time_ratio"] == times["after"] / 100
    assert (row["before"]["microseconds"], row["after"]["microseconds"]) == (100.0, times["after"])


def test_a_launch_that_fails_leaves_the_verdict_and_says_so() -> None:
    before = verdict(Outcome.HARMLESS)
    after = judge_time(before, {"failed": "illegal memory access", "stage": "time"}, False)
    assert replace(after, notes=()) == before
    assert after.notes == ("n was not timed: illegal memory access",)
    assert after.to_json()["time_ratio"] is None


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float8_e4m3fn", "int64", "uint8", "bool"])
@pytest.mark.parametrize("mod16", [0, 8])
def test_a_tensor_has_the_recorded_address_and_storage(dtype: str, mod16: int) -> None:
    made = make_argument({"tensor": dtype, "shape": [2], "mod16": mod16, "bytes": 4096}, "cpu")
    assert made.dtype is getattr(torch, dtype)
    assert made.data_ptr() % 16 == mod16
    assert made.nbytes >= 4096
    assert bool((made.float() != 0).any()) == made.dtype.is_floating_point


def test_other_arguments_are_themselves() -> None:
    described = [3, None, 2.5, True, [1, 2], {"repr": "triton.language.bfloat16"}]
    assert [make_argument(each, "cpu") for each in described] == [3, None, 2.5, True, (1, 2), None]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"tensor": "bfloat16", "shape": [2], "mod16": 0}, "did not record the size"),
        ({"tensor": "none_such", "bytes": 4}, "did not record the size"),
        ({"descriptor": "float16", "shape": [2], "block": [2]}, "tensor descriptor"),
    ],
)
def test_what_cannot_be_made_again_is_said(value: Any, why: str) -> None:
    with pytest.raises(Unrepeatable, match=why):
        make_argument(value, "cpu")


PROGRAM = """
import torch
@triton.jit
def masked(x, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x + offsets, tl.load(x + offsets, mask=offsets < n) * 2, mask=offsets < n)
x = torch.zeros(64, dtype=torch.bfloat16)
for n in (48, 33):
    masked[lambda meta: (2, meta["n"])](x[8:], n, BLOCK=32)
"""


def test_a_runs_requests_carry_its_launches(write: Write, profile: Profile) -> None:
    findings = analyse(read_run(profile(write(PROGRAM)).directory))
    (request,) = requests_of_run(findings, Wanted())
    tensor = {"tensor": "bfloat16", "shape": [56], "mod16": 0, "bytes": 128}
    told = findings.run.processes[0].misses[0].grid is not None  # Triton before 3.5 has no hook that tells
    grids = [(2, 48), (2, 33)] if told else []
    assert list(request.launches.values()) == [Launch(grid, (tensor, grid[1], 32)) for grid in grids]


@pytest.mark.skipif(torch.cuda.is_available(), reason="it would be timed")
def test_without_a_device_nothing_is_timed(write: Write, profile: Profile, pool: Pool) -> None:
    findings = analyse(read_run(profile(write(PROGRAM)).directory))
    (request,) = requests_of_run(findings, Wanted())
    ((before, after), *_) = request.pairs()
    request = replace(request, launches={before: Launch((1,), (None, 48, 32))})
    given = verdict(Outcome.HARMLESS)
    given = replace(given, pairs=(replace(given.pairs[0], forms=(before, after)),))
    assert add_times([request], [given], parse_target("cuda:90"), pool) == [given]
