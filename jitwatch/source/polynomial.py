"""Index expressions of a kernel as sums of products, enough to see which axis runs along memory.

A symbol is a pair ``(kind, identity)``::

    "param"   a run-time parameter
    "static"  a value known at compile time: a constexpr parameter, a global, a function of such
    "arange"  one ``tl.arange``, or the remainder of one
    "known"   a run-time value the compiler knows to be aligned (``multiple_of``, a loop with a constexpr step)
    "opaque"  any other run-time value: a program id, a loaded number, a quotient

A term is a sorted tuple of symbols with an integer coefficient. Products and sums stay exact up to ``LIMIT``
terms; past that, and for every other operation, a value becomes one opaque symbol that keeps its dependencies.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass

Symbol = tuple[str, Hashable]
Term = tuple[Symbol, ...]

LIMIT = 24
"""Terms of a polynomial. Addresses of real kernels stay below ten; unrolled hash mixing does not."""

ALIGNMENT = 16
"""The divisor Triton specialises integers and pointers on."""


@dataclass(frozen=True, eq=False)
class Value:
    """What the analysis knows of one expression."""

    terms: Mapping[Term, int]
    depends: frozenset[str] = frozenset()
    """Parameters it was computed from; what a load returns depends on none."""
    bounds: tuple[tuple[Value, Value], ...] = ()
    """Comparisons that a mask is made of."""
    items: tuple[Value, ...] | None = None
    """Elements of a tuple, or the (shape, strides, offsets) of a block pointer when ``block`` is set."""
    block: bool = False

    @property
    def is_static(self) -> bool:
        """Whether it is known at compile time."""
        return all(kind == "static" for term in self.terms for kind, _ in term)

    @property
    def aranges(self) -> Iterator[Hashable]:
        """Identities of the ranges it runs along."""
        return (identity for term in self.terms for kind, identity in term if kind == "arange")

    @property
    def parameter(self) -> str | None:
        """The run-time parameter that it is, unchanged, if it is one."""
        if len(self.terms) != 1:
            return None
        (term, factor), *_ = self.terms.items()
        plain = factor == 1 and len(term) == 1 and term[0][0] == "param"
        return str(term[0][1]) if plain else None


NOTHING = Value({})


def symbol(kind: str, identity: Hashable, depends: frozenset[str] = frozenset()) -> Value:
    """Make a value of one symbol."""
    return Value({((kind, identity),): 1}, depends)


def number(value: int) -> Value:
    """Make a constant."""
    return Value({(): value} if value else {})


def add(left: Value, right: Value, identity: Hashable, sign: int = 1) -> Value:
    """Add, or subtract with ``sign=-1``."""
    terms = dict(left.terms)
    for term, factor in right.terms.items():
        total = terms.get(term, 0) + sign * factor
        if total:
            terms[term] = total
        else:
            del terms[term]
    depends = left.depends | right.depends
    return Value(terms, depends) if len(terms) <= LIMIT else opaque(identity, left, right)


def multiply(left: Value, right: Value, identity: Hashable) -> Value:
    """Multiply."""
    if len(left.terms) * len(right.terms) > LIMIT:
        return opaque(identity, left, right)
    terms: dict[Term, int] = {}
    for one, factor in left.terms.items():
        for other, times in right.terms.items():
            term = tuple(sorted(one + other, key=hash)) if one and other else one or other
            terms[term] = terms.get(term, 0) + factor * times
    return Value(terms, left.depends | right.depends)


def opaque(identity: Hashable, *operands: Value) -> Value:
    """Make an unknown function of the operands: static when they all are."""
    depends = frozenset().union(*(each.depends for each in operands))
    static = bool(operands) and all(each.is_static for each in operands)
    bounds = tuple(bound for each in operands for bound in each.bounds)
    return Value({(("static" if static else "opaque", identity),): 1}, depends, bounds)


def join(one: Value, other: Value) -> Value:
    """Merge what two branches made of a variable: the one that depends on more parameters stands for both."""
    if one is other:
        return one
    depends, bounds = one.depends | other.depends, (*one.bounds, *other.bounds)
    kept = one if len(one.depends) >= len(other.depends) else other
    if depends == kept.depends and len(bounds) == len(kept.bounds):
        return kept
    return Value(kept.terms, depends, bounds[:LIMIT], kept.items, kept.block)


def is_aligned(term: Term, factor: int) -> bool:
    """Whether a term keeps an address or a bound on the vector's grid, taking every other parameter as aligned."""
    return factor % ALIGNMENT == 0 or any(kind in ("static", "known", "param") for kind, _ in term)
