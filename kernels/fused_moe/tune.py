"""Finds the fastest plan of a layer at each number of tokens, on this GPU.

    python -m jitwatch.kernels.fused_moe.tune --out TABLE.json [--models qwen3-30b,...] [--tokens 1,8,64]

Each GEMM's tiles are timed alone, then the best of both together, with and without early fetching. What is done is
in the file at once: stop it when you like, the next run goes on from there. Compiling is spread over processes.
"""

from __future__ import annotations

import argparse
import itertools
import math
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from rich.progress import track
from triton.compiler.errors import CompilationError
from triton.runtime.errors import OutOfResources

from jitwatch.errors import JitwatchError
from jitwatch.kernels.fused_moe import candidates, grouped
from jitwatch.kernels.fused_moe.constants import layer_of
from jitwatch.kernels.fused_moe.experts import Scheme
from jitwatch.kernels.fused_moe.launcher import Run, overlaps
from jitwatch.kernels.fused_moe.measure import microseconds
from jitwatch.kernels.fused_moe.problem import MODELS, Shape, make_experts
from jitwatch.kernels.fused_moe.table import Backend, Entry, Machine, Result, Table
from jitwatch.kernels.fused_moe.tiles import Accumulation, Plan, Tile, rows_per_expert
from jitwatch.kernels.fused_moe.trial import Timer, Trial

REFUSALS = (OutOfResources, CompilationError, RuntimeError, JitwatchError)
"""What a tile that a release or a device cannot do, or not exactly, ends in; Triton's passes fail with the third."""

TOKENS = (1, 2, 4, 8, 16, 32, 64, 128, 512, 2048)

BY_TOKEN_TOKENS = 8
"""Most tokens at which the second GEMM is tried by token: beyond, experts are shared by too many."""

DIRECT_SLOTS = 64
"""Most slots at which they are tried without being aligned: beyond, too many experts would be read twice."""

PREFETCH_TOKENS = 64
"""Most tokens at which weights are tried to be fetched early: beyond, a launch is long against what that saves."""

WHOLE_ROW = 1 << 16
"""As many bytes of a row as it has."""


DIRECT_SCHEMES = (Scheme.PLAIN, Scheme.TENSOR)
"""Schemes whose scales need not be found beforehand."""


def fastest(timer: Timer, tiles: Sequence[Tile], count: int) -> list[Tile]:
    """The fastest tiles."""
    return sorted(tiles, key=partial(time_or_never, timer))[:count]


def time_or_never(timer: Timer, tile: Tile) -> float:
    """The tile's time; infinite where it does not fit the device."""
    try:
        return timer(tile)
    except REFUSALS:
        return math.inf


def promising(trial: Trial, swapped: bool) -> Iterator[Plan]:
    """The best tiles of each GEMM put together, for each height of a block."""
    scheme = trial.experts.scheme
    rows = rows_per_expert(trial.tokens, trial.shape.top_k, trial.shape.experts)
    for block_m in candidates.heights(rows):
        tiles = [tile for tile in candidates.tiles(scheme, block_m) if tile.swap_ab == swapped]
        if not tiles:
            continue
        first, second, by_token = trial.timers(block_m)
        ups, downs = fastest(first, tiles, 2), fastest(second, tiles, 2)
        plan = Plan(block_m, ups[0], downs[0], accumulation=trial.accumulation)
        yield from (replace(plan, gate_up=up, down=down) for up, down in itertools.product(ups, downs))
        if swapped and trial.tokens <= BY_TOKEN_TOKENS:
            token_tiles = fastest(by_token, candidates.token_tiles(scheme), 2)
            yield from (replace(plan, down=tile, by_token=True) for tile in token_tiles)


def variations(plan: Plan, trial: Trial) -> Iterator[Plan]:
    """The plan, with each slot a block of its own, and with weights fetched early."""
    yield plan
    if trial.tokens * trial.shape.top_k <= DIRECT_SLOTS and trial.experts.scheme in DIRECT_SCHEMES:
        yield replace(plan, direct=True)
    if trial.tokens > PREFETCH_TOKENS:
        return
    for up, down in ((0, WHOLE_ROW), (1024, WHOLE_ROW), (WHOLE_ROW, WHOLE_ROW)):
        yield replace(
            plan, gate_up=replace(plan.gate_up, prefetch=up), down=replace(plan.down, prefetch=down)
        )


def search(trial: Trial) -> tuple[Result, ...]:
    """The best plan with swapped sides and the best without, with their times."""
    results = []
    for backend, swapped in ((Backend.SWAPPED, True), (Backend.PLAIN, False)):
        tried = [
            (trial.whole(variation), variation)
            for plan in promising(trial, swapped)
            for variation in variations(plan, trial)
        ]
        if tried:
            time_taken, plan = min(tried, key=lambda pair: pair[0])
            results.append(Result(backend.value, round(time_taken, 2), plan))
    return (*results, *others(trial))


def others(trial: Trial) -> Iterator[Result]:
    """The grouped GEMMs made by others, where they may stand in: they add up fast, plain types aside."""
    fast = trial.accumulation is Accumulation.FAST or not trial.experts.quantized
    if not fast or trial.experts.scheme not in grouped.SCHEMES:
        return
    weights = grouped.GroupedWeights.of(trial.experts)
    for backend in (Backend.GROUPED, Backend.FBGEMM)[: 1 + grouped.fbgemm_available()]:
        run = partial(grouped.fused_moe, trial.x, weights, fbgemm=backend is Backend.FBGEMM)
        time_taken = microseconds([partial(run, ids, topk_weights) for ids, topk_weights in trial.routings])
        yield Result(backend.value, round(time_taken, 2), None)


