"""The checked entry point: validates, allocates, launches."""

from __future__ import annotations

import os
from collections.abc import Callable

import torch

from jitwatch.errors import JitwatchError
from jitwatch.kernels.rope_fp8_quant import kernel
from jitwatch.kernels.rope_fp8_quant.reference import CHUNK, HEAD, ROTARY, SCALE_ALIGNMENT

VECTOR_BYTES = 16
"""Width of the widest load: rows of ``o`` and of the cache must start on such a boundary."""

Launch = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], None]
"""``kernel.launch`` and what can stand in its place: ``before.launch``, a peer's."""


def inverse_rope_fp8_quant(
    o: torch.Tensor,
    positions: torch.Tensor,
    cos_sin_cache: torch.Tensor,
    n_groups: int,
    *,
    packed_scales: bool | None = None,
    launch: Launch = kernel.launch,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Undo the rotary embedding of every head and quantize it to e4m3fn in chunks of 128.

    ``o`` bf16 [T, H, 512], finite, rows of a larger buffer allowed; ``positions`` int64 [T], each a row of
    ``cos_sin_cache`` fp32 [P, 64] (not checked: that would wait for the device).

    Returns ``values`` e4m3fn [T, G, D], D = H / G * 512, strides (D, T * D, 1), and ``scales`` [G, T, k] with
    T fastest: fp32, k = D / 128, or packed int32, k = D / 512, four exponent bytes a word. Packed by default
    from compute capability 10 on. Raises JitwatchError on inputs it cannot take.
    """
    check_inputs(o, positions, cos_sin_cache, n_groups)
    packed = reads_packed_scales(o.device) if packed_scales is None else packed_scales
    values, scales = allocate(o.shape[0], o.shape[1], n_groups, packed, o.device)
    if o.shape[0] > 0:
        launch(o, positions, cos_sin_cache, values, scales)
    return values.transpose(0, 1), scales.transpose(1, 2)[:, : o.shape[0]]


def allocate(
    tokens: int, heads: int, n_groups: int, packed_scales: bool, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    """Allocate the storage of both outputs: values [G, T, D] and scales [G, k, T rounded up to 4]."""
    width = heads // n_groups * HEAD
    padded_tokens = -(-tokens // SCALE_ALIGNMENT) * SCALE_ALIGNMENT
    return (
        torch.empty(n_groups, tokens, width, dtype=torch.float8_e4m3fn, device=device),
        torch.empty(
            n_groups,
            width // (HEAD if packed_scales else CHUNK),
            padded_tokens,
            dtype=torch.int32 if packed_scales else torch.float32,
            device=device,
        ),
    )


def reads_packed_scales(device: torch.device) -> bool:
    """Whether the device's matrix units take packed exponents (SM100 and later) instead of fp32 (SM90)."""
    if device.type != "cuda":
        return False
    major, _ = torch.cuda.get_device_capability(device)
    return bool(major >= 10)


def check_inputs(
    o: torch.Tensor, positions: torch.Tensor, cos_sin_cache: torch.Tensor, n_groups: int
) -> None:
    """Raise JitwatchError for the first input the kernels cannot take."""
    check_heads(o, n_groups)
    check_positions(positions, o.shape[0])
    check_cache(cos_sin_cache)
    devices = [str(tensor.device) for tensor in (o, positions, cos_sin_cache)]
    require(
        len(set(devices)) == 1,
        f"o, positions and cos_sin_cache are on {', '.join(devices)}: move them to one device",
    )
    require(
        o.device.type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1",
        f"o is on {o.device}: move the inputs to a CUDA device, or set TRITON_INTERPRET=1 to interpret",
    )


def check_heads(o: torch.Tensor, n_groups: int) -> None:
    """Check the attention output: its layout, its rows and its grouping."""
    require(
        o.dim() == 3 and o.shape[1] > 0 and o.shape[2] == HEAD,
        f"o has shape {tuple(o.shape)}: pass [tokens, heads, {HEAD}] with at least one head",
    )
    require(o.dtype == torch.bfloat16, f"o is {o.dtype}: pass torch.bfloat16")
    require(
        o.stride()[1:] == (HEAD, 1),
        f"o has strides {o.stride()}: the heads of a token must be contiguous, call .contiguous()",
    )
    row_bytes = o.stride(0) * o.element_size() if o.shape[0] > 1 else 0
    require(
        row_bytes % (2 * VECTOR_BYTES) == 0 and o.data_ptr() % VECTOR_BYTES == 0,
        f"o starts at byte {o.data_ptr() % VECTOR_BYTES} of a {VECTOR_BYTES}-byte unit and its token stride is "
        f"{o.stride(0)}: start on a unit and pad rows to a multiple of {VECTOR_BYTES} values",
    )
    require(
        n_groups > 0 and o.shape[1] % n_groups == 0,
        f"n_groups is {n_groups}: pass a divisor of the {o.shape[1]} heads",
    )


def check_positions(positions: torch.Tensor, tokens: int) -> None:
    """Check the token positions."""
    require(
        positions.shape == (tokens,),
        f"positions has shape {tuple(positions.shape)}: pass one position for each of the {tokens} tokens",
    )
    require(positions.dtype == torch.int64, f"positions is {positions.dtype}: pass torch.int64")
    require(
        positions.is_contiguous(),
        f"positions has stride {positions.stride()}: pass a contiguous tensor, call .contiguous()",
    )


def check_cache(cos_sin_cache: torch.Tensor) -> None:
    """Check the table of angles."""
    require(
        cos_sin_cache.dim() == 2 and cos_sin_cache.shape[1] == ROTARY,
        f"cos_sin_cache has shape {tuple(cos_sin_cache.shape)}: pass [positions, {ROTARY}], "
        f"{ROTARY // 2} cosines then {ROTARY // 2} sines",
    )
    require(
        cos_sin_cache.dtype == torch.float32, f"cos_sin_cache is {cos_sin_cache.dtype}: pass torch.float32"
    )
    require(
        cos_sin_cache.is_contiguous() and cos_sin_cache.data_ptr() % VECTOR_BYTES == 0,
        f"cos_sin_cache has strides {cos_sin_cache.stride()} and starts at byte "
        f"{cos_sin_cache.data_ptr() % VECTOR_BYTES} of a {VECTOR_BYTES}-byte unit: call .clone()",
    )


def require(condition: bool, message: str) -> None:
    """Raise JitwatchError with this message unless the condition holds."""
    if not condition:
        raise JitwatchError(f"inverse_rope_fp8_quant: {message}")
