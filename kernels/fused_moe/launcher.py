"""The checked entry point: validates, allocates, launches. Nothing here waits for the GPU."""

from __future__ import annotations

import os
from dataclasses import dataclass

import torch
import triton
from triton.tools.tensor_descriptor import TensorDescriptor

from jitwatch.kernels.fused_moe import alignment, kernel, token_kernel
from jitwatch.kernels.fused_moe.alignment import Alignment
from jitwatch.kernels.fused_moe.checks import check_experts, check_inputs
from jitwatch.kernels.fused_moe.constants import SUM_BLOCK, Layer, layer_of
from jitwatch.kernels.fused_moe.experts import FP8, GROUP, Experts, Scheme
from jitwatch.kernels.fused_moe.quantize import quantize_kernel
from jitwatch.kernels.fused_moe.tiles import Plan, Tile, default_plan, rows_per_expert

PREFETCH_UNIT = 32
"""A row is fetched early in two pieces of whole 16 bytes each."""


def fused_moe(
    x: torch.Tensor,
    experts: Experts,
    topk_ids: torch.Tensor,
    topk_weights: torch.Tensor,
    *,
    expert_map: torch.Tensor | None = None,
    plan: Plan | None = None,
) -> torch.Tensor:
    """Send each token through its top-k experts and sum what comes back, weighted.

    ``x`` [M, K], contiguous; ``topk_ids`` int32 or int64 [M, k], -1 for no expert, numbers in range (not checked:
    that would wait for the device); ``topk_weights`` fp32 [M, k]; ``expert_map`` int32 [all experts] gives the
    local number of an expert, -1 for one of another rank. Returns [M, K] of ``x``'s type. May be captured in a
    CUDA graph. Raises JitwatchError on inputs it cannot take.
    """
    check_experts(experts)
    check_inputs(x, experts, topk_ids, topk_weights, expert_map)
    out = torch.empty_like(x)
    if x.shape[0] > 0:
        layer = layer_of(experts, topk_ids.shape[1], expert_map is not None, overlaps(x.device))
        Run(x, experts, topk_ids, topk_weights, expert_map, plan or plan_of(layer, x.shape[0]), layer).launch(
            out
        )
    return out


def plan_of(layer: Layer, tokens: int) -> Plan:
    """The plan for that many tokens."""
    rows = rows_per_expert(tokens, layer.top_k, layer.experts)
    return default_plan(layer.scheme, rows)


def overlaps(device: torch.device) -> bool:
    """Whether a kernel may start while the one before it ends (programmatic dependent launch, SM90 and later)."""
    if device.type != "cuda" or os.environ.get("TRITON_INTERPRET") == "1":
        return False
    if tuple(map(int, triton.__version__.split(".")[:2])) < (
        3,
        6,
    ):  # 3.4's gdc_wait cannot be called in a kernel
        return False
    major, _ = torch.cuda.get_device_capability(device)
    return bool(major >= 9)


