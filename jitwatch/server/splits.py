"""The specialization classes that a parameter's values fall into, by Triton's own rules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from jitwatch.source import model
from jitwatch.source.lengths import ON_ALIGNMENT, OPT_OUT
from jitwatch.source.model import Kernel, Role
from jitwatch.source.names import names_pointer
from jitwatch.specialization import Parameter, Traits, Value, classify

INTEGER = re.compile(
    r"['\"]?(?:\w+\.)*(?:(?P<sign>u?)int(?P<width>8|16|32|64)?|(?P<short>[iu](?:8|16|32|64)))['\"]?$"
)
"""``tl.int32``, ``int``, ``"i64"``."""

INTEGERS: tuple[Value, ...] = (1, 16, 2)
TENSORS: tuple[Value, ...] = ({"tensor": "float32", "mod16": 0}, {"tensor": "float32", "mod16": 4})
"""A value of each class there may be."""

INTEGER_USES = (
    Role.LOOP | Role.SHAPE | Role.ADDRESS | Role.STRIDE | Role.DESCRIPTOR | Role.COMPARED | Role.DIVISOR
)

NUMBERS = ("no", "one", "two", "three")


@dataclass(frozen=True)
class Split:
    """How the values of one parameter are told apart."""

    subject: str
    """``a plain int``, ``an int of type `i64```, ``a pointer``."""
    words: tuple[str, ...]
    """Of its classes."""
    listed: str | None = None
    """The list of the kernel that names it."""
    others: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Lists that could name it, and the classes it would have then."""
    maybe_float: bool = False
    """Nothing the kernel does with it needs an integer."""

    def __str__(self) -> str:
        listed = f", listed in `{self.listed}`" if self.listed else ""
        others = "".join(f"; listed in `{name}`: {counted(words)}" for name, words in self.others)
        floating = "; a float: one class" if self.maybe_float else ""
        return f"{self.subject}{listed}: {counted(self.words)}{others}{floating}"


def counted(words: tuple[str, ...]) -> str:
    """``three classes: =1, ÷16, other``."""
    noun = "class" if len(words) == 1 else "classes"
    return f"{NUMBERS[len(words)]} {noun}" + (f": {', '.join(words)}" if len(words) > 1 else "")


def split(kernel: Kernel, parameter: model.Parameter) -> Split:
    """The classes of a run-time parameter: a pointer by its role or name, else an int."""
    declared = _declared(kernel, parameter)
    pointer = is_pointer(parameter)
    values = TENSORS if pointer else INTEGERS
    listed = OPT_OUT if declared.no_specialize else ON_ALIGNMENT if declared.no_alignment else None
    integer = f"an int of type `{declared.annotation}`" if declared.annotation else "a plain int"
    subject = "a pointer" if pointer else integer
    maybe_float = not pointer and declared.annotation is None and not parameter.roles & INTEGER_USES
    others = tuple(_others(declared, values, pointer))
    return Split(subject, _words(declared, values), listed, others, maybe_float)


def is_pointer(parameter: model.Parameter) -> bool:
    """Whether a parameter takes a tensor."""
    return Role.POINTER in parameter.roles or names_pointer(parameter.name)


def _others(
    declared: Parameter, values: Iterable[Value], pointer: bool
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what the lists that do not name it would make of it; for a pointer they are the same."""
    if declared.no_specialize:
        return
    if not pointer:
        yield OPT_OUT, _words(replace(declared, no_specialize=True), values)
    if not declared.no_alignment:
        yield ON_ALIGNMENT, _words(replace(declared, no_alignment=True), values)


def _words(declared: Parameter, values: Iterable[Value]) -> tuple[str, ...]:
    classes = dict.fromkeys(classify(value, declared, Traits()) for value in values)
    return tuple(klass.word(declared).removeprefix(f"{declared.annotation} ") for klass in classes)


def _declared(kernel: Kernel, parameter: model.Parameter) -> Parameter:
    def named(keyword: str) -> bool:
        return any(each.name == parameter.name for each in kernel.listed(keyword))

    return Parameter(
        parameter.name,
        parameter.is_constexpr,
        named(OPT_OUT),
        named(ON_ALIGNMENT),
        _integer_type(parameter.annotation or ""),
    )


def _integer_type(annotation: str) -> str | None:
    """The type that an annotation fixes, in Triton's word."""
    found = INTEGER.match(annotation)
    if not found:
        return None
    return found["short"] or f"{'u' if found['sign'] else 'i'}{found['width'] or 32}"
