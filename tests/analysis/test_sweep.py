"""The sweep T = 1..64: four variants, each with its true cause."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from jitwatch.specialization import Parameter, classify, traits_of
from tests.conftest import Profiled
from tests.made_runs import MadeRun, tensor
from tests.sweep import SWEEP, align, check_sweep, first_of_each_class, sweep_class


def test_the_model_gives_exactly_the_four_classes_of_the_sweep() -> None:
    traits = traits_of("3.7.1")
    groups: dict[object, set[str]] = {}
    for tokens in SWEEP:
        values = (tokens, align(tokens, 4))
        key = tuple(classify(value, Parameter("n"), traits) for value in values)
        groups.setdefault(key, set()).add(sweep_class(tokens))
    assert sorted(map(sorted, groups.values())) == [
        ["{1}"],
        ["{T%16 in 13,14,15}"],
        ["{T%16==0}"],
        ["{others}"],
    ]


def test_each_variant_of_the_sweep_is_blamed_on_the_right_argument(tmp_path: Path) -> None:
    kernel = MadeRun(tmp_path / "run").process().kernel("k", "x", "num_tokens", "scale_stride_k")
    for tokens in first_of_each_class():
        kernel.launch(tensor(), tokens, align(tokens, 4))
    check_sweep(tmp_path / "run", "k")


PROGRAM = """
@triton.jit
def rope(num_tokens, scale_stride_k):
    tl.device_assert(num_tokens < scale_stride_k)

for tokens in range(1, 65):
    rope[(1,)](tokens, -(-tokens // 4) * 4)
"""


def test_the_sweep_recorded_from_triton_itself_gives_the_same_answer(
    write: Callable[..., Path], profile: Callable[..., Profiled]
) -> None:
    run = profile(write(PROGRAM))
    assert run.code == 0, run.stderr
    check_sweep(run.directory, "rope")
