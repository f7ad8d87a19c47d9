"""Arguments as JSON: what a launch passed and how Triton classified it. Keeps no tensor alive, asks no device."""

from __future__ import annotations

import hashlib
import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

LONGEST_TEXT = 120
"""Characters of a repr or string that are kept; the rest is a digest, so that different values stay different."""


def describe(value: Any) -> Any:
    """JSON form of an argument's value, as documented at ``jitwatch.events.Argument``."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"repr": repr(value)}
    if isinstance(value, str):
        return value if len(value) <= LONGEST_TEXT else {"repr": _shortened(value)}
    if hasattr(value, "data_ptr") and hasattr(value, "dtype"):
        return _tensor(value)
    if hasattr(value, "block_shape") and hasattr(value, "base"):
        return {
            "descriptor": _dtype_name(getattr(value.base, "dtype", "?")),
            "shape": [describe(n) for n in getattr(value, "shape", ())],
            "block": [describe(n) for n in value.block_shape],
        }
    if isinstance(value, (tuple, list)):
        return [describe(item) for item in value]
    if type(value).__name__ == "constexpr" and hasattr(value, "value"):
        return describe(value.value)
    if hasattr(value, "fn") and hasattr(value, "arg_names"):  # a jit function passed as an argument
        return {"repr": getattr(value, "__qualname__", None) or getattr(value, "__name__", "jit function")}
    return {"repr": _shortened(str(value) if type(value).__module__.startswith("triton") else repr(value))}


def _tensor(value: Any) -> dict[str, Any]:
    described: dict[str, Any] = {"tensor": _dtype_name(value.dtype)}
    try:
        described["shape"] = [int(n) for n in value.shape]
        described["mod16"] = int(value.data_ptr()) % 16
        described["bytes"] = int(value.untyped_storage().nbytes())
    except Exception:  # noqa: BLE001  fake and symbolic tensors have no address, Triton's MockTensor no shape or storage
        described.setdefault("shape", None)
    return described


def grid(value: Any) -> list[int] | None:
    """Programs along each axis of a grid, or None: a function that is still to be called, something symbolic."""
    if not isinstance(value, (tuple, list)) or not value or not all(isinstance(each, int) for each in value):
        return None
    return [int(each) for each in value]


def _dtype_name(dtype: Any) -> str:
    return str(dtype).replace("torch.", "")


def _shortened(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]}… #{hashlib.blake2b(text.encode(), digest_size=4).hexdigest()}"


def arguments(specialization: Iterable[Any], values: Mapping[str, Any]) -> list[list[Any]]:
    """``[type, spec, value]`` of every argument, from the launch's own ``specialization`` list (Triton 3.3 on).

    `values` are the bound arguments by name, in parameter order. A trailing plain string (a custom pipeline, 3.7 on)
    belongs to no argument and is left out.
    """
    pairs = [pair for pair in specialization if isinstance(pair, (tuple, list))]
    return [_argument(pair[0], pair[1], value) for pair, value in zip(pairs, values.values())]


def _argument(kind: Any, spec: Any, value: Any) -> list[Any]:
    described = describe(value)
    return [_plain(kind), described if kind == "constexpr" else _plain(spec), described]


def _plain(text: Any) -> Any:
    """Types and specs of tuples are tuples; JSON has lists."""
    if isinstance(text, (tuple, list)):
        return [_plain(item) for item in text]
    return text if text is None or isinstance(text, (str, int)) else describe(text)


def arguments_before_3_3(
    params: Iterable[Any], info: Mapping[str, Any], values: Mapping[str, Any]
) -> list[list[Any]]:
    """The same from what the hooks of 3.0 to 3.2 are given: a signature by name and one descriptor of attributes."""
    signature, constants, attributes = info["signature"], info["constants"], info["configs"][0]
    properties = getattr(attributes, "arg_properties", None)  # 3.2
    if properties is None:  # 3.0, 3.1
        properties = {"tt.divisibility": attributes.divisible_by_16, "tt.equal_to": attributes.equal_to_1}
    divisible = set(properties.get("tt.divisibility", ()))
    small = set(properties.get("tt.pointer_range", ()))
    folded = set(properties.get("tt.equal_to", ()))
    described = []
    for param in params:
        value = values.get(param.name, constants.get(param.name))
        if param.is_constexpr or param.num in folded or (value is None and param.name in values):
            described.append(_argument("constexpr", value, value))
            continue
        kind = signature.get(param.name, "?")
        spec = None
        if not param.do_not_specialize and not str(kind).startswith(("fp", "bf")):
            spec = ("D" if param.num in divisible else "") + ("S" if param.num in small else "")
        described.append([kind, spec, describe(value)])
    return described


def arguments_from_compile(info: Mapping[str, Any]) -> list[list[Any]]:
    """The same from what the hooks of 3.3 and later are given, without values: for ``preload``, which binds none.

    ``constants`` and ``configs[0]`` are by path: ``(2,)`` the third argument, ``(2, 0)`` that tuple's first element.
    """
    constants, attributes = info["constants"], info["configs"][0]
    return [
        _from_paths(kind, (position,), constants, attributes)
        for position, kind in enumerate(info["signature"].values())
    ]


def _from_paths(
    kind: Any, path: tuple[int, ...], constants: Mapping[Any, Any], attributes: Mapping[Any, Any]
) -> list[Any]:
    if isinstance(kind, (tuple, list)):
        parts = [_from_paths(item, (*path, i), constants, attributes) for i, item in enumerate(kind)]
        return [[part[i] for part in parts] for i in range(3)]
    if kind == "constexpr":
        return _argument(kind, constants.get(path), constants.get(path))
    known = attributes.get(path)
    if known is None:
        return [kind, None, None]
    letters = {"tt.divisibility": "D", "tt.pointer_range": "S"}
    return [kind, "".join(letters.get(name, "") for name, _ in known), None]
