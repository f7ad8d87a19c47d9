"""Refuses what the kernels cannot take, in one line that says how to mend it."""

from __future__ import annotations

import os

import torch

from jitwatch.errors import JitwatchError
from jitwatch.kernels.fused_moe.experts import FP8, GROUP, Experts, Scheme

VECTOR_BYTES = 16
"""Width of the widest load: rows of activations and weights must be whole numbers of it."""

MOST_CHOICES = 16

PLAIN_TYPES = (torch.bfloat16, torch.float16, torch.float32)


def check_experts(experts: Experts) -> None:
    """Raise JitwatchError for weights or scales the kernels cannot take."""
    gate_up, down = experts.gate_up, experts.down
    require(
        gate_up.dim() == 3 and gate_up.shape[0] > 0 and gate_up.shape[1] > 0 and gate_up.shape[1] % 2 == 0,
        f"gate_up has shape {tuple(gate_up.shape)}: pass [experts, 2 * inner, hidden]",
    )
    count, hidden, inner = experts.count, experts.hidden, experts.inner
    require(
        down.shape == (count, hidden, inner),
        f"down has shape {tuple(down.shape)}: gate_up makes it [{count}, {hidden}, {inner}]",
    )
    wanted = (FP8,) if experts.quantized else PLAIN_TYPES
    require(
        gate_up.dtype in wanted and down.dtype == gate_up.dtype,
        f"gate_up is {gate_up.dtype}, down {down.dtype}: scheme {experts.scheme.value} takes both as {wanted[0]}",
    )
    for name, weights in (("gate_up", gate_up), ("down", down)):
        require(weights.is_contiguous(), f"{name} has strides {weights.stride()}: call .contiguous()")
        row = weights.shape[2] * weights.element_size()
        require(
            row % VECTOR_BYTES == 0 and weights.data_ptr() % VECTOR_BYTES == 0,
            f"{name} has rows of {row} bytes, from byte {weights.data_ptr() % VECTOR_BYTES} of a "
            f"{VECTOR_BYTES}-byte unit: start on one and pad rows to a multiple of {VECTOR_BYTES}",
        )
    check_scale("gate_up_scale", experts.gate_up_scale, experts, 2 * inner, hidden)
    check_scale("down_scale", experts.down_scale, experts, hidden, inner)
    for name, scale in (("input_scale", experts.input_scale), ("inner_scale", experts.inner_scale)):
        if experts.scheme is Scheme.TENSOR:
            check_fp32(name, scale, [(1,)])
        else:
            require(
                scale is None, f"{name} is given: scheme {experts.scheme.value} has no static one, pass None"
            )


def check_scale(name: str, scale: torch.Tensor | None, experts: Experts, rows: int, columns: int) -> None:
    """Check a matrix's scale by the scheme."""
    count = experts.count
    if experts.scheme is Scheme.PLAIN:
        require(scale is None, f"{name} is given: scheme plain has none, pass None")
    elif experts.scheme is Scheme.BLOCK:
        check_fp32(name, scale, [(count, -(-rows // GROUP), -(-columns // GROUP))])
    elif experts.scheme is Scheme.TOKEN:
        check_fp32(name, scale, [(count,), (count, rows)])
    else:
        check_fp32(name, scale, [(count,)])


def check_fp32(name: str, scale: torch.Tensor | None, shapes: list[tuple[int, ...]]) -> None:
    """Check that a scale is there, fp32, contiguous and of one of the shapes."""
    wanted = " or ".join(str(list(shape)) for shape in shapes)
    require(scale is not None, f"{name} is missing: pass fp32 {wanted}")
    assert scale is not None
    require(
        scale.dtype == torch.float32 and tuple(scale.shape) in shapes and scale.is_contiguous(),
        f"{name} is {scale.dtype} {list(scale.shape)}: pass contiguous torch.float32 {wanted}",
    )


def check_inputs(
    x: torch.Tensor,
    experts: Experts,
    topk_ids: torch.Tensor,
    topk_weights: torch.Tensor,
    expert_map: torch.Tensor | None,
) -> None:
    """Raise JitwatchError for the first input of a call the kernels cannot take."""
    types = PLAIN_TYPES if experts.quantized else (experts.gate_up.dtype,)
    require(
        x.dim() == 2 and x.shape[1] == experts.hidden,
        f"x has shape {tuple(x.shape)}: pass [tokens, {experts.hidden}]",
    )
    require(x.dtype in types, f"x is {x.dtype}: pass {types[0]}")
    require(x.is_contiguous(), f"x has strides {x.stride()}: call .contiguous()")
    require(
        x.data_ptr() % VECTOR_BYTES == 0,
        f"x starts at byte {x.data_ptr() % VECTOR_BYTES} of a {VECTOR_BYTES}-byte unit: call .clone()",
    )
    check_routing(x.shape[0], topk_ids, topk_weights, expert_map)
    tensors = [x, experts.gate_up, topk_ids, topk_weights] + ([expert_map] if expert_map is not None else [])
    devices = [str(tensor.device) for tensor in tensors]
    require(len(set(devices)) == 1, f"the inputs are on {', '.join(devices)}: move them to one device")
    require(
        x.device.type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1",
        f"x is on {x.device}: move the inputs to a CUDA device, or set TRITON_INTERPRET=1 to interpret",
    )


def check_routing(
    tokens: int, topk_ids: torch.Tensor, topk_weights: torch.Tensor, expert_map: torch.Tensor | None
) -> None:
    """Check the choice of experts."""
    require(
        topk_ids.dim() == 2 and topk_ids.shape[0] == tokens and 1 <= topk_ids.shape[1] <= MOST_CHOICES,
        f"topk_ids has shape {tuple(topk_ids.shape)}: pass [{tokens}, k] with k in 1..{MOST_CHOICES}",
    )
    require(
        topk_ids.dtype in (torch.int32, torch.int64) and topk_ids.is_contiguous(),
        f"topk_ids is {topk_ids.dtype}, strides {topk_ids.stride()}: pass contiguous torch.int32 or torch.int64",
    )
    require(
        topk_weights.shape == topk_ids.shape
        and topk_weights.dtype == torch.float32
        and topk_weights.is_contiguous(),
        f"topk_weights is {topk_weights.dtype} {list(topk_weights.shape)}: pass contiguous torch.float32 "
        f"{list(topk_ids.shape)}",
    )
    if expert_map is not None:
        require(
            expert_map.dim() == 1 and expert_map.dtype == torch.int32 and expert_map.is_contiguous(),
            f"expert_map is {expert_map.dtype} {list(expert_map.shape)}: pass contiguous torch.int32 [all experts]",
        )


def require(condition: bool, message: str) -> None:
    """Raise JitwatchError with this message unless the condition holds."""
    if not condition:
        raise JitwatchError(f"fused_moe: {message}")
