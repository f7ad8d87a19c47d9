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
from jitwatch.source.access import innermost_strides
from jitwatch.source.model import BoundLaunch, Contiguity, Kernel, Origin, Role
from jitwatch.source.model import Parameter as Declared
from jitwatch.source.names import NameHint, hint, names_pointer
from jitwatch.specialization import ArgumentClass, Parameter, classify, traits_of
from jitwatch.specialization.classes import fold
from jitwatch.verify.uses import Use, Uses

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

DATA_NAME = re.compile(r"weight|scale|bias|logit|prob|score|cache|(^|_)(kv|q|k|v)_ptr", re.I)
"""What is no index, although its name has a word of one: ``expert_weights``."""
BLOCK_NAME = re.compile(r"(BLOCK|TILE)(_|$)", re.I)

ALIGNED, DIVISIBLE = "D", ArgumentClass("i32", "D")
INTEGER_ROLES = Role.ADDRESS | Role.STRIDE | Role.COMPARED | Role.LOOP | Role.DIVISOR
UNROLLED = 2
"""Turns of an unrolled loop: each is compiled."""
EPSILON = 1e-6


@dataclass(frozen=True)
class Guess:
    """What stands in for what nothing tells."""

    dtype: str
    """Of the data that pointers point to."""
    line: int
    """Size of the block of a kernel that has one: 1024 gives each of 128 threads 8 elements, a full vector."""
    tile: int
    """Size of each block of a kernel that has several."""
    index: str = "i64"
    """Of the indices that pointers point to."""
    switches: bool = True
    """Of flags: on, since what they guard would be no part of the code."""


GUESSES = (
    Guess("bf16", 1024, 64),
    Guess("bf16", 1024, 64, switches=False),
    Guess("fp32", 1024, 64),
    Guess("bf16", 1024, 64, "i32"),
    Guess("fp16", 256, 32, switches=False),
    Guess("fp32", 64, 16),
    Guess("i32", 128, 16, "i32"),
    Guess("u8", 128, 64),
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
    kernel: Kernel,
    parameters: Sequence[Parameter],
    launches: Sequence[BoundLaunch],
    guess: Guess,
    uses: Uses | None = None,
) -> dict[str, ArgumentClass]:
    """Classes a launch of this kernel could have: what its launches spell out, else by use, role and name."""
    guesser = _Guesser(kernel, _literals(launches), guess, uses or Uses())
    return {each.name: guesser.classify(each) for each in parameters}


class _Guesser:
    """Guesses the classes of one kernel's arguments."""

    def __init__(self, kernel: Kernel, literal: Mapping[str, Any], guess: Guess, uses: Uses) -> None:
        self.kernel, self.literal, self.guess, self.uses = kernel, literal, guess, uses
        blocks = [each.name for each in kernel.parameters if each.is_constexpr and self._is_block(each)]
        self.block = guess.tile if len(blocks) > 1 else guess.line
        self.inner = innermost_strides([each.name for each in kernel.parameters])

    def classify(self, parameter: Parameter) -> ArgumentClass:
        """Class of one argument."""
        declared = self.kernel.parameter(parameter.name)
        assert declared is not None
        name, use = parameter.name, self.uses.of[parameter.name]
        if parameter.constexpr:
            return fold(self.literal.get(name, self._constant(declared)))
        if self._is_pointer(declared):
            return ArgumentClass(f"*{self._element(name)}", ALIGNED)
        if Contiguity.UNIT in declared.contiguity:
            return fold(1)
        if parameter.annotation:
            return ArgumentClass(parameter.annotation, None if parameter.no_specialize else "D")
        integer = declared.roles & INTEGER_ROLES or Use.INTEGER in use or hint(name) is NameHint.STRIDE
        if not integer and SCALAR_NAME.search(name):
            return ArgumentClass("fp32")
        return ArgumentClass("i32", None) if parameter.no_specialize else DIVISIBLE

    def _is_pointer(self, declared: Declared) -> bool:
        if names_pointer(declared.name):
            return True
        use = self.uses.of[declared.name]
        if hint(declared.name) is NameHint.STRIDE or (Use.INTEGER in use and Use.POINTER not in use):
            return False
        return Use.POINTER in use or Role.POINTER in declared.roles

    def _element(self, name: str) -> str:
        use = self.uses.of[name]
        if Use.ADDRESS_ELEMENTS in use:
            return "i64"
        if Use.INTEGER_ELEMENTS in use:
            return self.guess.index
        if Use.BOOLEAN_ELEMENTS in use:
            return "i1"
        if INDEX_NAME.search(name) and not DATA_NAME.search(name):
            return self.guess.index
        return "i32" if Use.PACKED_ELEMENTS in use else self.guess.dtype

    def _is_block(self, declared: Declared) -> bool:
        """Whether a constexpr is a dimension of a tile, not only the count of an unrolled loop."""
        use = self.uses.of[declared.name]
        if Use.SIZE in use or BLOCK_NAME.match(declared.name):
            return True
        return Role.SHAPE in declared.roles and Use.UNROLLED not in use

    def _constant(self, declared: Declared) -> Any:
        """Value of a constexpr."""
        name, use = declared.name, self.uses.of[declared.name]
        if name in self.uses.asserted:
            return self.uses.asserted[name]
        for value in _evaluated(declared.default or "?"):
            return value
        words = [each for each in self.uses.compared.get(name, ()) if isinstance(each, str)]
        if words:
            return words[0]
        if DTYPE_NAME.search(name):
            return {"repr": self.guess.dtype}
        if self._is_block(declared):
            return self.block
        numbers = [each for each in self.uses.compared.get(name, ()) if type(each) is int]
        if len(numbers) > 1:
            return max(numbers)
        if Use.UNROLLED in use:
            return UNROLLED
        if name in self.inner:
            return 1
        if not declared.roles & (INTEGER_ROLES | Role.BRANCH) and SCALAR_NAME.search(name):
            return EPSILON
        # A size that also chooses a branch must not be 0: everything it bounds would be dead code.
        return self.guess.switches if self._is_switch(declared) else self.block

    @staticmethod
    def _is_switch(declared: Declared) -> bool:
        return bool(SWITCH_NAME.search(declared.name)) or declared.roles == Role.BRANCH


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
