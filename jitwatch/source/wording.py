"""Words that several rules share: where a value comes from, what a parameter does."""

from __future__ import annotations

from jitwatch.source.lengths import Judgement
from jitwatch.source.model import Cardinality, Parameter, Role

_USES = (
    (Role.SHAPE, "shapes a tensor or an unrolled loop"),
    (Role.DESCRIPTOR, "is a size of a block pointer or descriptor"),
    (Role.LOOP, "counts a loop"),
    (Role.STRIDE, "multiplies an index"),
    (Role.ADDRESS, "moves an address"),
    (Role.COMPARED, "bounds a mask"),
    (Role.DIVISOR, "divides an index"),
    (Role.VALUE, "enters the arithmetic"),
)


def origin(judgement: Judgement) -> str:
    """Say in parentheses where a length comes from."""
    if judgement.settled:
        return f" (`{_short(judgement.settled.text)}` in a heuristic)"
    if judgement.value is None:
        return " (by its name)"
    shown = judgement.value.hops[-1] if judgement.value.hops else judgement.value.text
    return f" (`{_short(shown)}`)" if not shown.startswith("argument ") else f" ({_argument(shown)})"


def _argument(hop: str) -> str:
    _, name, _, owner = hop.split(" ", 3)
    return f"argument `{name}` of `{owner}`"


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def uses(parameter: Parameter) -> str:
    """Say what a kernel does with a parameter, shortly."""
    said = [text for role, text in _USES if role in parameter.roles]
    return " and ".join(said[:2]) or "is handed to other functions"


def spread(cardinality: Cardinality) -> str:
    """Say how many values there can be."""
    return {
        Cardinality.UNBOUNDED: "any value",
        Cardinality.LOG2: "a power of two",
        Cardinality.FEW: "a few values",
        Cardinality.ONE: "one value",
    }[cardinality]
