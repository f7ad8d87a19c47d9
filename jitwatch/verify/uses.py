"""What was seen to happen to the parameters of a kernel, as far as it tells of their types (``evidence``)."""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


class Use(enum.Flag):
    """What was seen to happen to a parameter, or to the elements behind it."""

    NONE = 0
    POINTER = enum.auto()
    """An access starts from it."""
    INTEGER = enum.auto()
    """It indexes, counts, bounds a loop, or meets a bit operation."""
    INTEGER_ELEMENTS = enum.auto()
    PACKED_ELEMENTS = enum.auto()
    """They meet bit operations."""
    BOOLEAN_ELEMENTS = enum.auto()
    """They mask an access, decide a branch, or become ``tl.int1``."""
    ADDRESS_ELEMENTS = enum.auto()
    """They are cast to pointers."""
    SIZE = enum.auto()
    """It is part of a shape."""
    UNROLLED = enum.auto()
    """It bounds an unrolled loop."""


@dataclass(frozen=True)
class Flow:
    """What an expression may be: of which parameters it is made, and which of them it can start from as a pointer."""

    starts: tuple[str, ...] = ()
    values: frozenset[str] = frozenset()
    """Parameters that are added up in it."""
    elements: frozenset[str] = frozenset()
    """Parameters whose elements are."""

    def __or__(self, other: Flow) -> Flow:
        starts = tuple(dict.fromkeys((*self.starts, *other.starts)))
        return Flow(starts, self.values | other.values, self.elements | other.elements)


NOTHING = Flow()


@dataclass
class Uses:
    """What was found out about the parameters of one kernel."""

    of: defaultdict[str, Use] = field(default_factory=lambda: defaultdict(lambda: Use.NONE))
    asserted: dict[str, Any] = field(default_factory=dict)
    """Literals that a static assertion wants of a constexpr."""
    compared: defaultdict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    """Literals that a constexpr is compared with for equality, in order."""


def merged(flows: Iterable[Flow]) -> Flow:
    """What may be any of several."""
    made = NOTHING
    for each in flows:
        made |= each
    return made
