"""Argument classes without a run: written by the user, or guessed from the source.

A signature is text: ``x=*bf16:16, n=i32, m=4096, stride=i32:1, BLOCK=1024``. After the equals sign a type, with
``:16`` for divisible (a pointer: aligned) and ``:1`` for the value 1; or a value, which is classified as a launch
would.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jitwatch.errors import JitwatchError
from jitwatch.source.model import BoundLaunch, Contiguity, Kernel, Origin, Role
from jitwatch.source.names import names_pointer
from jitwatch.specialization import ArgumentClass, Parameter, classify, traits_of
from jitwatch.specialization.classes import fold

TYPED = re.compile(r"(\*?[a-z]+\d*[a-z]*\d*|\*?fp8e\w+)(?::(16|1))?$")
TYPES = re.compile(r"\*?(i1|u1|[iu](8|16|32|64)|fp(16|32|64)|bf16|fp8\w*)$")
INTEGER_ANNOTATION = re.compile(r"(?:\w+\.)*u?int(8|16|32|64)$")
INDEX_NAME = re.compile(
    r"ids?(_|$)|idx|indic|index|offset|table|lens?(_|$)|length|slot|position|(^|_)cu_|expert", re.I
)
SCALAR_NAME = re.compile(
    r"eps|scale|alpha|beta|theta|softcap|(^|_)p$|lr$|decay|temperature|momentum|base$", re.I
)
SWITCH_NAME = re.compile(
    r"^(is|has|use|do|enable|with|add|apply|return|need|save|causal|reverse|trans)", re.I
)
DTYPE_NAME = re.compile(r"dtype|(^|_)type$", re.I)

ALIGNED, DIVISIBLE = "D", ArgumentClass("i32", "D")


@dataclass(frozen=True)
class Guess:
    """What stands in for what nothing tells."""

    dtype: str
    """Of the data that pointers point to."""
    line: int
    """Size of the block of a kernel that has one: 1024 gives each of 128 threads 8 elements, a full vector."""
    tile: int
    """Size of each block of a kernel that has several."""
    switches: bool = True
    """Of flags: on, since what they guard would be no part of the code."""


GUESSES = (
    Guess("bf16", 1024, 64),
    Guess("bf16", 1024, 64, switches=False),
    Guess("fp32", 1024, 64),
    Guess("fp16", 256, 32, switches=False),
    Guess("fp32", 64, 16),
    Guess("i32", 128, 16),
)
"""To try in this order; the first that compiles is taken."""


def parse_signature(text: str, parameters: Sequence[Parameter]) -> dict[str, ArgumentClass]:
    """Classes that a signature's text gives, by parameter. Raises JitwatchError."""
    known = {parameter.name: parameter for parameter in parameters}
    given: dict[str, ArgumentClass] = {}
    for part in filter(None, map(str.strip, _split(text))):
        name, equals, value = (word.strip() for word in part.partition("="))
        if not equals or name not in known:
            raise JitwatchError(
                f"--signature: {part!r} is no NAME=TYPE of this kernel; its parameters are {', '.join(known)}"
            )
        given[name] = _parse_class(value, known[name], part)
    return given


def _split(text: str) -> list[str]:
    """At commas outside brackets."""
    return re.split(r",(?![^(\[]*[)\]])", text)


def _parse_class(text: str, parameter: Parameter, part: str) -> ArgumentClass:
    typed = TYPED.match(text)
    if typed and TYPES.match(typed[1]) and not parameter.constexpr:
        return _typed_class(typed[1], typed[2])
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        value = {"repr": text}
    if parameter.constexpr:
        return fold(list(value) if isinstance(value, tuple) else value)
    try:
        return classify(value, parameter, traits_of(""))
    except (TypeError, KeyError):
        raise JitwatchError(
            f"--signature: {part!r} is neither a type (*bf16:16, i32, i32:16, i32:1, fp32) nor a value"
        ) from None


def _typed_class(type_: str, fact: str | None) -> ArgumentClass:
    if fact == "1":
        return fold(1)
    specialised = type_.startswith("*") or re.fullmatch(r"[iu](8|16|32|64)", type_)
    return ArgumentClass(type_, ("D" if fact else "") if specialised else None)


def guess_classes(
    kernel: Kernel, parameters: Sequence[Parameter], launches: Sequence[BoundLaunch], guess: Guess
) -> dict[str, ArgumentClass]:
    """Classes a launch of this kernel could have: what its launches spell out, else by role and name."""
    literal = _literals(launches)
    blocks = [each for each in kernel.parameters if each.is_constexpr and Role.SHAPE in each.roles]
    block = guess.tile if len(blocks) > 1 else guess.line
    return {each.name: _guess_class(kernel, each, literal, guess, block) for each in parameters}


def _guess_class(
    kernel: Kernel, parameter: Parameter, literal: Mapping[str, Any], guess: Guess, block: int
) -> ArgumentClass:
    declared = kernel.parameter(parameter.name)
    assert declared is not None
    name = parameter.name
    if parameter.constexpr:
        return fold(literal.get(name, _guess_constant(name, declared.default, declared.roles, guess, block)))
    if Role.POINTER in declared.roles or names_pointer(name):
        return ArgumentClass(f"*{'i64' if INDEX_NAME.search(name) else guess.dtype}", ALIGNED)
    if Contiguity.UNIT in declared.contiguity:
        return fold(1)
    if parameter.annotation:
        return ArgumentClass(parameter.annotation, None if parameter.no_specialize else "D")
    integer = declared.roles & (Role.ADDRESS | Role.STRIDE | Role.COMPARED | Role.LOOP | Role.DIVISOR)
    if not integer and SCALAR_NAME.search(name):
        return ArgumentClass("fp32")
    return ArgumentClass("i32", None) if parameter.no_specialize else DIVISIBLE


def _guess_constant(name: str, default: str | None, roles: Role, guess: Guess, block: int) -> Any:
    if default is not None:
        try:
            return ast.literal_eval(default)
        except (ValueError, SyntaxError):
            pass
    if DTYPE_NAME.search(name):
        return {"repr": guess.dtype}
    if Role.SHAPE in roles:
        return block
    # A size that also chooses a branch must not be 0: everything it bounds would be dead code.
    return guess.switches if SWITCH_NAME.search(name) or roles == Role.BRANCH else block


def _literals(launches: Sequence[BoundLaunch]) -> dict[str, Any]:
    """Arguments that every launch which spells them out spells alike."""
    found: dict[str, set[str]] = {}
    for launch in launches:
        for name, value in launch.arguments.items():
            if value.origin is Origin.LITERAL:
                found.setdefault(name, set()).add(value.text)
    return {
        name: value for name, texts in found.items() if len(texts) == 1 for value in _evaluated(texts.pop())
    }


def _evaluated(text: str) -> list[Any]:
    try:
        value = ast.literal_eval(text)
        json.dumps(value)
    except (ValueError, SyntaxError, TypeError):
        return []
    return [value]
