"""``libdevice`` for interpreted kernels: the interpreter has none of it, numpy and math have most."""

from __future__ import annotations

import importlib
import math
from typing import Any, Callable

import numpy as np

from .language import InterpretedLanguage

_Numpy = Callable[..., Any]


def _by_math(function: Callable[[float], float]) -> _Numpy:
    return np.vectorize(function, otypes=[np.float64])


_SAME = (
    "abs ceil copysign cos cosh exp exp2 expm1 floor fmod hypot log log10 log1p log2 nextafter rint sin sinh sqrt"
    " tan tanh trunc cbrt isinf isnan ldexp"
)
_FUNCTIONS: dict[str, _Numpy] = {
    **{name: getattr(np, name) for name in _SAME.split()},
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan,
    "atan2": np.arctan2, "atanh": np.arctanh, "pow": np.power, "fabs": np.abs, "nearbyint": np.rint,
    "erf": _by_math(math.erf), "erfc": _by_math(math.erfc), "lgamma": _by_math(math.lgamma),
    "tgamma": _by_math(math.gamma), "rsqrt": lambda x: 1 / np.sqrt(x), "exp10": lambda x: np.power(10.0, x),
    "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), "fma": lambda x, y, z: x * y + z,
    "finitef": np.isfinite, "isfinited": np.isfinite, "signbit": np.signbit,
    "fast_expf": np.exp, "fast_logf": np.log, "fast_log2f": np.log2, "fast_log10f": np.log10, "fast_sinf": np.sin,
    "fast_cosf": np.cos, "fast_tanf": np.tan, "fast_tanhf": np.tanh, "fast_powf": np.power,
    "fast_dividef": np.divide, "div_rn": np.divide, "mul_rn": np.multiply, "add_rn": np.add, "sub_rn": np.subtract,
    "sqrt_rn": np.sqrt, "rcp_rn": np.reciprocal, "rsqrt_rn": lambda x: 1 / np.sqrt(x),
}  # fmt: skip
_TO_INTEGER = ("isinf", "isnan", "finitef", "isfinited", "signbit")


def add_libdevice(language: InterpretedLanguage) -> None:
    """Swap the functions of every libdevice module this Triton has."""
    for path in ("extra.libdevice", "extra.cuda.libdevice", "extra.hip.libdevice"):
        try:
            module = importlib.import_module("triton.language." + path)
        except ImportError:
            continue
        names = [name for name, member in vars(module).items() if callable(member) and name.islower()]
        language.also(module, {name: _make(language, name) for name in names})


def _make(language: InterpretedLanguage, name: str) -> Callable[..., Any]:
    interpreter = language.interpreter
    function = _FUNCTIONS.get(name)

    def call(*arguments: Any, **_: Any) -> Any:
        if function is None:
            raise NotImplementedError(f"libdevice.{name} is not known offline")
        tl = interpreter.tl
        tensors = [argument for argument in arguments if isinstance(argument, tl.tensor)]
        values = [
            argument.handle.data if isinstance(argument, tl.tensor) else argument for argument in arguments
        ]
        dtype = tl.int32 if name in _TO_INTEGER else tensors[0].dtype
        data = np.asarray(function(*values)).astype(interpreter._get_np_dtype(dtype))
        blocks = [tensor.type for tensor in tensors if tensor.type.is_block()]
        type_ = tl.block_type(dtype, blocks[0].shape) if blocks else dtype
        return tl.tensor(interpreter.TensorHandle(data, dtype), type_)

    return call
