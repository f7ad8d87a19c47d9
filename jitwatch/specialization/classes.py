"""The specialization class of one argument: a normal form of Triton's ``(type, spec)``, and its word."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

Value: TypeAlias = bool | int | float | str | list[Any] | Mapping[str, Any] | None
"""A launch argument as the event file writes it (see ``jitwatch.events.Argument``)."""

INTEGER = re.compile(r"[iu](8|16|32|64)$")
BOOLEANS = ("i1", "u1")
FOLDED = "constexpr"
TUPLE = "tuple"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a kernel, as declared."""

    name: str
    constexpr: bool = False
    no_specialize: bool = False
    """Listed in ``do_not_specialize``."""
    no_alignment: bool = False
    """Listed in ``do_not_specialize_on_alignment``."""
    annotation: str | None = None
    """The annotation that fixes its type (``i32``), or None."""


class ArgumentClass(NamedTuple):
    """What one argument contributes to the cache key. Equal classes never cause a compile.

    A named tuple, not a dataclass: attribution compares millions of them, 4 times faster so.
    """

    type: str
    """Triton's word (``i32``, ``*fp32``), ``constexpr`` for a folded value, ``tuple``."""
    spec: str | None = None
    """``D``, ``S``, ``DS``, empty, ``1`` (a 1 told apart but kept), or None: not specialised."""
    folded: str | None = None
    """JSON text of the value compiled in, of a constexpr, a 1 or a None. Text, since ``1 == True == 1.0``."""
    elements: tuple[ArgumentClass, ...] = ()

    @property
    def is_integer(self) -> bool:
        """An integer, a folded 1 among them."""
        return bool(INTEGER.match(self.type)) or (self.type == FOLDED and self.folded == "1")

    @property
    def is_pointer(self) -> bool:
        """A tensor."""
        return self.type.startswith("*")

    @property
    def is_none(self) -> bool:
        """None, which Triton compiles in."""
        return self.type == FOLDED and self.folded == "null"

    def word(self, parameter: Parameter | None = None, *, typed: bool = False) -> str:
        """Short word for a reader.

        A folded 1 and a constexpr 1 are one class but two words, so `parameter` matters. `typed` names the
        type even where it is the usual one (``i32 ÷16``, ``*bf16 aligned``).
        """
        if self.type == TUPLE:
            inner = ", ".join(element.word(typed=typed) for element in self.elements)
            return f"({inner},)" if len(self.elements) == 1 else f"({inner})"
        if self.type == FOLDED:
            return self._folded_word(parameter)
        if self.is_pointer:
            return self._pointer_word(typed)
        if self.type in BOOLEANS:
            return {"D": "False", None: "bool"}.get(self.spec, "True")
        if self.is_integer:
            fact = {"D": "÷16", "": "other", "1": "=1", None: "any"}[self.spec]
            return f"{self.type} {fact}" if typed or self.type != "i32" else fact
        if self.type.startswith("tensordesc<"):
            return f"descriptor {self.type[len('tensordesc<') :].rstrip('>')}"
        return self.type

    def _folded_word(self, parameter: Parameter | None) -> str:
        assert self.folded is not None
        if self.folded == "1" and not (parameter and parameter.constexpr):
            return "=1"
        return show_value(unfold(self.folded))

    def _pointer_word(self, typed: bool) -> str:
        if self.spec is None:
            return self.type
        alignment = "aligned" if "D" in self.spec else "unaligned"
        small = " ≤2 GiB" if "S" in self.spec else ""
        return f"{self.type} {alignment}{small}" if typed else alignment + small


@lru_cache(maxsize=1 << 16)
def unfold(text: str) -> Any:
    """The value that was folded; kept, as each is asked for by every remedy and shown before and after."""
    return json.loads(text)


def fold(value: Any) -> ArgumentClass:
    """Class of a value that Triton compiles in."""
    return ArgumentClass(FOLDED, folded=json.dumps(value, sort_keys=True))


def read_class(type_: Any, spec: Any) -> ArgumentClass:
    """Normal form of an event's ``type`` and ``spec``. Raises ValueError when they are no such thing."""
    if type_ == FOLDED:
        return fold(spec)
    if isinstance(type_, (list, tuple)):
        specs = spec if isinstance(spec, (list, tuple)) else [None] * len(type_)
        return ArgumentClass(TUPLE, elements=tuple(map(read_class, type_, specs)))
    if not isinstance(type_, str) or not (spec is None or spec in ("D", "", "S", "DS", "1", 1)):
        raise ValueError(f"not an argument class: {type_!r}, {spec!r}")
    return ArgumentClass(type_, spec if spec is None else str(spec))


def show_value(value: Value) -> str:
    """A value as a reader writes it; tensors by dtype and shape."""
    if isinstance(value, Mapping):
        if "tensor" in value:
            return f"{value['tensor']}{value.get('shape') or ''}"
        if "descriptor" in value:
            return f"{value['descriptor']} block {value.get('block', '')}"
        return shorten(str(value.get("repr", dict(value))))
    if isinstance(value, list):
        return "(" + ", ".join(map(show_value, value)) + ("," if len(value) == 1 else "") + ")"
    return shorten(value) if isinstance(value, str) else str(value)


def shorten(text: str, limit: int = 40) -> str:
    """One line of at most `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
