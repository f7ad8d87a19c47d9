"""Inputs of the inverse-RoPE target, and one run of a kernel on poisoned outputs compared with the reference."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from typing import Any

import torch

from jitwatch.kernels.rope_fp8_quant import before, kernel, launcher, reference

FORMS = {"before": before.launch, "kernel": kernel.launch}

POSITIONS = 4096


@dataclass(frozen=True)
class Case:
    """One problem. ``hidden_heads`` pad each row of the buffer that ``o`` is a slice of, or rows are
    ``token_stride`` values apart. ``edge``: the maximum of each head's last chunk is 448 times a power of two, or
    a neighbour of that in float32, where its scale steps."""

    form: str
    tokens: int
    groups: int
    heads: int
    packed: bool = False
    hidden_heads: int = 0
    token_stride: int = 0
    edge: bool = False

    def __str__(self) -> str:
        words = [self.form, f"T{self.tokens}", f"{self.groups}x{self.heads}", "packed" * self.packed]
        words += [f"hidden{self.hidden_heads}" * (self.hidden_heads > 0), "far" * (self.token_stride > 0)]
        words.append("edge" * self.edge)
        return "_".join(filter(None, words))


@dataclass(frozen=True)
class Outcome:
    """How far a kernel's output is from the reference."""

    scales_equal: bool
    padding_zero: bool
    wrong_values: float
    """Share of the fp8 bytes that differ."""
    worst_step: int
    """Largest distance of two fp8 values in steps of their format."""


def make_inputs(case: Case, device: str, seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Random ``o``, positions and angles. Magnitudes span 2^-40..2^40, one chunk is all zero, one tiny."""
    generator = torch.Generator(device).manual_seed(seed)
    shape = (case.tokens, case.heads + case.hidden_heads, reference.HEAD)
    buffer = torch.randn(shape, generator=generator, device=device)
    chunks = buffer.unflatten(-1, (-1, reference.CHUNK))
    chunks *= torch.exp2(torch.randint(-40, 41, (*chunks.shape[:3], 1), generator=generator, device=device))
    o = spread(buffer.to(torch.bfloat16)[:, case.hidden_heads :], case.token_stride)
    if case.tokens:
        o[0, 0, : reference.CHUNK] = 0.0
        o[-1, -1, reference.CHUNK : 2 * reference.CHUNK] = 1e-30
    positions = torch.randint(0, POSITIONS, (case.tokens,), generator=generator, device=device)
    angles = torch.rand(POSITIONS, reference.ROTARY // 2, generator=generator, device=device) * 6.2831853
    if case.edge:
        return o.fill_(1.0), positions, edge_cache(device)
    return o, positions, torch.cat([angles.cos(), angles.sin()], dim=1)


def edge_cache(device: str) -> torch.Tensor:
    """Cosines of 448 * 2^n and its neighbours in float32, sines of zero: ones rotate to exactly these."""
    row = torch.arange(POSITIONS, device=device)
    edges = (1.75 * torch.exp2((row // 3 % 16).float())).view(torch.int32) + (row % 3 - 1).int()
    cosines = edges.view(torch.float32)[:, None].expand(-1, reference.ROTARY // 2)
    return torch.cat([cosines, torch.zeros_like(cosines)], dim=1)


def spread(o: torch.Tensor, token_stride: int) -> torch.Tensor:
    """Copy ``o`` into rows ``token_stride`` values apart (0: leave it); what lies between is never touched."""
    if not token_stride:
        return o
    tokens, heads, head = o.shape
    buffer = torch.empty(token_stride * (tokens - 1) + heads * head, dtype=o.dtype, device=o.device)
    return buffer.as_strided(o.shape, (token_stride, head, 1)).copy_(o)


def run(case: Case, device: str = "cpu", seed: int = 0) -> Outcome:
    """Run one form on poisoned outputs and compare with the reference."""
    o, positions, cache = make_inputs(case, device, seed)
    launcher.check_inputs(o, positions, cache, case.groups)
    values, scales = launcher.allocate(case.tokens, case.heads, case.groups, case.packed, o.device)
    values.view(torch.uint8).fill_(0x7F)
    scales.view(torch.int32).fill_(-1)
    if case.tokens:
        FORMS[case.form](o, positions, cache, values, scales)
    expected, expected_scales = reference.inverse_rope_fp8_quant(
        o, positions, cache, case.groups, packed_scales=case.packed
    )
    steps = (order(values.transpose(0, 1)) - order(expected)).abs()
    got_scales = scales.transpose(1, 2)
    return Outcome(
        scales_equal=torch.equal(got_scales, expected_scales),
        padding_zero=not bool(got_scales[:, case.tokens :].any()),
        wrong_values=(steps > 0).double().mean().item() if case.tokens else 0.0,
        worst_step=int(steps.max()) if case.tokens else 0,
    )


def order(values: torch.Tensor) -> torch.Tensor:
    """Number the e4m3fn values in ascending order, so that neighbours differ by one (-0 and 0 too)."""
    code = values.contiguous().view(torch.uint8).int()
    return torch.where(code < 0x80, code, 0x7F - code)


def mend_fp8_cast() -> None:
    """Let Triton's interpreter round to fp8 as torch does: its own loses a carry in 5 % of the values."""
    import triton.language as tl
    from triton.runtime import interpreter

    convert = interpreter._convert_float

    def convert_float(x: Any, source: Any, target: Any, rounding: Any) -> Any:
        if target != tl.float8e4nv:
            return convert(x, source, target, rounding)
        saturated = torch.from_numpy(x).clamp(-reference.FP8_MAX, reference.FP8_MAX)
        return saturated.to(torch.float8_e4m3fn).view(torch.uint8).numpy()

    interpreter._convert_float = convert_float


def main() -> None:
    """Run the cases given as JSON in the interpreter and print their outcomes as JSON."""
    parser = argparse.ArgumentParser(description="Run cases of the inverse-RoPE target")
    parser.add_argument("cases", type=json.loads)
    mend_fp8_cast()
    cases = [Case(**case) for case in parser.parse_args().cases]
    print(json.dumps([asdict(run(case)) for case in cases]))


if __name__ == "__main__":
    main()
