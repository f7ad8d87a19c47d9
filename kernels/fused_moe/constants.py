"""The compile-time side of each launch: what a variant is made of, apart from the types of its arguments.

The launcher passes these, and `variants` lists them, so that the list cannot differ from what is launched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import triton

from jitwatch.errors import JitwatchError
from jitwatch.kernels.fused_moe.alignment import CHUNK, bins, chunk_size
from jitwatch.kernels.fused_moe.experts import GROUP, Experts, Scheme
from jitwatch.kernels.fused_moe.tiles import Accumulation, Plan, Tile

Constants = Mapping[str, int | str | bool]
"""Constexpr arguments and options of a launch by name."""

SUM_BLOCK = 1024
"""Values of a token that a program of the sum adds up."""


@dataclass(frozen=True)
class Chunks:
    """How slots are shared by the programs that align them."""

    size: int
    """Slots of a program."""
    only_one: bool
    """Whether one program aligns all."""


@dataclass(frozen=True)
class Layer:
    """All that stays the same from call to call."""

    experts: int
    top_k: int
    hidden: int
    inner: int
    scheme: Scheme
    gate_up_per_channel: bool
    """Whether the first matrix has a scale for each of its rows."""
    down_per_channel: bool
    mapped: bool
    """Whether an expert map is given."""
    overlap: bool
    """Whether a kernel may start while the one before it ends."""

    @property
    def quantized(self) -> bool:
        """Whether the matrices are multiplied in fp8."""
        return self.scheme is not Scheme.PLAIN

    @property
    def quantizes_between(self) -> bool:
        """Whether a launch between the GEMMs finds dynamic scales; a static one is applied in the first GEMM."""
        return self.scheme in (Scheme.TOKEN, Scheme.BLOCK)

    def chunks(self, tokens: int) -> Chunks:
        """How the slots of that many tokens are aligned."""
        slots = tokens * self.top_k
        return Chunks(chunk_size(slots), slots <= CHUNK)

    def shared(self) -> dict[str, int | str | bool]:
        """What every launch of this layer passes."""
        early = {"launch_pdl": True} if self.overlap else {}
        return {"OVERLAP": self.overlap, **early}

    def prepare(self, plan: Plan, chunks: Chunks) -> Constants:
        """Constants of the launch that aligns the slots and quantizes the input."""
        return {
            "BINS": 0 if chunks.only_one else bins(self.experts),
            "MAPPED": self.mapped,
            "BLOCK_M": plan.block_m,
            "CHUNK": chunks.size,
            "ONE_CHUNK": chunks.only_one,
            "QUANTIZED": self.quantized,
            "WIDTH": self.hidden,
            "SCHEME": self.scheme.value,
            "ROW_BLOCK": row_block(self.hidden),
            "num_warps": 8,
            **self.shared(),
        }

    def gate_up(self, plan: Plan) -> Constants:
        """Constants of the first GEMM. Raises JitwatchError for a plan that needs scales found before it."""
        if plan.direct and self.quantizes_between:
            raise JitwatchError(
                f"plan {plan}: direct, a layer finds no dynamic scales ({self.scheme.value}); set direct=False"
            )
        return {
            "TOP_K": self.top_k,
            "MAPPED": self.mapped,
            "PER_CHANNEL": self.gate_up_per_channel,
            **self.product(plan, plan.gate_up),
        }

    def down(self, plan: Plan) -> Constants:
        """Constants of the second GEMM."""
        return {
            "MAPPED": self.mapped,
            "PER_CHANNEL": self.down_per_channel,
            **self.product(plan, plan.down),
        }

    def down_by_token(self, plan: Plan) -> Constants:
        """Constants of the second GEMM that sums."""
        tile = plan.down
        return {
            "TOP_K": self.top_k,
            "HIDDEN": self.hidden,
            "INNER": self.inner,
            "SCHEME": self.scheme.value,
            "PER_CHANNEL": self.down_per_channel,
            "MAPPED": self.mapped,
            "BLOCK_N": tile.block_n,
            "BLOCK_K": tile.block_k,
            "num_warps": tile.warps,
            "num_stages": tile.stages,
            **self.shared(),
        }

    def product(self, plan: Plan, tile: Tile) -> dict[str, int | str | bool]:
        """Constants that both GEMMs have."""
        return {
            "HIDDEN": self.hidden,
            "INNER": self.inner,
            "SCHEME": self.scheme.value,
            "BLOCK_M": plan.block_m,
            "BLOCK_N": tile.block_n,
            "BLOCK_K": tile.block_k,
            "GROUP_M": tile.group_m,
            "SWAP_AB": tile.swap_ab,
            "PROMOTE": self.quantized and plan.accumulation is Accumulation.EXACT,
            "BULK": tile.bulk,
            "DIRECT": plan.direct,
            "num_warps": tile.warps,
            "num_stages": tile.stages,
            **self.shared(),
        }

    def quantize(self) -> Constants:
        """Constants of the launch between the GEMMs."""
        return {
            "WIDTH": self.inner,
            "SCHEME": self.scheme.value,
            "BLOCK": row_block(self.inner),
            "num_warps": 4,
            **self.shared(),
        }

    def sum(self) -> Constants:
        """Constants of the sum over a token's slots."""
        return {
            "TOP_K": self.top_k,
            "HIDDEN": self.hidden,
            "MAPPED": self.mapped,
            "BLOCK": SUM_BLOCK,
            "num_warps": 4,
            **self.shared(),
        }


def layer_of(experts: Experts, top_k: int, mapped: bool, overlap: bool) -> Layer:
    """Describe the calls of a layer with these weights."""
    return Layer(
        experts.count,
        top_k,
        experts.hidden,
        experts.inner,
        experts.scheme,
        per_channel(experts, "gate_up_scale"),
        per_channel(experts, "down_scale"),
        mapped,
        overlap,
    )


def per_channel(experts: Experts, name: str) -> bool:
    """Whether a matrix has a scale for each output channel."""
    scale = getattr(experts, name)
    return experts.scheme is Scheme.TOKEN and scale.dim() == 2


def row_block(width: int) -> int:
    """The power of two that a row is quantized in."""
    return max(GROUP, int(triton.next_power_of_2(width)))
