"""A compiled version of a kernel, and the difference between two of them in words."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import ne
from typing import Any, NamedTuple

from jitwatch.specialization.classes import FOLDED, TUPLE, ArgumentClass, Parameter, Value, show_value

Options = tuple[tuple[str, str], ...]
"""Launch options in the order passed: name and JSON text of the value."""

DEFAULTS = {
    "num_warps": "4",
    "num_ctas": "1",
    "num_stages": "3",
    "maxnreg": "null",
    "enable_fp_fusion": "true",
    "launch_cooperative_grid": "false",
    "debug": "false",
}
"""What Triton's CUDA backend takes when an option is not passed. Passing it is another key, the same code."""


class Variant(NamedTuple):
    """An entry of Triton's in-memory cache."""

    function: int
    """The JITFunction object, by its number in the process."""
    device: str
    arguments: tuple[ArgumentClass, ...]
    options: Options
    effective: str | None = None
    """Digest of the options with the defaults filled in, where Triton told them."""


class Subject(enum.Enum):
    """What changed between two variants."""

    ARGUMENT = "argument"
    OPTION = "option"
    SPELLING = "option_spelling"
    DEVICE = "device"
    FUNCTION = "function"
    CACHE = "cache"
    """Nothing differs: the in-memory cache was emptied, or an earlier attempt failed."""
    UNSEEN = "unseen"
    """The keys differ in something the events do not carry."""


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between an earlier variant and the one that was missed."""

    subject: Subject
    name: str
    """Of the argument (``strides[1]`` for an element of a tuple) or option."""
    parameter: str | None = None
    """The kernel parameter it belongs to, for arguments."""
    before: str = ""
    """Class before, in words."""
    after: str = ""
    before_value: Value = None
    after_value: Value = None
    constexpr: bool = False
    """Of an argument: compiled in, so that each value is a class."""

    def words(self) -> str:
        """``num_tokens: 48 (÷16) → 62 (other)``; ``LEN: 64 → 65 (constexpr)``."""
        if self.subject is Subject.ARGUMENT:
            before = _with_class(self.before_value, self.before)
            suffix = " (constexpr)" if self.constexpr else ""
            return f"{self.name}: {before} → {_with_class(self.after_value, self.after)}{suffix}"
        if self.subject is Subject.OPTION:
            return f"{self.name}: {self.before} → {self.after}"
        if self.subject is Subject.SPELLING:
            return f"{self.before} → {self.after} (same options, spelled differently)"
        if self.subject is Subject.DEVICE:
            return f"device {self.before} → {self.after}"
        return NO_VALUES[self.subject]


NO_VALUES = {
    Subject.FUNCTION: "decorated again (a new function object)",
    Subject.CACHE: "the same variant again (Triton's in-memory cache was emptied)",
    Subject.UNSEEN: "something in Triton's key that was not recorded (a knob?)",
}


def _with_class(value: Value, word: str) -> str:
    if isinstance(value, Mapping):
        off = value.get("mod16")
        return f"{word} (address % 16 = {off})" if off and "unaligned" in word else word
    if value is None:
        return word  # None itself, or a preload, which binds no values
    shown = show_value(value)
    if shown == word:
        return shown
    return f"{shown} {word}" if word.startswith("(") else f"{shown} ({word})"


def read_options(options: Mapping[str, Any]) -> Options:
    """Options of an event, hashable, in the order passed."""
    return tuple((name, json.dumps(value, sort_keys=True)) for name, value in options.items())


def settle(options: Options) -> Options:
    """The options that reach the compiler: sorted, defaults left out."""
    return tuple(sorted(pair for pair in options if DEFAULTS.get(pair[0]) != pair[1]))


def distance(a: Variant, b: Variant) -> int:
    """Number of differing arguments and options; a spelling, the device and the object count one each."""
    differing: int = sum(map(ne, a.arguments, b.arguments))
    differing += (a.device != b.device) + (a.function != b.function)
    if a.options != b.options:
        differing += max(1, len(_option_names(a, b)))
    return differing


def _option_names(a: Variant, b: Variant) -> list[str]:
    """Options that reach the compiler with different values; none when only their spelling differs."""
    told = a.effective is not None and b.effective is not None
    if told and a.effective == b.effective:
        return []
    before, after = dict(settle(a.options)), dict(settle(b.options))
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    # Told to differ, but not by the defaults known here: those of another backend.
    return names or (sorted({name for name, _ in {*a.options} ^ {*b.options}}) if told else [])


def compare(
    before: Variant,
    after: Variant,
    parameters: Sequence[Parameter],
    before_values: Sequence[Value],
    after_values: Sequence[Value],
) -> tuple[Change, ...]:
    """Every difference between two variants of one kernel: arguments in declaration order, then the rest."""
    changes: list[Change] = []
    rows = zip(parameters, before.arguments, after.arguments, before_values, after_values, strict=False)
    for parameter, a, b, x, y in rows:
        if a is not b:  # classes of a run are interned: most are the same object
            changes += _argument_changes(parameter, parameter.name, a, b, x, y)
    changes += _option_changes(before, after)
    if before.device != after.device:
        changes.append(Change(Subject.DEVICE, "device", before=before.device, after=after.device))
    if before.function != after.function:
        changes.append(Change(Subject.FUNCTION, "function"))
    return tuple(changes)


def _argument_changes(
    parameter: Parameter, name: str, a: ArgumentClass, b: ArgumentClass, x: Value, y: Value
) -> Iterator[Change]:
    if a == b:
        return
    same_shape = a.type == b.type == TUPLE and len(a.elements) == len(b.elements)
    if same_shape and isinstance(x, list) and isinstance(y, list):
        element = Parameter(parameter.name)
        for i, (p, q, u, v) in enumerate(zip(a.elements, b.elements, x, y, strict=False)):
            yield from _argument_changes(element, f"{name}[{i}]", p, q, u, v)
        return
    typed = a.type != b.type and FOLDED not in (a.type, b.type)
    before, after = a.word(parameter, typed=typed), b.word(parameter, typed=typed)
    yield Change(Subject.ARGUMENT, name, parameter.name, before, after, x, y, parameter.constexpr)


def _option_changes(a: Variant, b: Variant) -> Iterator[Change]:
    if a.options == b.options:
        return
    names = _option_names(a, b)
    for name in names:
        yield Change(
            Subject.OPTION,
            name,
            before=_option(name, a.options),
            after=_option(name, b.options),
            before_value=_passed(name, a.options),
            after_value=_passed(name, b.options),
        )
    if not names:
        yield Change(Subject.SPELLING, "options", before=_spelled(a.options), after=_spelled(b.options))


def _passed(name: str, options: Options) -> Value:
    passed = dict(options).get(name)
    return None if passed is None else json.loads(passed)


def _option(name: str, options: Options) -> str:
    if name in dict(options):
        return show_value(_passed(name, options))
    default = DEFAULTS.get(name)
    return "not passed" if default is None else f"{show_value(json.loads(default))} (default)"


def _spelled(options: Options) -> str:
    shown = (f"{name}={show_value(json.loads(text))}" for name, text in options if name != "debug")
    return ", ".join(shown) or "no options"
