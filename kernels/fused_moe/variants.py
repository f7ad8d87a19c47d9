"""Lists what a server can ask for, so that it can have it compiled before the first request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jitwatch.kernels.fused_moe.constants import Chunks, Constants, Layer
from jitwatch.kernels.fused_moe.launcher import plan_of
from jitwatch.kernels.fused_moe.tiles import Plan

Choose = Callable[[Layer, int], Plan]
"""The plan for a number of tokens; `launcher.plan_of` unless a router decides."""


@dataclass(frozen=True)
class Variant:
    """One compiled form of one kernel of a layer."""

    kernel: str
    constants: tuple[tuple[str, int | str | bool], ...]
    """Constexpr arguments and options by name, sorted."""


def variants(layer: Layer, most_tokens: int, choose: Choose = plan_of) -> tuple[Variant, ...]:
    """Every variant that calls of 1 to ``most_tokens`` tokens can ask for; each once, in the order met.

    Complete for one type of input and of ids: nothing else of a call enters a key.
    """
    return tuple(first_tokens(layer, most_tokens, choose))


def warm_token_counts(layer: Layer, most_tokens: int, choose: Choose = plan_of) -> tuple[int, ...]:
    """Token counts that together ask for every variant: call the layer once at each before serving."""
    return tuple(dict.fromkeys(first_tokens(layer, most_tokens, choose).values()))


def first_tokens(layer: Layer, most_tokens: int, choose: Choose) -> dict[Variant, int]:
    """Each variant with the fewest tokens that ask for it."""
    found: dict[Variant, int] = {}
    for (plan, chunks), tokens in reachable(layer, most_tokens, choose).items():
        for variant in of_plan(layer, plan, chunks):
            found.setdefault(variant, tokens)
    return found


def reachable(layer: Layer, most_tokens: int, choose: Choose) -> dict[tuple[Plan, Chunks], int]:
    """Each pair of plan and kind of alignment, with the fewest tokens that ask for it."""
    found: dict[tuple[Plan, Chunks], int] = {}
    for tokens in range(1, most_tokens + 1):
        found.setdefault((choose(layer, tokens), layer.chunks(tokens)), tokens)
    return found


def of_plan(layer: Layer, plan: Plan, chunks: Chunks) -> list[Variant]:
    """The variants of one call's launches."""
    launches: list[tuple[str, Constants]] = [("gate_up_kernel", layer.gate_up(plan))]
    if not plan.direct:
        launches.insert(0, ("prepare_kernel", layer.prepare(plan, chunks)))
    if plan.by_token:
        launches.append(("down_by_token_kernel", layer.down_by_token(plan)))
    else:
        launches += [("down_kernel", layer.down(plan)), ("sum_kernel", layer.sum())]
    if layer.quantizes_between:
        launches.append(("quantize_kernel", layer.quantize()))
    return [Variant(name, tuple(sorted(constants.items()))) for name, constants in launches]
