"""The fused-MoE layer on a Hopper GPU against the reference: 300 random shapes and routings."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton", "3.6")

import torch

if not torch.cuda.is_available() or torch.cuda.get_device_capability() < (8, 9):
    pytest.skip("needs a CUDA device with e4m3 (compute capability 8.9)", allow_module_level=True)

from jitwatch.kernels.fused_moe import launcher
from jitwatch.kernels.fused_moe.experts import Scheme
from jitwatch.kernels.fused_moe.problem import Shape, make_experts, make_routing
from tests.kernels.moe_cases import Case, run, tolerance

KINDS = [
    Case("fp8-tensor", 1),
    Case("fp8-tensor", 1, hidden=512, inner=384, top_k=8, fast=True),
    Case("fp8-tensor", 1, hidden=1040, inner=208, block_n=128, top_k=2),
    Case("fp8-tensor", 1, hidden=256, inner=256, swap=False, top_k=1),
    Case("fp8-tensor", 1, hidden=768, inner=512, block_m=64, block_n=128, swap=False, group_m=8),
    Case("fp8-tensor", 1, hidden=768, inner=512, block_m=128, block_n=256, swap=False, group_m=4, fast=True),
    Case("fp8-tensor", 1, hidden=512, inner=256, block_m=32, top_k=16),
    Case("fp8-tensor", 1, hidden=512, inner=768, by_token=True, top_k=8, swap=False),
    Case("fp8-token", 1, hidden=512, inner=384),
    Case("fp8-token", 1, hidden=1040, inner=208, per_channel=True, mapped=True),
    Case("fp8-token", 1, hidden=512, inner=384, per_channel=True, swap=False),
    Case("fp8-token", 1, hidden=256, inner=384, block_m=64, block_n=128, swap=False),
    Case("fp8-token", 1, hidden=512, inner=384, by_token=True, swap=False, per_channel=True, holes=True),
    Case("fp8-block", 1, hidden=512, inner=384),
    Case("fp8-block", 1, hidden=1040, inner=208, mapped=True),
    Case("fp8-block", 1, hidden=512, inner=384, swap=False, holes=True),
    Case("fp8-block", 1, hidden=768, inner=256, block_m=128, block_n=128, swap=False, top_k=8),
    Case("fp8-block", 1, hidden=512, inner=384, by_token=True, swap=False, mapped=True),
    Case("plain", 1, hidden=512, inner=384, block_k=64),
    Case("plain", 1, hidden=520, inner=104, swap=False, block_k=64, mapped=True),
    Case("plain", 1, hidden=512, inner=384, block_m=64, block_n=128, block_k=64, swap=False, top_k=8),
    Case("plain", 1, hidden=512, inner=384, block_m=128, block_n=256, block_k=64, swap=False, group_m=8),
    Case("plain", 1, hidden=512, inner=384, block_k=64, dtype="fp16", holes=True),
    Case("plain", 1, hidden=512, inner=384, by_token=True, swap=False),
    Case("fp8-tensor", 1, hidden=512, inner=384, block_m=16, block_n=128, block_k=256, long_ids=True),
    Case("fp8-tensor", 1, hidden=1536, inner=1040, block_n=128, block_k=256, top_k=4),
    Case("fp8-tensor", 1, hidden=1024, inner=384, direct=True, top_k=8),
    Case("fp8-tensor", 1, hidden=1040, inner=208, direct=True, swap=False, mapped=True, holes=True),
    Case("plain", 1, hidden=512, inner=384, direct=True, block_k=64),
]
"""What is compiled; each meets a dozen numbers of tokens and experts, evenly routed and skewed."""


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_random_numbers_of_tokens_and_experts_agree_with_the_reference(kind: Case) -> None:
    draw = random.Random(str(kind))
    errors = {}
    for number in range(12):
        tokens = draw.choice((1, 2, 3, 5, 8, 16, 17, 33, 64, 130, 257, 700))
        experts = kind.top_k + draw.choice((0, 1, 7, 60, 250))
        case = replace(kind, tokens=tokens, experts=experts, skew=draw.choice((0.0, 0.0, 5.0, 40.0)))
        errors[case] = run(case, "cuda", seed=number)
    worst = max(errors, key=lambda case: errors[case])
    print(f"{worst}: {errors[worst]:.2e}")
    assert errors[worst] < tolerance(kind), f"{worst}: {errors[worst]:.2e}"


@pytest.mark.parametrize("scheme", ["plain", "fp8-tensor"])
def test_torchs_grouped_gemms_make_the_same_layer(scheme: str) -> None:
    for tokens in (1, 40, 300):
        case = Case(scheme, tokens, 16, 4, hidden=512, inner=256, grouped=True, fast=scheme != "plain")
        assert run(case, "cuda") < tolerance(case)


@pytest.mark.parametrize("scheme", list(Scheme))
def test_a_captured_graph_follows_new_routings_and_inputs(scheme: Scheme) -> None:
    shape = Shape(40, 4, 512, 256)
    experts = make_experts(shape, scheme, "cuda")
    x = torch.randn(24, 512, device="cuda").to(torch.bfloat16)
    ids, weights = make_routing(24, shape, "cuda")
    launcher.fused_moe(x, experts, ids, weights)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = launcher.fused_moe(x, experts, ids, weights)
    for seed in (1, 2, 3):
        new_ids, new_weights = make_routing(24, shape, "cuda", seed)
        ids.copy_(new_ids)
        weights.copy_(new_weights)
        x.normal_()
        graph.replay()
        expected = launcher.fused_moe(x, experts, ids, weights)
        assert torch.equal(captured, expected)


def test_the_output_is_the_same_each_time() -> None:
    shape = Shape(32, 8, 512, 256)
    experts = make_experts(shape, Scheme.TENSOR, "cuda")
    x = torch.randn(300, 512, device="cuda").to(torch.bfloat16)
    ids, weights = make_routing(300, shape, "cuda")
    first = launcher.fused_moe(x, experts, ids, weights)
    assert all(torch.equal(first, launcher.fused_moe(x, experts, ids, weights)) for _ in range(20))
