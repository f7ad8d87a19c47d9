"""Which class a value falls into, by Triton release."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from jitwatch.specialization.classes import TUPLE, ArgumentClass, Parameter, Value, fold

SMALL = 2**31 - 1
"""AMD's buffer instructions take 32-bit offsets: storage up to this many bytes is its own class."""


@dataclass(frozen=True)
class Traits:
    """What a Triton release does with arguments, by capability. The defaults are those of 3.6 and later."""

    bool_word: str = "u1"
    bool_splits: bool = False
    """True and False are two classes (to 3.2), since Python's bools are ints."""
    true_is_one: bool = False
    """... and True passes for 1 (to 3.1)."""
    alignment_list: bool = True
    """``do_not_specialize_on_alignment`` exists."""
    annotation_text: bool = True
    """Annotations other than ``tl.int32`` and its like (``int``, ``"i32"``, ``tl.float32``) count too."""
    tuples: bool = True
    descriptors: bool = True
    small_pointers: bool = True
    """AMD pointers to at most 2 GiB are told apart unless ``AMDGCN_USE_BUFFER_OPS=0``."""


_V36 = Traits()
_V34 = replace(_V36, small_pointers=False)
_V33 = replace(_V34, bool_word="i1", annotation_text=False, descriptors=False)
_V32 = replace(_V33, bool_splits=True, tuples=False, small_pointers=True)
_V30 = replace(_V32, true_is_one=True, alignment_list=False, small_pointers=False)

RELEASES: dict[tuple[int, int], Traits] = {
    (3, 0): _V30,
    (3, 1): _V30,
    (3, 2): _V32,
    (3, 3): _V33,
    (3, 4): _V34,
    (3, 5): _V34,
    (3, 6): _V36,
    (3, 7): _V36,
    (3, 8): _V36,
    (3, 9): _V36,
}


def traits_of(version: str) -> Traits:
    """Traits of a version such as ``3.4.0+git``: of its release, else of the nearest older one known."""
    wanted = release_of(version)
    known = [release for release in RELEASES if release <= wanted]
    return RELEASES[max(known, default=min(RELEASES))]


def release_of(version: str) -> tuple[int, int]:
    """Major and minor of a version; of one that cannot be read, the latest known."""
    match = re.match(r"(\d+)\.(\d+)", version)
    return (int(match[1]), int(match[2])) if match else max(RELEASES)


def classify(value: Value, parameter: Parameter, traits: Traits, backend: str = "cuda") -> ArgumentClass:
    """Class of `value` (as the event file writes it) passed for `parameter` on a ``cuda`` or ``hip`` target.

    Raises TypeError for a value that release does not take, as its binder does.
    """
    if parameter.constexpr:
        return fold(value)
    natural = _natural(value, parameter, traits, backend)
    if parameter.annotation is None or (natural.is_none and not traits.tuples):
        return natural
    return _annotated(natural, parameter, traits)


def _annotated(natural: ArgumentClass, parameter: Parameter, traits: Traits) -> ArgumentClass:
    """The annotation replaces the type and keeps the spec: a 1 stays a class of its own, not folded."""
    assert parameter.annotation is not None
    floating = parameter.annotation == "u1" or parameter.annotation[:2] in ("fp", "bf")
    if traits.annotation_text and floating:
        return ArgumentClass(parameter.annotation)
    spec = natural.folded if natural.folded == "1" else natural.spec
    return ArgumentClass(parameter.annotation, spec)


def _natural(value: Value, parameter: Parameter, traits: Traits, backend: str) -> ArgumentClass:
    if value is None:
        return fold(None)
    if isinstance(value, bool):
        return ArgumentClass(traits.bool_word, _bool_spec(value, parameter, traits))
    if isinstance(value, int):
        return integer_class(value, parameter)
    if isinstance(value, float):
        return ArgumentClass("fp32")
    if isinstance(value, list) and traits.tuples:
        # Triton applies neither list of opt-outs to the elements of a tuple (3.3 to 3.9).
        element = Parameter(parameter.name)
        parts = (_natural(each, element, traits, backend) for each in value)
        return ArgumentClass(TUPLE, elements=tuple(parts))
    if isinstance(value, Mapping) and "tensor" in value:
        return _pointer(value, parameter, traits, backend)
    if isinstance(value, Mapping) and "descriptor" in value and traits.descriptors:
        return ArgumentClass(f"tensordesc<{DTYPES[value['descriptor']]}{list(value['block'])}>")
    raise TypeError(f"{parameter.name}: this Triton takes no argument like {value!r}")


def integer_class(value: int, parameter: Parameter) -> ArgumentClass:
    """The class of a Python int."""
    if value == 1 and not parameter.no_specialize:
        return fold(1)
    return ArgumentClass(integer_type(value), _alignment(value, parameter))


def integer_type(value: int) -> str:
    """``i32``, ``i64`` or ``u64``: the type Triton gives an int that no annotation fixes."""
    if -(2**31) <= value < 2**31:
        return "i32"
    return "u64" if 2**63 <= value < 2**64 else "i64"


def _alignment(address: int, parameter: Parameter) -> str | None:
    if parameter.no_specialize:
        return None
    return "D" if address % 16 == 0 and not parameter.no_alignment else ""


def _bool_spec(value: bool, parameter: Parameter, traits: Traits) -> str | None:
    if not traits.bool_splits or parameter.no_specialize:
        return None
    return "1" if value and traits.true_is_one else _alignment(value, parameter)


def _pointer(tensor: Mapping[str, Any], parameter: Parameter, traits: Traits, backend: str) -> ArgumentClass:
    spec = _alignment(tensor["mod16"], parameter)
    if spec is not None and backend == "hip" and traits.small_pointers and _storage(tensor) <= SMALL:
        spec += "S"
    return ArgumentClass(f"*{DTYPES[tensor['tensor']]}", spec)


def _storage(tensor: Mapping[str, Any]) -> int:
    """Bytes of a tensor's storage, which is what Triton asks; in older event files those of the tensor itself."""
    if "bytes" in tensor:
        return int(tensor["bytes"])
    elements: int = math.prod(tensor.get("shape", ()))
    return elements * WIDTHS.get(DTYPES[tensor["tensor"]], 8)


DTYPES = {
    "bool": "i1",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e5m2": "fp8e5",
    "float8_e4m3fnuz": "fp8e4b8",
    "float8_e5m2fnuz": "fp8e5b16",
    "float16": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float64": "fp64",
}
"""torch's name of a dtype to Triton's."""

WIDTHS = {"i1": 1, "i8": 1, "u8": 1, "i16": 2, "u16": 2, "fp16": 2, "bf16": 2, "i32": 4, "u32": 4, "fp32": 4}
