"""A tensor-parallel group that recompiles: one process a rank, an all-reduce after each layer.

    jitwatch profile torchrun --nproc-per-node 4 examples/tensor_parallel/run.py
    jitwatch profile --offline --no-execute torchrun --nproc-per-node 4 examples/tensor_parallel/run.py

The second needs no GPU. Every rank meets the same token counts in the same order: each once as traffic, then again a
few times, as the measure of a step without a miss. ``scenarios.py`` runs every scenario and prints the table.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import json
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from lockstep.model import Quantize, Shape, Share
from lockstep.timing import Clock, DeviceClock, HostClock, time_step

from jitwatch.kernels.rope_fp8_quant import launcher, reference

WARMUP_TOKENS = 16
"""What the warm-up serves: one round length, as many do."""

EACH_CLASS = (1, 2, 13, 16)
"""A token count of each specialization class of ``before.py``."""

TOLERANCE = 0.02
"""Of the whole group's result against a reference that is never cut. The parts are summed in another order, so that
a value in some thousand falls on the other side of an fp8 rounding boundary."""


def token_counts(seed: int, steps: int, largest: int) -> list[int]:
    """The traffic: prompts of any length, and decode steps of a few running requests, half each."""
    drawn = random.Random(seed)
    return [drawn.choice((drawn.randint(1, 4), drawn.randint(1, largest))) for _ in range(steps)]


def leave_zeros(
    o: torch.Tensor,
    positions: torch.Tensor,
    cos_sin_cache: torch.Tensor,
    values: torch.Tensor,
    scales: torch.Tensor,
) -> None:
    """Stand in for a kernel's launch while everything but the kernel warms up."""
    values.view(torch.uint8).zero_()
    scales.zero_()


def quantizer(launch: launcher.Launch) -> Quantize:
    """The target's entry point with one of its forms behind it."""
    return functools.partial(launcher.inverse_rope_fp8_quant, n_groups=1, packed_scales=False, launch=launch)


def warm_up(share: Share, quantize: Quantize, counts: Sequence[int], clock: Clock, ahead: bool) -> None:
    """Load all of torch's and the collectives' code, then serve one round length.

    `ahead`: this rank has also met a length of every class before, which others may not have.
    """
    for tokens in sorted({*counts, WARMUP_TOKENS}):
        time_step(share, tokens, quantizer(leave_zeros), clock)
    time_step(share, WARMUP_TOKENS, quantize, clock)
    if ahead:
        for tokens in EACH_CLASS:
            share.forward(tokens, quantize, lambda part: None)
    torch.cuda.synchronize()
    dist.barrier()


def serve(
    share: Share, quantize: Quantize, counts: Sequence[int], clock: Clock, repeats: int
) -> Iterator[dict[str, Any]]:
    """Meet every count; yields what it took the first time and, without a miss, each time again."""
    for tokens in counts:
        started = time.time()
        first = time_step(share, tokens, quantize, clock)
        again = [asdict(time_step(share, tokens, quantize, clock)) for _ in range(repeats)]
        yield {"tokens": tokens, "started": started, "first": asdict(first), "again": again}


def check(share: Share, quantize: Quantize, shape: Shape) -> bool:
    """Compare the group's result with a model that is not cut and quantizes in plain torch."""
    whole = Share(shape, 0, 1, share.embedding.device)
    plain = functools.partial(reference.inverse_rope_fp8_quant, n_groups=1, packed_scales=False)
    worst = 0.0
    for tokens in EACH_CLASS:
        got = share.forward(tokens, quantize, dist.all_reduce)
        wanted = whole.forward(tokens, plain, lambda part: None)
        worst = max(worst, ((got - wanted).norm() / (wanted - whole.embedding[:tokens]).norm()).item())
    print(f"rank {dist.get_rank()}: largest error against an uncut model {worst:.1e}", flush=True)
    return worst < TOLERANCE


def join_group() -> Clock:
    """Take this rank's GPU and join the others: by NCCL where each rank has a GPU, else by gloo."""
    local, ranks_here = int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"])
    torch.cuda.set_device(local % torch.cuda.device_count())
    offline = bool(os.environ.get("JITWATCH_OFFLINE"))
    if dist.is_nccl_available() and not offline and torch.cuda.device_count() >= ranks_here:
        dist.init_process_group("nccl", device_id=torch.device("cuda", local))
        return DeviceClock()
    dist.init_process_group("gloo")
    return HostClock()


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="A tensor-parallel group that recompiles in step.")
    parser.add_argument("--form", choices=("before", "kernel"), default="before", help="of the target kernel")
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--largest", type=int, default=512, metavar="TOKENS", help="longest prompt")
    parser.add_argument("--repeats", type=int, default=5, help="measured again so often")
    parser.add_argument("--layers", type=int, default=Shape.layers)
    parser.add_argument("--heads", type=int, default=Shape.heads, help="of the whole model")
    parser.add_argument("--seed", type=int, default=5, help="5 meets all classes early")
    parser.add_argument("--cold-rank", type=int, metavar="R", help="all others have met every class before")
    parser.add_argument("--caches", type=Path, metavar="DIR", help="each rank's compile cache: DIR/rankR")
    parser.add_argument(
        "--measured", type=Path, metavar="DIR", help="write what each rank took to DIR/rankR.json"
    )
    parser.add_argument(
        "--check", action="store_true", help="compare with a model that is not cut, then stop"
    )
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of one rank; returns its exit code."""
    args = parse_arguments(argv)
    if "RANK" not in os.environ or not torch.cuda.is_available():
        offline = "jitwatch profile --offline --no-execute"
        command = "torchrun --nproc-per-node 4 examples/tensor_parallel/run.py"
        print(
            f"run.py: start it with torchrun; without GPUs `{offline} {command}`",
            file=sys.stderr,
        )
        return 2
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if args.heads % world:
        print(
            f"run.py: {args.heads} heads cannot be shared by {world} ranks; try --heads {world}",
            file=sys.stderr,
        )
        return 2
    if args.caches:
        os.environ["TRITON_CACHE_DIR"] = str(args.caches / f"rank{rank}")
    shape = Shape(layers=args.layers, heads=args.heads, positions=max(args.largest, WARMUP_TOKENS))
    quantize = quantizer(importlib.import_module(f"jitwatch.kernels.rope_fp8_quant.{args.form}").launch)
    clock = join_group()
    try:
        share = Share(shape, rank, world, torch.device("cuda", torch.cuda.current_device()))
        if args.check:
            return 0 if check(share, quantize, shape) else 1
        counts = token_counts(args.seed, args.steps, args.largest)
        warm_up(share, quantize, counts, clock, ahead=args.cold_rank not in (None, rank))
        steps = list(serve(share, quantize, counts, clock, args.repeats))
        if args.measured:
            args.measured.mkdir(parents=True, exist_ok=True)
            (args.measured / f"rank{rank}.json").write_text(json.dumps(steps))
        return 0
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    sys.exit(main())
