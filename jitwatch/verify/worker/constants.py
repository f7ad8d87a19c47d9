"""Rebuilds compile-time values from what the event file could keep of them."""

from __future__ import annotations

import re
from typing import Any

ENUM = re.compile(r"<(\w+)\.(\w+): .*>")


class Unbuildable(Exception):
    """A value that only the program itself can make; the message names it."""


def rebuild(value: Any, function: Any) -> Any:
    """A constexpr's value from its JSON form; `function` is the JITFunction, whose module is searched for names.

    Raises Unbuildable.
    """
    if isinstance(value, list):
        return tuple(rebuild(item, function) for item in value)
    if not isinstance(value, dict):
        return value
    if "repr" not in value:
        raise Unbuildable(f"a value like {value} cannot be rebuilt")
    return _from_text(value["repr"], function)


def _from_text(text: str, function: Any) -> Any:
    import triton.language as tl

    if text in ("inf", "-inf", "nan"):
        return float(text)
    space = vars(function.fn).get("__globals__") or function.fn.__globals__
    last = text.rpartition(".")[2]
    dtype = getattr(tl, _DTYPES.get(last, last), None)
    if isinstance(dtype, tl.dtype):
        return _torch_dtype(last) if text.startswith("torch.") else dtype
    member = ENUM.match(text)
    if member and member[1] in space:
        return getattr(space[member[1]], member[2])
    if hasattr(space.get(last), "cache_key"):  # a jitted function, passed as an argument
        return space[last]
    raise Unbuildable(f"the compile-time value {text} cannot be rebuilt outside the program")


_DTYPES = {
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "fp64": "float64",
    "fp8e4nv": "float8e4nv",
    "fp8e5": "float8e5",
    "fp8e4b8": "float8e4b8",
    "fp8e4b15": "float8e4b15",
    "fp8e5b16": "float8e5b16",
    "i1": "int1",
    "float8_e4m3fn": "float8e4nv",
    "float8_e5m2": "float8e5",
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
}
"""Short names that dtypes print as, to names in ``triton.language``."""


def _torch_dtype(name: str) -> Any:
    import torch

    return getattr(torch, name)
