"""Counts the variants Triton's own binder asks for over a range of token counts; nothing compiles or launches."""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from typing import Any

import torch
import triton

from jitwatch.kernels.fused_moe import before, launcher, variants
from jitwatch.kernels.fused_moe.constants import layer_of
from jitwatch.kernels.fused_moe.experts import FP8, GROUP, Experts, Scheme
from jitwatch.kernels.fused_moe.problem import Shape
from jitwatch.kernels.fused_moe.routing import Router
from jitwatch.runtime import offline


class Keys:
    """The miss hook of Triton: notes the key of a launch and drops the launch, before any compile."""

    def __init__(self) -> None:
        self.token_counts: dict[tuple[str, str], list[int]] = defaultdict(list)
        self.tokens = 0
        triton.knobs.runtime.jit_cache_hook = self

    def __call__(self, *, key: str, fn: Any, **_: Any) -> bool:
        """Note the key. True tells Triton to leave it at that."""
        self.token_counts[fn.name.rpartition(".")[2], key].append(self.tokens)
        return True


def unwritten_experts(shape: Shape, scheme: Scheme) -> Experts:
    """Weights of the right types and sizes; their memory is never touched."""
    count, hidden, inner = shape.experts, shape.hidden, shape.inner
    dtype = torch.bfloat16 if scheme is Scheme.PLAIN else FP8
    up_scale = down_scale = static = None
    if scheme is not Scheme.PLAIN:
        up_scale = down_scale = torch.empty(count)
    if scheme is Scheme.BLOCK:
        up_scale = torch.empty(count, -(-2 * inner // GROUP), -(-hidden // GROUP))
        down_scale = torch.empty(count, -(-hidden // GROUP), -(-inner // GROUP))
    if scheme is Scheme.TENSOR:
        static = torch.empty(1)
    gate_up = torch.empty(count, 2 * inner, hidden, dtype=dtype)
    down = torch.empty(count, hidden, inner, dtype=dtype)
    return Experts(gate_up, down, scheme, up_scale, down_scale, static, static)


def count(form: str, scheme: Scheme, shape: Shape, most: int) -> dict[str, Any]:
    """Keys met by kernel over 1 to ``most`` tokens, and the list of `variants` for the same calls."""
    keys = Keys()
    experts = unwritten_experts(shape, scheme)
    layer = layer_of(experts, shape.top_k, False, True)
    choose = Router(experts, shape.top_k).plan if form == "routed" else launcher.plan_of
    x = torch.empty(most, shape.hidden, dtype=torch.bfloat16)
    # A server's batch is a slice of a longer list: its pointers start anywhere.
    ids = torch.zeros(most * shape.top_k + 1, dtype=torch.int32)
    weights = torch.empty(most * shape.top_k + 1)
    for tokens in range(1, most + 1):
        keys.tokens = tokens
        shift = tokens % 2
        own_ids = ids[shift : shift + tokens * shape.top_k].view(tokens, shape.top_k)
        own_weights = weights[shift : shift + tokens * shape.top_k].view(tokens, shape.top_k)
        plan = choose(layer, tokens)
        if form == "before":
            before_lengths(experts, own_ids, own_weights, plan)
        else:
            run = launcher.Run(x[:tokens], experts, own_ids, own_weights, None, plan, layer)
            run.launch(torch.empty_like(run.x))
    listed = () if form == "before" else variants.variants(layer, most, choose)
    met: dict[str, int] = defaultdict(int)
    for name, _ in keys.token_counts:
        met[name] += 1
    return {
        "met": met,
        "listed": [[variant.kernel, dict(variant.constants)] for variant in listed],
        "warm": variants.warm_token_counts(layer, most, choose),
        "tiles": len({choose(layer, tokens) for tokens in range(1, most + 1)}),
        "first": sorted(min(counts) for counts in keys.token_counts.values()),
    }


def before_lengths(experts: Experts, ids: torch.Tensor, weights: torch.Tensor, plan: Any) -> None:
    """The two launches of the form that recompiles, on lists of the right lengths."""
    slots, top_k = ids.numel(), ids.shape[1]
    length = before.padded_length(slots, experts.count, plan.block_m)
    aligned = (
        torch.empty(length, dtype=torch.int32),
        torch.empty(-(-length // plan.block_m), dtype=torch.int32),
        torch.empty(1, dtype=torch.int32),
    )
    x = torch.empty(ids.shape[0], experts.hidden, dtype=experts.gate_up.dtype)
    both = torch.empty(slots, 2 * experts.inner, dtype=torch.bfloat16)
    before.multiply(x, experts.gate_up, both, aligned, top_k, plan.block_m, plan.gate_up, experts.input_scale, experts.gate_up_scale)  # fmt: skip # noqa: E501
    inner = torch.empty(slots, experts.inner, dtype=experts.gate_up.dtype)
    parts = torch.empty(slots, experts.hidden, dtype=torch.bfloat16)
    before.multiply(inner, experts.down, parts, aligned, 1, plan.block_m, plan.down, experts.inner_scale, experts.down_scale, weights)  # fmt: skip # noqa: E501


def main() -> None:
    """Answer questions given as JSON, ``[form, scheme, [E, k, K, N], most tokens]`` each, a line each."""
    parser = argparse.ArgumentParser(description="Count the variants of the fused-MoE target")
    parser.add_argument("questions", type=json.loads)
    questions = parser.parse_args().questions
    offline.activate("cuda:90", execute=False)
    for form, scheme, shape, most in questions:
        print(json.dumps(count(form, Scheme(scheme), Shape(*shape), most)))


if __name__ == "__main__":
    main()
