"""Times the layer's backends side by side on a CUDA GPU, and how far each is from the reference.

    python -m jitwatch.kernels.fused_moe.bench --table TABLE.json [--peer FILE.py ...] [--json OUT]

A peer is a Python file with ``prepare(experts)``, which returns ``run(x, topk_ids, topk_weights)``; its name is the
file's. All of a row comes from one process, weights cold, medians over CUDA-graph replays, forms in turns.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
import triton

from jitwatch.errors import JitwatchError
from jitwatch.kernels.fused_moe import grouped, launcher, reference
from jitwatch.kernels.fused_moe.experts import Experts, Scheme
from jitwatch.kernels.fused_moe.measure import capture, routings
from jitwatch.kernels.fused_moe.problem import MODELS, Shape, make_experts
from jitwatch.kernels.fused_moe.routing import Router
from jitwatch.kernels.fused_moe.table import Table
from jitwatch.kernels.fused_moe.tiles import Accumulation, Plan
from jitwatch.kernels.fused_moe.tune import TOKENS, Job, compile_all
from jitwatch.kernels.timing import replay_seconds

Call = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
"""``call(x, topk_ids, topk_weights)``."""

BANDWIDTH = 4.3e12
"""Bytes per second that an H200 reads: measured by a sum over 8 GiB."""

CHECKED_TOKENS = (1, 8, 64)
"""Numbers of tokens at which each form is held against the reference; its float64 products take seconds."""


def floor_seconds(shape: Shape, scheme: Scheme, tokens: int, used: float) -> float:
    """Time to read the weights of the experts in use, and the layer's input and output, once."""
    size = 2 if scheme is Scheme.PLAIN else 1
    return (used * 3 * shape.inner * shape.hidden * size + tokens * shape.hidden * 4) / BANDWIDTH


def forms_of(
    experts: Experts, router: Router, plans: dict[str, Plan], peers: dict[str, Call]
) -> dict[str, Call]:
    """Everything to time, by name."""
    forms: dict[str, Call] = {"routed": router}
    forms |= {name: partial(ours, experts, plan) for name, plan in plans.items()}
    if experts.scheme in grouped.SCHEMES:
        weights = grouped.GroupedWeights.of(experts)
        forms["torch"] = partial(by_grouped, weights, False)
        if grouped.fbgemm_available():
            forms["fbgemm"] = partial(by_grouped, weights, True)
    return {**forms, **peers}


def ours(
    experts: Experts,
    plan: Plan,
    x: torch.Tensor,
    ids: torch.Tensor,
    weights: torch.Tensor,
) -> torch.Tensor:
    """The layer by a plan."""
    return launcher.fused_moe(x, experts, ids, weights, plan=plan)


def by_grouped(
    prepared: grouped.GroupedWeights, fbgemm: bool, x: torch.Tensor, ids: torch.Tensor, weights: torch.Tensor
) -> torch.Tensor:
    """The layer by grouped GEMMs made by others."""
    return grouped.fused_moe(x, prepared, ids, weights, fbgemm=fbgemm)


def plans_of(table: Table, shape: Shape, scheme: Scheme, tokens: int) -> dict[str, Plan]:
    """The table's plans for exact accumulation, swapped and not, and its fastest for fast accumulation."""
    entry = table.find((shape, scheme, Accumulation.EXACT), tokens)
    if entry is None:
        raise JitwatchError(
            f"the table has no entry for {shape}, {scheme.value}, {tokens} tokens: tune first"
        )
    found = {result.backend: result.plan for result in entry.results if result.plan is not None}
    if scheme is not Scheme.PLAIN:
        fast = table.find((shape, scheme, Accumulation.FAST), tokens) or entry
        own = [result for result in fast.results if result.plan is not None]
        best = min(own, key=lambda result: result.microseconds).plan
        assert best is not None
        found["fast"] = replace(best, accumulation=Accumulation.FAST)
    return found


def measured(table: Table, shape: Shape, scheme: Scheme, tokens: Sequence[int]) -> list[int]:
    """Which of these numbers of tokens the table has; says which it has not."""
    found = [count for count in tokens if table.find((shape, scheme, Accumulation.EXACT), count)]
    if len(found) < len(tokens):
        print(f"not in the table, tune first: {shape} at {sorted(set(tokens) - set(found))} tokens")
    return found


