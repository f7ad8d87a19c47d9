"""How a layer is cut into programs: a tile for each GEMM, chosen by how many slots an expert gets."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from jitwatch.kernels.fused_moe.experts import GROUP, Scheme


class Accumulation(enum.Enum):
    """Where products of fp8 are added up when Hopper multiplies them natively (Swap-AB, or 64 rows and more)."""

    FAST = "fast"
    """In the matrix unit's register, which is shorter than fp32."""
    EXACT = "exact"
    """In fp32, after each step of 128 or 256 products."""


@dataclass(frozen=True)
class Tile:
    """What one program of a GEMM does, apart from its ``BLOCK_M``."""

    block_n: int
    """Rows of weights; in the first GEMM half of them gate, half up."""
    block_k: int
    """Depth of a step."""
    warps: int
    stages: int
    """Steps whose operands are in shared memory at a time."""
    group_m: int = 1
    """Blocks that take turns at the same weights."""
    swap_ab: bool = False
    bulk: bool = False
    """Whether the copy engine (TMA) fetches the weights."""
    prefetch: int = 0
    """Bytes of each row of weights to ask the L2 cache for while the kernel before still runs; no constant."""

    def __str__(self) -> str:
        words = [
            f"{self.block_n}x{self.block_k} warps {self.warps} stages {self.stages} group {self.group_m}"
        ]
        words += ["swapped"] * self.swap_ab + ["bulk"] * self.bulk
        words += [f"prefetch {self.prefetch}"] * (self.prefetch > 0)
        return " ".join(words)


@dataclass(frozen=True)
class Plan:
    """How to run one layer at one number of tokens."""

    block_m: int
    """Slots of one expert in a block, the same for both GEMMs."""
    gate_up: Tile
    down: Tile
    by_token: bool = False
    """Whether the second GEMM works on one token at a time and sums its experts itself; for very few tokens."""
    direct: bool = False
    """Whether each slot is a block of its own, and no launch aligns; plain or static scheme, for very few tokens."""
    accumulation: Accumulation = Accumulation.EXACT

    def __str__(self) -> str:
        by_token = " by token" if self.by_token else ""
        words = " direct" * self.direct + " fast" * (self.accumulation is Accumulation.FAST)
        return f"block_m {self.block_m}{words} | gate_up {self.gate_up} | down{by_token} {self.down}"


def rows_per_expert(tokens: int, top_k: int, experts: int) -> float:
    """Slots an expert gets on average: what tiles are chosen by, as M alone says nothing about it."""
    return tokens * top_k / experts


HEIGHTS = ((12.0, 16), (24.0, 32), (200.0, 64))
"""Rows per expert up to which a block has how many rows; beyond, 128. From the H200's table."""


def default_plan(scheme: Scheme, rows: float) -> Plan:
    """The plan for that many rows per expert where nothing was measured; in fp8 what mostly won on an H200.

    Swapped while a block has fewer than the 64 rows of a wgmma, in fp8 alone: bf16 has no slow path to avoid.
    """
    block_m = next((height for most, height in HEIGHTS if rows <= most), 128)
    if scheme is Scheme.PLAIN:
        tile = Tile(64, 128, 4, 4) if block_m < 64 else Tile(128, 64, 4 if block_m == 64 else 8, 3, 8)
        return Plan(block_m, tile, tile)
    if block_m == 16:
        # The block scheme's scales change every 128 values, and so must its steps.
        first = Tile(64, GROUP if scheme is Scheme.BLOCK else 2 * GROUP, 4, 5, swap_ab=True)
        return Plan(block_m, first, Tile(64, GROUP, 4, 3, swap_ab=True))
    if block_m == 32:
        return Plan(block_m, Tile(64, GROUP, 4, 5, swap_ab=True), Tile(128, GROUP, 4, 5, swap_ab=True))
    return Plan(block_m, Tile(128, GROUP, 4, 3, 8), Tile(128, GROUP, 4, 4, 8))
