"""Measures the forms of the target on a CUDA GPU: first-call stalls, steady time, share of copy bandwidth.

    python -m jitwatch.kernels.rope_fp8_quant.bench [--peer FILE.py ...]

A peer is a Python file with ``launch(o, positions, cos_sin_cache, values, scales)`` that fills ``values``
[G, T, D] and ``scales`` [G, D / 128, T rounded up to 4], as ``kernel.launch`` does; its name is the file's.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
import triton

from jitwatch.errors import JitwatchError
from jitwatch.kernels.rope_fp8_quant import before, kernel, launcher
from jitwatch.kernels.rope_fp8_quant.problem import make_cache, make_problem, moved_bytes, same_bytes
from jitwatch.kernels.timing import replay_seconds

FORMS: dict[str, launcher.Launch] = {"before": before.launch, "kernel": kernel.launch}

STALL_TOKENS = (2, 1, 3, 13, 16, 17, 29, 32, 100, 1021, 1024)
"""Every class of token counts that `before` splits, each twice."""

STEADY_TOKENS = (1, 8, 16, 32, 64, 128, 512, 1024, 2048, 4096, 8192)

LAYOUTS = ((1, 8), (8, 64))
"""Groups and heads of a rank: eight-way tensor parallel, and all heads."""

CACHE_BYTES = 200 << 20
"""Inputs are rotated until they hold this much, four times an H200's L2."""


def capture(launches: Sequence[Callable[[], object]]) -> torch.cuda.CUDAGraph:
    """Capture the launches, run once before, in a CUDA graph."""
    for launch in launches:
        launch()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for launch in launches:
            launch()
    graph.replay()
    return graph


def copy_bandwidth(values: int = 1 << 30) -> float:
    """Bytes per second, read plus written, of torch's negation of `values` random floats: a copy by a kernel.

    (A captured ``copy_`` is a memcpy node, which reaches 2.8 of a kernel's 4.25 TB/s on an H200.)
    """
    source = torch.randn(values, device="cuda")
    target = torch.empty_like(source)
    graph = capture([lambda: torch.neg(source, out=target)] * 3)
    seconds = statistics.median(replay_seconds(graph) for _ in range(20)) / 3
    moved: int = source.nbytes + target.nbytes
    return moved / seconds


def steady_seconds(
    forms: dict[str, launcher.Launch], tokens: int, groups: int, heads: int, cache: torch.Tensor, rounds: int
) -> dict[str, float]:
    """Median seconds of a launch of each form. The forms take turns, so that a drift of the clock meets all."""
    copies = max(2, min(32, CACHE_BYTES // moved_bytes(tokens, heads) + 1))
    problems = [make_problem(tokens, groups, heads, cache) for _ in range(copies)]
    graphs = {
        name: capture([functools.partial(problem.run, launch) for problem in problems])
        for name, launch in forms.items()
    }
    seconds: dict[str, list[float]] = {name: [] for name in forms}
    for _ in range(rounds):
        for name, graph in graphs.items():
            seconds[name] += [replay_seconds(graph) / copies for _ in range(5)]
    return {name: statistics.median(times) for name, times in seconds.items()}


def stalls(launch: launcher.Launch, warm_up: launcher.Launch) -> list[tuple[int, float]]:
    """Milliseconds of the first call at each token count, in order, in this process and its empty cache.

    Another form is launched first: what Triton and the driver do once in a process is no stall of this one.
    """
    cache = make_cache()
    make_problem(2, 1, 8, cache).run(warm_up)
    found = []
    for tokens in STALL_TOKENS:
        problem = make_problem(tokens, 1, 8, cache)
        torch.cuda.synchronize()
        start = time.perf_counter()
        problem.run(launch)
        torch.cuda.synchronize()
        found.append((tokens, (time.perf_counter() - start) * 1e3))
    return found


def stalls_in_a_new_process(name: str, peers: Sequence[Path]) -> list[tuple[int, float]]:
    """Run `stalls` of a form in a process of its own with an empty Triton cache."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", __spec__.name, "--stalls-of", name]
        for peer in peers:
            command += ["--peer", str(peer)]
        got = subprocess.run(
            command, stdout=subprocess.PIPE, check=True, env={**os.environ, "TRITON_CACHE_DIR": folder}
        )
    return [(tokens, milliseconds) for tokens, milliseconds in json.loads(got.stdout)]


def load_peer(path: Path) -> launcher.Launch:
    """Import a peer's file; its folder is importable for it."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise JitwatchError(f"--peer {path}: no such Python file")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    if not hasattr(module, "launch"):
        raise JitwatchError(
            f"--peer {path}: define launch(o, positions, cos_sin_cache, values, scales) in it"
        )
    launch: launcher.Launch = module.launch
    return launch


def print_stalls(forms: dict[str, launcher.Launch], peers: Sequence[Path]) -> None:
    """Print the milliseconds of first calls, a row a form."""
    print("first call at a token count, ms, empty cache, 1 group of 8 heads")
    print(f"{'':>12}" + "".join(f"{f'T={tokens}':>9}" for tokens in STALL_TOKENS) + f"{'sum':>9}")
    for name in forms:
        found = [milliseconds for _, milliseconds in stalls_in_a_new_process(name, peers)]
        print(f"{name:>12}" + "".join(f"{ms:9.1f}" for ms in [*found, sum(found)]), flush=True)


def print_steady(forms: dict[str, launcher.Launch], tokens: Sequence[int], rounds: int) -> None:
    """Print microseconds and share of the copy bandwidth, a row a token count."""
    bandwidth = copy_bandwidth()
    cache = make_cache()
    print(f"copy bandwidth {bandwidth * 1e-12:.2f} TB/s (read plus written)")
    for groups, heads in LAYOUTS:
        equal = {
            name: same_bytes(launch, make_problem(77, groups, heads, cache)) for name, launch in forms.items()
        }
        print(
            "bytes equal to the reference: "
            + ", ".join(f"{name} {share:.6%}" for name, share in equal.items())
        )
        print(f"us and share of copy bandwidth, {heads} heads in {groups} group{'s' if groups > 1 else ''}")
        print(f"{'T':>6}{'floor':>9}" + "".join(f"{name:>17}" for name in forms))
        for count in tokens:
            floor = moved_bytes(count, heads) / bandwidth
            seconds = steady_seconds(forms, count, groups, heads, cache, rounds)
            cells = (f"{seconds[name] * 1e6:10.2f} {floor / seconds[name]:5.1%} " for name in forms)
            print(f"{count:>6}{floor * 1e6:9.2f}" + "".join(cells), flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure the inverse-RoPE + fp8 kernels on this GPU.")
    parser.add_argument("--peer", type=Path, action="append", default=[], help="a file with another launch()")
    parser.add_argument(
        "--tokens", type=lambda text: [int(word) for word in text.split(",")], default=STEADY_TOKENS
    )
    parser.add_argument("--rounds", type=int, default=10, help="turns of each form (5 replays each)")
    parser.add_argument("--stalls-of", metavar="NAME", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("bench: no CUDA device here; run it on a machine with one")
    forms = {**FORMS, **{path.stem: load_peer(path) for path in args.peer}}
    if args.stalls_of:
        other = before.launch if args.stalls_of != "before" else kernel.launch
        print(json.dumps(stalls(forms[args.stalls_of], other)))
        return
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, Triton {triton.__version__}")
    print_stalls(forms, args.peer)
    print_steady(forms, args.tokens, args.rounds)


if __name__ == "__main__":
    main()
