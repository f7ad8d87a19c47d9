"""What the fused-MoE entry point refuses, and that each refusal names the argument and the way out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton", "3.6")

import torch

from jitwatch.errors import JitwatchError
from jitwatch.kernels.fused_moe.checks import check_experts, check_inputs
from jitwatch.kernels.fused_moe.experts import Experts, Scheme
from jitwatch.kernels.fused_moe.problem import Shape, make_experts, make_routing

SHAPE = Shape(4, 2, 64, 32)


def made(scheme: Scheme = Scheme.PLAIN, **changes: Any) -> Experts:
    """Valid weights with something changed."""
    return replace(make_experts(SHAPE, scheme, "cpu"), **changes)


BAD_EXPERTS = {
    "odd rows": (made(gate_up=torch.zeros(4, 63, 64)), "gate_up has shape"),
    "other down": (made(down=torch.zeros(4, 64, 16)), r"down has shape \(4, 64, 16\): gate_up makes it"),
    "other type": (made(down=torch.zeros(4, 64, 32)), "down torch.float32"),
    "not fp8": (replace(made(), scheme=Scheme.TENSOR), "takes both as torch.float8_e4m3fn"),
    "a scale too many": (made(gate_up_scale=torch.ones(4)), "gate_up_scale is given"),
    "no scale": (made(Scheme.TENSOR, down_scale=None), "down_scale is missing"),
    "no static scale": (made(Scheme.TENSOR, inner_scale=None), "inner_scale is missing"),
    "a static scale": (made(Scheme.TOKEN, input_scale=torch.ones(1)), "input_scale is given"),
    "half a scale": (made(Scheme.TENSOR, down_scale=torch.ones(3)), r"torch.float32 \[3\]: pass"),
    "rows of 20 bytes": (
        made(gate_up=torch.zeros(4, 64, 10).bfloat16(), down=torch.zeros(4, 10, 32).bfloat16()),
        "rows of 20 bytes",
    ),
    "turned": (made(down=torch.zeros(4, 32, 64).bfloat16().transpose(1, 2)), "down has strides"),
}


def inputs(**changes: Any) -> dict[str, Any]:
    """Valid inputs of a call with something changed."""
    ids, weights = make_routing(3, SHAPE, "cpu")
    x = torch.zeros(3, 64, dtype=torch.bfloat16)
    given = {
        "x": x,
        "experts": made(),
        "topk_ids": ids,
        "topk_weights": weights,
        "expert_map": None,
    }
    return {**given, **changes}


BAD_INPUTS = {
    "narrow": (inputs(x=torch.zeros(3, 32).bfloat16()), r"x has shape \(3, 32\): pass \[tokens, 64\]"),
    "other type": (inputs(x=torch.zeros(3, 64)), "x is torch.float32: pass torch.bfloat16"),
    "every second": (inputs(x=torch.zeros(6, 64).bfloat16()[::2]), "x has strides"),
    "off a unit": (inputs(x=torch.zeros(193).bfloat16()[1:].view(3, 64)), "call .clone()"),
    "too many choices": (inputs(topk_ids=torch.zeros(3, 17, dtype=torch.int32)), "k in 1..16"),
    "other tokens": (inputs(topk_ids=torch.zeros(2, 2, dtype=torch.int32)), r"pass \[3, k\]"),
    "short ids": (inputs(topk_ids=torch.zeros(3, 2, dtype=torch.int16)), "topk_ids is torch.int16"),
    "other weights": (inputs(topk_weights=torch.zeros(3, 3)), "topk_weights is torch.float32"),
    "long map": (inputs(expert_map=torch.zeros(8, dtype=torch.int64)), "expert_map is torch.int64"),
    "no device": (inputs(), "x is on cpu: move the inputs to a CUDA device"),
}


@pytest.mark.parametrize("scheme", list(Scheme))
def test_what_the_maker_makes_is_taken(scheme: Scheme) -> None:
    check_experts(made(scheme))


@pytest.mark.parametrize("name", BAD_EXPERTS)
def test_weights_that_cannot_be_taken_are_refused(name: str) -> None:
    experts, words = BAD_EXPERTS[name]
    with pytest.raises(JitwatchError, match=words):
        check_experts(experts)


@pytest.mark.parametrize("name", BAD_INPUTS)
def test_inputs_that_cannot_be_taken_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    given, words = BAD_INPUTS[name]
    with pytest.raises(JitwatchError, match=words) as refusal:
        check_inputs(**given)
    assert "\n" not in str(refusal.value)