def seconds_of(
    forms: dict[str, Call], x: torch.Tensor, choices: Sequence[tuple[torch.Tensor, torch.Tensor]], rounds: int
) -> dict[str, float]:
    """Median seconds of a call of each form. The forms take turns, so that a drift of the clock meets all."""
    graphs = {
        name: capture([partial(form, x, ids, weights) for ids, weights in choices])
        for name, form in forms.items()
    }
    seconds: dict[str, list[float]] = {name: [] for name in forms}
    for _ in range(rounds):
        for name, graph in graphs.items():
            seconds[name] += [replay_seconds(graph) / len(choices) for _ in range(4)]
    return {name: statistics.median(times) for name, times in seconds.items()}


def row_of(
    forms: dict[str, Call], shape: Shape, experts: Experts, tokens: int, rounds: int
) -> dict[str, Any]:
    """One row: microseconds of each form, the floor, and relative errors where they are looked at."""
    x = torch.randn(tokens, shape.hidden, device="cuda").to(torch.bfloat16)
    choices = routings(tokens, shape, "cuda")
    used = statistics.mean(len(ids.unique()) for ids, _ in choices)
    seconds = seconds_of(forms, x, choices, rounds)
    errors = {}
    if tokens in CHECKED_TOKENS:
        expected = reference.fused_moe(x, experts, *choices[0])
        for name, form in forms.items():
            errors[name] = float((form(x, *choices[0]).double() - expected).norm() / expected.norm())
    return {
        "tokens": tokens,
        "floor": floor_seconds(shape, experts.scheme, tokens, used) * 1e6,
        "us": {name: time_taken * 1e6 for name, time_taken in seconds.items()},
        "errors": errors,
    }


def plan_jobs(table: Table, shape: Shape, scheme: Scheme, tokens: Sequence[int]) -> list[Job]:
    """The table's plans, each once: another process may have tuned them, or another accumulation been compiled."""
    plans = {plan: None for count in tokens for plan in plans_of(table, shape, scheme, count).values()}
    return [(shape, scheme, plan) for plan in plans]


def load_peer(path: Path) -> Callable[[Experts], Call]:
    """Import a peer's file; its folder is importable for it."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise JitwatchError(f"--peer {path}: no such Python file")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    if not hasattr(module, "prepare"):
        raise JitwatchError(f"--peer {path}: define prepare(experts) in it")
    prepare: Callable[[Experts], Call] = module.prepare
    return prepare


def print_row(row: dict[str, Any]) -> None:
    """Print one row."""
    cells = " ".join(f"{name} {us:.1f}" for name, us in row["us"].items())
    errors = " ".join(f"{name} {error:.1e}" for name, error in row["errors"].items())
    print(f"{row['tokens']:>5} floor {row['floor']:.1f} | {cells}" + (f" | error {errors}" if errors else ""))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure fused-MoE backends on this GPU.")
    parser.add_argument("--table", type=Path, required=True, help="what tune wrote")
    parser.add_argument("--peer", type=Path, action="append", default=[], help="a file with prepare(experts)")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--scheme", default=Scheme.TENSOR.value)
    parser.add_argument("--tokens", default=",".join(map(str, TOKENS)))
    parser.add_argument("--rounds", type=int, default=5, help="turns of each form (4 replays each)")
    parser.add_argument("--processes", type=int, default=8, help="for compiling")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("bench: no CUDA device here; run it on a machine with one")
    fbgemm = "with" if grouped.load_fbgemm() else "without"
    print(
        f"{torch.cuda.get_device_name()}, torch {torch.__version__}, Triton {triton.__version__}, {fbgemm} FBGEMM"
    )
    table, scheme = Table.load(args.table), Scheme(args.scheme)
    models = args.models.split(",")
    wanted = [int(word) for word in args.tokens.split(",")]
    tokens = {name: measured(table, MODELS[name], scheme, wanted) for name in models}
    peers = {path.stem: load_peer(path) for path in args.peer}
    compile_all(
        [job for name in models for job in plan_jobs(table, MODELS[name], scheme, tokens[name])],
        args.processes,
    )
    rows: dict[str, list[dict[str, Any]]] = {}
    for name in models:
        shape = MODELS[name]
        experts = make_experts(shape, scheme, "cuda")
        prepared = {peer: prepare(experts) for peer, prepare in peers.items()}
        router = Router(experts, shape.top_k, table=table)
        print(f"{name} {scheme.value}, us")
        for count in tokens[name]:
            forms = forms_of(experts, router, plans_of(table, shape, scheme, count), prepared)
            rows.setdefault(name, []).append(row_of(forms, shape, experts, count, args.rounds))
            print_row(rows[name][-1])
            if args.json:
                args.json.write_text(json.dumps(rows))


if __name__ == "__main__":
    try:
        main()
    except JitwatchError as error:
        raise SystemExit(f"bench: {error}") from None
