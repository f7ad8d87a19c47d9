"""``torch.autocast("cuda")`` on CPU tensors, with the GPU's lists of operations.

torch's CPU autocast has other lists (softmax, for one, stays in bf16 there), and a dtype is part of a kernel's
key: the profile would not be the GPU's. So the mode casts, by the lists in torch's documentation of CUDA autocast.
"""

from __future__ import annotations

import threading
from typing import Any

import torch

from .mode import OfflineMode
from .patches import Patches
from .tensors import tensors_in


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LOWER = _names(
    "__matmul__ __rmatmul__ addbmm addmm addmv addr baddbmm bmm chain_matmul multi_dot conv1d conv2d conv3d"
    " conv_transpose1d conv_transpose2d conv_transpose3d linear matmul mm mv prelu einsum"
    " scaled_dot_product_attention gru_cell lstm_cell rnn_tanh_cell rnn_relu_cell"
)
_FLOAT32 = _names(
    "__pow__ __rdiv__ __rpow__ __rtruediv__ acos asin binary_cross_entropy_with_logits cosh cosine_embedding_loss"
    " cdist cosine_similarity cross_entropy cumprod cumsum dist erfinv exp expm1 group_norm hinge_embedding_loss"
    " kl_div l1_loss layer_norm log log10 log_softmax log1p log2 margin_ranking_loss mse_loss"
    " multilabel_margin_loss multi_margin_loss nll_loss norm normalize pdist poisson_nll_loss pow prod reciprocal"
    " rsqrt sinh smooth_l1_loss soft_margin_loss softmax softmin softplus sum renorm tan triplet_margin_loss"
)
_WIDEST = _names("addcdiv addcmul atan2 bilinear cross dot grid_sample index_put scatter_add tensordot")


class _State(threading.local):
    def __init__(self) -> None:
        self.enabled = False
        self.dtype = torch.float16


class Autocast:
    """State of CUDA autocast, and the casts it asks for."""

    def __init__(self, mode: OfflineMode, patches: Patches) -> None:
        self._state = _State()
        mode.before = self.cast
        self._replace_state_functions(patches)
        patches.set(torch, "is_autocast_enabled", self.is_enabled)

    def cast(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Arguments as autocast would pass them on."""
        if not self._state.enabled:
            return args, kwargs
        name = getattr(func, "__name__", "")
        if name in _LOWER:
            dtype = self._state.dtype
        elif name in _FLOAT32:
            dtype = torch.float32
        elif name in _WIDEST:
            dtype = _widest(args)
        else:
            return args, kwargs
        return _cast(args, dtype), {key: _cast(value, dtype) for key, value in kwargs.items()}

    def is_enabled(self, device_type: str = "cuda") -> bool:
        """``torch.is_autocast_enabled``."""
        return self._state.enabled if device_type == "cuda" else torch._C.is_autocast_enabled(device_type)

    def _replace_state_functions(self, patches: Patches) -> None:
        state = self._state
        set_enabled, set_dtype = torch.set_autocast_enabled, torch.set_autocast_dtype
        get_dtype = torch.get_autocast_dtype

        def replace_enabled(device_type: Any, enabled: Any = None) -> None:
            if enabled is None:  # the old form: set_autocast_enabled(True) means CUDA
                device_type, enabled = "cuda", device_type
            if device_type == "cuda":
                state.enabled = enabled
            else:
                set_enabled(device_type, enabled)

        def replace_dtype(device_type: str, dtype: Any) -> None:
            if device_type == "cuda":
                state.dtype = dtype
            else:
                set_dtype(device_type, dtype)

        patches.set(torch, "set_autocast_enabled", replace_enabled)
        patches.set(torch, "set_autocast_dtype", replace_dtype)

        def find_dtype(device_type: str) -> Any:
            return state.dtype if device_type == "cuda" else get_dtype(device_type)

        patches.set(torch, "get_autocast_dtype", find_dtype)
        patches.set(torch, "get_autocast_gpu_dtype", lambda: state.dtype)


def _widest(args: Any) -> Any:
    dtypes: list[Any] = [tensor.dtype for tensor in tensors_in(args) if tensor.is_floating_point()]
    return torch.float32 if torch.float32 in dtypes or not dtypes else dtypes[0]


def _cast(value: Any, dtype: Any) -> Any:
    if isinstance(value, torch.Tensor):
        eligible = value.is_floating_point() and value.dtype is not torch.float64
        return value.to(dtype) if eligible and value.dtype is not dtype else value
    if type(value) in (list, tuple):
        return type(value)(_cast(item, dtype) for item in value)
    return value
