"""Hold verdicts against measured time, on a GPU: ``python tests/gpu/verify_against_time.py``.

For each of 12 kernels, and one argument or more, both forms are compiled for the device, judged, and timed in
turns. Wrong is a "harmless" that is more than 2 % slower, and a "costs" that is not. Exit code 1 when one is wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from jitwatch.kernels.rope_fp8_quant import before
from jitwatch.runtime.offline.target import parse_target
from jitwatch.runtime.values import describe
from jitwatch.specialization import ArgumentClass, Parameter, Remedy, classify, coarsen, traits_of
from jitwatch.verify.judge import Outcome, compare
from jitwatch.verify.timing import Timing, launcher, time_interleaved
from jitwatch.verify.worker.compiling import compile_form, figures_of
from tests.gpu.kernels import add_bias, gather_rows, matmul, normalise_rows, softmax_rows, sum_rows
from tests.verify.kernels import copy_rows, grouped_matmul, scale_rows, sum_columns, vector_add

TOLERANCE = 1.02
TARGET = parse_target("cuda:90")


@dataclass(frozen=True)
class Case:
    """A launch, and the argument to opt out of."""

    function: Any
    arguments: tuple[Any, ...]
    grid: tuple[int, int, int]
    parameter: str
    remedy: Remedy = Remedy.SPECIALIZE
    warps: int = 4


def random(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    """A tensor on the device."""
    return torch.randn(*shape, device="cuda").to(dtype)


def elementwise() -> Iterator[Case]:
    """Bound by memory: where the width of an access is everything."""
    n = 2**28
    x, y, out = (torch.zeros(n, dtype=torch.bfloat16, device="cuda") for _ in range(3))
    yield Case(vector_add, (x, y, out, n, 1024), (n // 1024, 1, 1), "n")
    rows, width = n // 4096, 4096
    yield Case(copy_rows, (x, out, width, width), (rows, 1, 1), "stride")
    yield Case(scale_rows, (x, out, n // 512, 512, 4), (n // 2048, 1, 1), "num_rows")
    yield Case(add_bias, (x, y, out, 4096, 1024), (n // 1024, 1, 1), "columns")
    table, tokens = random(32768, 1024), torch.randint(0, 32768, (131072,), device="cuda", dtype=torch.int32)
    gathered = (tokens, table, random(131072, 1024), 131072, 1024, 4)
    yield Case(gather_rows, gathered, (131072 // 4, 1, 1), "num_tokens", Remedy.RUNTIME)


def reductions() -> Iterator[Case]:
    """Rows and columns summed."""
    x, out = random(65536, 2048), random(65536, 2048)
    softmax = (x, out, 2048, 2048, 65536, 2048)
    for name in ("columns", "rows", "stride"):
        yield Case(softmax_rows, softmax, (65536, 1, 1), name)
    for name in ("columns", "stride"):
        yield Case(normalise_rows, (x, random(2048), out, 2048, 2048, 1024), (65536, 1, 1), name)
    tall = random(512, 131072, dtype=torch.float32)
    yield Case(sum_rows, (tall, random(131072, dtype=torch.float32), 512, 512), (256, 1, 1), "rows")
    short = random(4096, 4096, dtype=torch.float32)
    columns = (short, random(4096, dtype=torch.float32), 1, 4096, 4096)
    yield Case(sum_columns, columns, (1, 1, 1), "stride_column")


def products() -> Iterator[Case]:
    """Matrix products, dense and by experts."""
    size = 4096
    a, b, c = (random(size, size) for _ in range(3))
    dense = (a, b, c, size, size, size, size, size, size, 128, 128, 64)
    for name in ("M", "N", "K", "stride_a"):
        yield Case(matmul, dense, (size // 128, size // 128, 1), name, warps=8)
    tokens, top_k, experts, width, hidden = 2048, 8, 64, 1024, 2048
    slots = tokens * top_k
    arguments = (
        *(random(tokens, hidden), random(experts, width, hidden), random(slots, width)),
        torch.arange(slots, dtype=torch.int32, device="cuda"),
        torch.arange(slots // 64, dtype=torch.int32, device="cuda") * experts // (slots // 64),
        torch.tensor([slots], dtype=torch.int32, device="cuda"),
        *(width, hidden, slots, slots, hidden, width * hidden, hidden, width, top_k, 64, 128, 64, 8),
    )
    grid = (slots // 64 * (width // 128), 1, 1)
    for name in ("EM", "num_valid_tokens", "stride_am"):
        yield Case(grouped_matmul, arguments, grid, name)


def rotary() -> Iterator[Case]:
    """The inverse rotary embedding with quantisation, at 8192 tokens."""
    tokens, heads, groups = 8192, 64, 8
    width = heads // groups * 512
    arguments = (
        random(tokens, heads, 512),
        torch.arange(tokens, device="cuda"),
        random(tokens, 64, dtype=torch.float32),
        torch.empty(groups, tokens, width, dtype=torch.float8_e4m3fn, device="cuda"),
        torch.empty(groups, width // 128, tokens, device="cuda"),
        *(tokens, heads * 512, 512, 64, tokens * width, width, width // 128 * tokens, tokens),
        *(heads // groups, 4, 128, 64, 448.0, 1e-10, False),
    )
    for name in ("num_tokens", "scale_stride_k"):
        yield Case(before.inverse_rope_fp8_quant_kernel, arguments, (tokens, heads, 1), name, warps=1)


def judge_and_time(case: Case) -> tuple[Outcome, str, Timing]:
    """The verdict on a case, and its times."""
    parameters = [Parameter(each.name, each.is_constexpr) for each in case.function.params]
    traits = traits_of(triton.__version__)
    classes = [
        classify(describe(value), each, traits)
        for value, each in zip(case.arguments, parameters, strict=True)
    ]
    i = [each.name for each in parameters].index(case.parameter)
    changed = [*classes[:i], coarsen(classes[i], case.remedy, parameters[i]), *classes[i + 1 :]]
    if case.remedy is Remedy.RUNTIME:
        changed[i] = changed[i]._replace(spec=None)
    old, new = _compile(case, classes), _compile(case, changed)
    all_bf16 = {each.type for each in classes if each.is_pointer} == {"*bf16"}
    judged = compare(figures_of(old, "cuda"), figures_of(new, "cuda"), TARGET, 16 if all_bf16 else None)
    first, second = (launcher(form, case.grid, case.arguments) for form in (old, new))
    return judged.outcome, judged.reason, time_interleaved(first, second)


def _compile(case: Case, classes: list[ArgumentClass]) -> Any:
    major, minor = torch.cuda.get_device_capability()
    target = GPUTarget("cuda", 10 * major + minor, 32)
    return compile_form(case.function, classes, {"num_warps": case.warps}, target)


def main() -> int:
    """Print a line for each case."""
    wrong = 0
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, Triton {triton.__version__}")
    for family in (elementwise, reductions, products, rotary):
        for case in family():
            outcome, reason, timing = judge_and_time(case)
            slower = timing.ratio > TOLERANCE
            bad = outcome is not Outcome.UNKNOWN and slower != (outcome is Outcome.COSTS)
            wrong += bad
            name = f"{case.function.fn.__name__}.{case.parameter}"
            times = f"{timing.before:8.1f} -> {timing.after:8.1f} us {timing.ratio:6.3f}"
            print(f"{name:40} {outcome.value:9}{times} {'WRONG ' if bad else ''}{reason}", flush=True)
        torch.cuda.empty_cache()
    print(f"{wrong} wrong verdicts")
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
