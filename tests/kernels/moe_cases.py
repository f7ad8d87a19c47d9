"""Inputs of the fused-MoE target, and one run of it compared with the reference."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass

import torch

from jitwatch.kernels.fused_moe import before, grouped, launcher, reference
from jitwatch.kernels.fused_moe.experts import Scheme
from jitwatch.kernels.fused_moe.problem import Shape, make_experts, make_routing
from jitwatch.kernels.fused_moe.tiles import Accumulation, Plan, Tile

TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}


@dataclass(frozen=True)
class Case:
    """One call."""

    scheme: str
    tokens: int
    experts: int = 5
    top_k: int = 3
    hidden: int = 160
    inner: int = 96
    block_m: int = 16
    block_n: int = 64
    block_k: int = 128
    group_m: int = 1
    swap: bool = True
    dtype: str = "bf16"
    per_channel: bool = False
    skew: float = 0.0
    long_ids: bool = False
    mapped: bool = False
    """Only every second expert is local, as in expert parallelism."""
    holes: bool = False
    """Some choices are -1."""
    fast: bool = False
    by_token: bool = False
    direct: bool = False
    before: bool = False
    """The form that recompiles."""
    grouped: bool = False
    """By torch's grouped GEMMs."""

    def __str__(self) -> str:
        changed = [name for name in self.__dataclass_fields__ if getattr(self, name) != DEFAULTS.get(name)]
        return "_".join(f"{name}{getattr(self, name)}" for name in changed) or "plain"

    @property
    def plan(self) -> Plan:
        """The plan that it runs."""
        tile = Tile(self.block_n, self.block_k, 4, 3, self.group_m, self.swap)
        accumulation = Accumulation.FAST if self.fast else Accumulation.EXACT
        return Plan(self.block_m, tile, tile, self.by_token, self.direct, accumulation)


def tolerance(case: Case) -> float:
    """Largest relative error of the output's norm that rounding explains."""
    if case.scheme == "plain":
        # The parts of a token are rounded to bf16, 2^-9, before they are summed; before's inner rows are, too.
        return 6e-3 if case.before or case.grouped else 4e-3
    if case.fast:
        # Products added up in the matrix unit's register keep about 14 bits: 1.0e-2 to 1.7e-2 on this kind of data.
        return 3e-2
    if case.scheme == "fp8-tensor" and not case.before:
        # An inner value next to an e4m3 boundary falls to its other side, one step of 2^-4 away.
        return 1e-2
    # What is between the GEMMs is rounded to bf16 before it is quantized, in the reference it is not: of 32 values
    # one falls to the other side of an e4m3 boundary. Few rows scatter around the 1e-2 that this makes.
    return 3e-2


DEFAULTS = asdict(Case("", -1))


def run(case: Case, device: str = "cpu", seed: int = 0) -> float:
    """Relative error of the norm; for an expected norm of zero, the norm itself."""
    scheme = Scheme(case.scheme)
    shape = Shape(case.experts, case.top_k, case.hidden, case.inner)
    local = Shape(-(-case.experts // 2), case.top_k, case.hidden, case.inner) if case.mapped else shape
    dtype = TYPES[case.dtype]
    experts = make_experts(local, scheme, device, seed, dtype=dtype, per_channel=case.per_channel)
    ids, weights = make_routing(case.tokens, shape, device, seed + 1, case.skew)
    generator = torch.Generator(device).manual_seed(seed + 2)
    x = torch.randn(case.tokens, case.hidden, generator=generator, device=device).to(dtype)
    expert_map = None
    if case.mapped:
        number = torch.arange(case.experts, device=device, dtype=torch.int32)
        expert_map = torch.where(number % 2 == 0, number // 2, -1).to(torch.int32)
    if case.holes:
        ids = torch.where(torch.rand(ids.shape, generator=generator, device=device) < 0.3, -1, ids)
    own_ids = ids.long() if case.long_ids else ids
    if case.before:
        got = before.fused_moe(x, experts, own_ids, weights, case.plan)
    elif case.grouped:
        prepared = grouped.GroupedWeights.of(experts)
        got = grouped.fused_moe(x, prepared, own_ids, weights, expert_map=expert_map)
    else:
        got = launcher.fused_moe(x, experts, own_ids, weights, expert_map=expert_map, plan=case.plan)
    expected = reference.fused_moe(x, experts, ids, weights, expert_map)
    assert got.shape == expected.shape
    assert got.dtype == dtype
    size = float(expected.norm())
    error = float((got.double() - expected).norm())
    return error / size if size > 0 else error


def repair_interpreter() -> None:
    """Let Triton's interpreter multiply bf16 and round to fp8 as a GPU does."""
    from triton.runtime import interpreter

    from jitwatch.runtime.offline.patches import Patches
    from jitwatch.runtime.offline.repairs import repair_interpreter

    repair_interpreter(interpreter, AssertionError, Patches())


def main() -> None:
    """Run the cases given as JSON in the interpreter and print their errors as JSON."""
    parser = argparse.ArgumentParser(description="Run cases of the fused-MoE target")
    parser.add_argument("cases", type=json.loads)
    repair_interpreter()
    print(json.dumps([run(Case(**case)) for case in parser.parse_args().cases]))


if __name__ == "__main__":
    main()
