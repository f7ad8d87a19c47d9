"""Random inputs and poisoned outputs on a GPU, and the check of a form against the reference."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from jitwatch.kernels.rope_fp8_quant import launcher, reference

POSITIONS = 65536

POISON = 0x7F
"""The byte of an e4m3fn NaN, which no kernel writes."""


@dataclass(frozen=True)
class Problem:
    """Inputs and poisoned outputs of one launch."""

    o: torch.Tensor
    positions: torch.Tensor
    cos_sin_cache: torch.Tensor
    values: torch.Tensor
    scales: torch.Tensor

    def run(self, launch: launcher.Launch) -> None:
        """Launch one form on it."""
        launch(self.o, self.positions, self.cos_sin_cache, self.values, self.scales)

    def poison(self) -> None:
        """Overwrite the outputs."""
        self.values.view(torch.uint8).fill_(POISON)
        self.scales.fill_(float("nan"))


def make_problem(tokens: int, groups: int, heads: int, cos_sin_cache: torch.Tensor) -> Problem:
    """Random inputs, poisoned outputs."""
    device = cos_sin_cache.device
    problem = Problem(
        torch.randn(tokens, heads, reference.HEAD, device=device).to(torch.bfloat16),
        torch.randint(POSITIONS, (tokens,), device=device),
        cos_sin_cache,
        *launcher.allocate(tokens, heads, groups, False, device),
    )
    problem.poison()
    return problem


def make_cache() -> torch.Tensor:
    """The usual table of angles, base 10,000."""
    frequencies = 1e4 ** (torch.arange(32, device="cuda") / -32)
    angles = torch.arange(POSITIONS, device="cuda")[:, None] * frequencies
    return torch.cat([angles.cos(), angles.sin()], dim=1)


def moved_bytes(tokens: int, heads: int) -> int:
    """Bytes a launch must move: heads in bf16, values in fp8, four scales a head, angles and positions once."""
    return tokens * (heads * (2 * reference.HEAD + reference.HEAD + 16) + 4 * reference.ROTARY + 8)


def same_bytes(launch: launcher.Launch, problem: Problem) -> float:
    """Share of the output bytes that equal the reference's, from poisoned outputs."""
    problem.poison()
    problem.run(launch)
    expected = reference.inverse_rope_fp8_quant(
        problem.o,
        problem.positions,
        problem.cos_sin_cache,
        problem.values.shape[0],
        packed_scales=False,
    )
    got = problem.values.transpose(0, 1), problem.scales.transpose(1, 2)
    equal = [as_bytes(mine) == as_bytes(wanted) for mine, wanted in zip(got, expected, strict=True)]
    share: float = torch.cat(equal).double().mean().item()
    return share


def as_bytes(x: torch.Tensor) -> torch.Tensor:
    """The tensor's bytes in order."""
    return x.contiguous().view(torch.uint8).reshape(-1)