Job = tuple[Shape, Scheme, Plan]


def jobs(shape: Shape, scheme: Scheme, accumulation: Accumulation, tokens: Sequence[int]) -> list[Job]:
    """One plan for each tile that a search at these numbers of tokens may try."""
    rows = [rows_per_expert(count, shape.top_k, shape.experts) for count in tokens]
    heights = sorted({height for own in rows for height in candidates.heights(own)})
    plans = [Plan(height, tile, tile) for height in heights for tile in candidates.tiles(scheme, height)]
    if min(tokens) * shape.top_k <= DIRECT_SLOTS and scheme in DIRECT_SCHEMES:
        plans += [replace(plan, direct=True) for plan in plans if plan.block_m == heights[0]]
    if min(tokens) <= BY_TOKEN_TOKENS:
        some = candidates.tiles(scheme, heights[0])[0]
        plans += [Plan(heights[0], some, tile, True) for tile in candidates.token_tiles(scheme)]
    return [(shape, scheme, replace(plan, accumulation=accumulation)) for plan in plans]


def compile_plan(job: Job) -> str:
    """Compile a plan's kernels into Triton's cache, by running them on a layer of one expert.

    Returns why that is refused, or nothing.
    """
    shape, scheme, plan = job
    experts = make_experts(replace(shape, experts=1), scheme, "cuda")
    x = torch.zeros(1, shape.hidden, dtype=torch.bfloat16, device="cuda")
    ids = torch.zeros(1, shape.top_k, dtype=torch.int32, device="cuda")
    weights = torch.ones(1, shape.top_k, device="cuda")
    layer = layer_of(experts, shape.top_k, False, overlaps(x.device))
    try:
        Run(x, experts, ids, weights, None, plan, layer).launch(torch.empty_like(x))
    except REFUSALS as error:
        return f"{scheme.value} {plan}: {type(error).__name__}: {str(error).partition(chr(10))[0]}"
    torch.cuda.synchronize()
    return ""


def compile_all(todo: Sequence[Job], processes: int) -> None:
    """Spread the compiles over processes; the next launch of each finds it in Triton's cache."""
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for refused in track(pool.imap_unordered(compile_plan, todo, 2), "compiling", len(todo)):
            if refused:
                print(f"left out: {refused}")


def tune(
    table: Table, path: Path, asked: Sequence[tuple[Shape, Scheme, Accumulation]], tokens: Sequence[int]
) -> Table:
    """Measure what the table lacks, writing it after each entry."""
    for shape, scheme, accumulation in asked:
        layer = (shape, scheme, accumulation)
        missing = [count for count in tokens if table.find(layer, count) is None]
        if not missing:
            continue
        experts = make_experts(shape, scheme, "cuda")
        for count in track(missing, f"{shape} {scheme.value} {accumulation.name.lower()}"):
            results = search(Trial.of(shape, experts, count, accumulation))
            table = table.add(Entry(shape, scheme, accumulation, count, results))
            table.save(path)
            for result in results:
                print(f"{count:>5} tokens  {result.microseconds:8.1f} us  {result.backend}  {result.plan}")
    return table


def start(path: Path) -> Table:
    """The table to go on with: the file's, when it is of this machine, else an empty one."""
    here = Machine.here()
    if not path.exists():
        return Table(here)
    table = Table.load(path)
    differences = table.machine.differences(here)
    if differences:
        raise JitwatchError(f"{path} is of another machine ({', '.join(differences)}): name another --out")
    return table


def main() -> None:
    """Tune the layers asked for."""
    parser = argparse.ArgumentParser(description="Find the fastest plans of fused-MoE layers on this GPU.")
    parser.add_argument("--out", type=Path, required=True, help="the table, gone on with if it is there")
    parser.add_argument("--models", default=",".join(MODELS), help="names, or experts:top_k:hidden:inner")
    parser.add_argument("--schemes", default=Scheme.TENSOR.value)
    parser.add_argument("--accumulation", default="exact", choices=[a.name.lower() for a in Accumulation])
    parser.add_argument("--tokens", default=",".join(map(str, TOKENS)))
    parser.add_argument("--processes", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    args = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("tune: no CUDA device here; run it on a machine with one")
    tokens = [int(word) for word in args.tokens.split(",")]
    accumulation = Accumulation[args.accumulation.upper()]
    asked = [
        (shape_of(model), Scheme(scheme), accumulation)
        for model in args.models.split(",")
        for scheme in args.schemes.split(",")
    ]
    print("FBGEMM " + ("is measured too" if grouped.load_fbgemm() else "is not installed: not measured"))
    table = start(args.out)
    compile_all([job for layer in asked for job in jobs(*layer, tokens)], args.processes)
    tune(table, args.out, asked, tokens)
    print(f"{args.out}: pass it to routing.Router, or to bench --table")


def shape_of(text: str) -> Shape:
    """A layer by its model's name or its numbers."""
    if text in MODELS:
        return MODELS[text]
    try:
        return Shape(*map(int, text.split(":")))
    except (TypeError, ValueError):
        raise JitwatchError(
            f"--models {text}: name one of {', '.join(MODELS)} or write experts:top_k:hidden:inner"
        ) from None


if __name__ == "__main__":
    try:
        main()
    except JitwatchError as error:
        raise SystemExit(f"tune: {error}") from None
