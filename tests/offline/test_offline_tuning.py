"""Autotuners choose without measuring, once for each key; benchmarks answer a constant."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import triton

from tests.offline import device_code


def test_each_key_is_tuned_once_and_results_are_those_of_one_launch(said: list[str]) -> None:
    configurations = [triton.Config({"BLOCK": 32}, num_warps=2), triton.Config({"BLOCK": 64}, num_warps=4)]
    tuned: Any = triton.autotune(configs=configurations, key=["n"])(device_code.accumulate)
    for n in (64, 64, 33):
        x, out = torch.ones(64, device="cuda"), torch.zeros(64, device="cuda")
        tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, out, n)  # noqa: B023  called at once
        assert out.sum().item() == n
    assert len(tuned.cache) == 2
    assert tuned.best_config.kwargs == {"BLOCK": 32}
    assert sum("first configuration" in sentence for sentence in said) == 1


def test_losing_configurations_are_not_compiled(said: list[str]) -> None:
    inner = device_code.make_add()
    configurations = [triton.Config({"BLOCK": size}) for size in (64, 128, 256)]
    tuned = triton.autotune(configs=configurations, key=["n"])(inner)
    x = torch.ones(64, device="cuda")
    tuned[(1,)](x, x, x, 64)
    assert len(device_code.variants(inner)) == 1


def test_a_configuration_that_does_not_fit_is_passed_over(said: list[str]) -> None:
    inner = device_code.matmul
    configurations = [triton.Config({"TILE": 128}, num_stages=5), triton.Config({"TILE": 32})]
    tuned: Any = triton.autotune(configs=configurations, key=["M"])(inner)
    a = torch.eye(32, device="cuda")
    c = torch.empty_like(a)
    tuned[lambda meta: (triton.cdiv(32, meta["TILE"]), 1)](a, a, c, 32, 32, 32, 32, 32, 32)
    assert tuned.best_config.kwargs == {"TILE": 32}
    assert torch.equal(a, c)


def test_pruning_comes_first(said: list[str]) -> None:
    inner = device_code.make_add()
    configurations = [triton.Config({"BLOCK": size}) for size in (64, 128, 256)]

    def keep_the_last(configs: list[Any], named: dict[str, Any], **options: Any) -> list[Any]:
        return configs[1:]

    tuned = triton.autotune(
        configs=configurations, key=["n"], prune_configs_by={"early_config_prune": keep_the_last}
    )(inner)
    x = torch.ones(64, device="cuda")
    tuned[(1,)](x, x, x, 64)
    assert tuned.best_config.kwargs == {"BLOCK": 128}


@pytest.mark.parametrize("options", [{}, {"return_mode": "median"}, {"quantiles": [0.5]}])
def test_benchmarks_run_once_and_answer_a_constant(said: list[str], options: dict[str, Any]) -> None:
    calls: list[int] = []
    assert triton.testing.do_bench(lambda: calls.append(1), **options) == 1.0
    assert calls == [1]
    assert "do_bench answered 1 ms without measuring" in said


def test_quantiles_are_as_many_as_asked_for(said: list[str]) -> None:
    assert triton.testing.do_bench(lambda: None, quantiles=[0.5, 0.2, 0.8]) == [1.0, 1.0, 1.0]