@dataclass(frozen=True)
class Run:
    """One call's inputs, checked, and how to go about it."""

    x: torch.Tensor
    experts: Experts
    topk_ids: torch.Tensor
    topk_weights: torch.Tensor
    expert_map: torch.Tensor | None
    plan: Plan
    layer: Layer

    @property
    def slots(self) -> int:
        """Tokens times experts a token."""
        return int(self.topk_ids.numel())

    def launch(self, out: torch.Tensor) -> None:
        """Four launches; three by token, and one less direct. Dynamic schemes quantize between the GEMMs in another."""
        if self.plan.direct:
            aligned, rows, scale = Alignment(None, None, self.slots), self.x, self.experts.input_scale
        else:
            aligned = Alignment.empty(self.slots, self.experts.count, self.plan.block_m, self.x.device)
            rows, scale = self.prepare(aligned)
        inner, inner_scale = self.gate_up(aligned, rows, scale), self.experts.inner_scale
        if self.layer.quantizes_between:
            inner, inner_scale = self.quantize(inner)
        if self.plan.by_token:
            self.down_by_token(inner, inner_scale, out)
        else:
            self.sum(self.down(aligned, inner, inner_scale), out)

    def prepare(self, aligned: Alignment) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Align the slots and quantize the input: the input as the first GEMM takes it, and its scale."""
        tokens, quantized = self.x.shape[0], self.layer.quantized
        rows = torch.empty_like(self.x, dtype=FP8) if quantized else self.x
        scale = self.scale_of(self.x, self.experts.input_scale)
        chunks = self.layer.chunks(tokens)
        programs = triton.cdiv(self.slots, chunks.size)
        alignment.prepare_kernel[(programs + (tokens if quantized else 0),)](
            self.topk_ids,
            self.expert_map,
            aligned.slots,
            aligned.table,
            self.x if quantized else None,
            rows if quantized else None,
            scale,
            self.slots,
            programs,
            **self.layer.prepare(self.plan, chunks),
        )
        return rows, scale

    def gate_up(self, aligned: Alignment, rows: torch.Tensor, scale: torch.Tensor | None) -> torch.Tensor:
        """Launch the first GEMM: a row for each slot, fp8 already where its scale is static."""
        static = self.layer.scheme is Scheme.TENSOR
        inner = rows.new_empty(self.slots, self.experts.inner, dtype=FP8 if static else self.x.dtype)
        columns = triton.cdiv(self.experts.inner, self.plan.gate_up.block_n // 2)
        kernel.gate_up_kernel[(aligned.most_blocks * columns,)](
            rows,
            scale,
            self.experts.gate_up,
            descriptor(self.experts.gate_up, 2, self.plan.gate_up),
            self.experts.gate_up_scale,
            inner,
            self.experts.inner_scale,
            aligned.slots,
            aligned.table,
            self.topk_ids,
            self.expert_map,
            self.slots,
            prefetched(self.plan.gate_up, self.experts.gate_up),
            **self.layer.gate_up(self.plan),
        )
        return inner

    def quantize(self, inner: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Quantize what is between the GEMMs with the scales it asks for."""
        rows, scale = torch.empty_like(inner, dtype=FP8), self.scale_of(inner, None)
        quantize_kernel[(self.slots,)](inner, rows, scale, **self.layer.quantize())
        return rows, scale

    def down(self, aligned: Alignment, inner: torch.Tensor, inner_scale: torch.Tensor | None) -> torch.Tensor:
        """Launch the second GEMM: a row for each slot."""
        parts = self.x.new_empty(self.slots, self.experts.hidden)
        columns = triton.cdiv(self.experts.hidden, self.plan.down.block_n)
        kernel.down_kernel[(aligned.most_blocks * columns,)](
            inner,
            inner_scale,
            self.experts.down,
            descriptor(self.experts.down, 1, self.plan.down),
            self.experts.down_scale,
            parts,
            self.topk_weights,
            aligned.slots,
            aligned.table,
            self.topk_ids,
            self.expert_map,
            self.slots,
            prefetched(self.plan.down, self.experts.down),
            **self.layer.down(self.plan),
        )
        return parts

    def down_by_token(self, inner: torch.Tensor, inner_scale: torch.Tensor | None, out: torch.Tensor) -> None:
        """Launch the second GEMM that sums what a token's experts make."""
        tokens, hidden = out.shape
        token_kernel.down_by_token_kernel[(tokens * triton.cdiv(hidden, self.plan.down.block_n),)](
            inner,
            inner_scale,
            self.experts.down,
            self.experts.down_scale,
            out,
            self.topk_weights,
            self.topk_ids,
            self.expert_map,
            prefetched(self.plan.down, self.experts.down),
            **self.layer.down_by_token(self.plan),
        )

    def sum(self, parts: torch.Tensor, out: torch.Tensor) -> None:
        """Add up each token's rows."""
        tokens, hidden = out.shape
        kernel.sum_kernel[(tokens, triton.cdiv(hidden, SUM_BLOCK))](
            parts, self.topk_ids, self.expert_map, out, **self.layer.sum()
        )

    def scale_of(self, rows: torch.Tensor, static: torch.Tensor | None) -> torch.Tensor | None:
        """The scheme's scale of rows of activations: given, or room for one to be written."""
        count, width = rows.shape
        if self.layer.scheme is Scheme.TOKEN:
            return torch.empty(count, dtype=torch.float32, device=rows.device)
        if self.layer.scheme is Scheme.BLOCK:
            return torch.empty(count, triton.cdiv(width, GROUP), dtype=torch.float32, device=rows.device)
        return static


def descriptor(weights: torch.Tensor, planes: int, tile: Tile) -> TensorDescriptor | None:
    """What the copy engine needs to fetch a tile: ``planes`` equal parts of each expert's rows, a share of each."""
    if not tile.bulk:
        return None
    experts, rows, columns = weights.shape
    parts = weights.view(experts * planes, rows // planes, columns)
    return TensorDescriptor.from_tensor(parts, [planes, tile.block_n // planes, tile.block_k])


def prefetched(tile: Tile, weights: torch.Tensor) -> int:
    """Bytes of each row of weights to fetch early: what the tile asks for, as far as the row goes."""
    row = weights.shape[2] * weights.element_size()
    return int(min(tile.prefetch, row)) // PREFETCH_UNIT * PREFETCH_UNIT
