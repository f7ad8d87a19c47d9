"""Index expressions of a kernel as sums of products, enough to see which axis runs along memory.

A symbol is a pair ``(kind, identity)``::

    "param"   a run-time parameter
    "static"  a value known at compile time: a constexpr parameter, a global, a function of such
    "counter"  of an unrolled loop: known at compile time as well, and 1 in some turn, so never aligned
    "arange"  one ``tl.arange``, or the remainder of one
    "known"   a run-time value the compiler knows to be aligned (``multiple_of``, a loop with a constexpr step)
    "opaque"  any other run-time value: a program id, a loaded number
    "quotient"  of a range: the same number until the range reaches a multiple of the divisor
    "part"    1: marks a term that is half, a quarter or an eighth of itself
    "choice"  0 or 1: which of two values was selected; both must be aligned for their sum to be

A term is a sorted tuple of symbols with an integer coefficient. Products and sums stay exact up to ``LIMIT``
terms; past that, and for every other operation, a value becomes one opaque symbol that keeps its dependencies.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace

Symbol = tuple[str, Hashable]
Term = tuple[Symbol, ...]

LIMIT = 24
"""Terms of a polynomial. Addresses of real kernels stay below ten; unrolled hash mixing does not."""

STATIC = ("static", "counter")

PARTS, SHIFTS = (2, 4, 8), (1, 2, 3)
"""Divisors that leave a multiple of 16 a multiple of something: a vector of fewer elements, but one."""

ALIGNMENT = 16
"""The divisor Triton specialises integers and pointers on."""


@dataclass(frozen=True, eq=False)
class Value:
    """What the analysis knows of one expression."""

    terms: Mapping[Term, int]
    depends: frozenset[str] = frozenset()
    """Parameters it was computed from; what a load returns depends on none."""
    bounds: tuple[tuple[Value, Value], ...] = ()
    """Comparisons ``inner < outer`` that a mask is made of."""
    items: tuple[Value, ...] | None = None
    """Elements of a tuple, or the (shape, strides, offsets) of a block pointer when ``block`` is set."""
    block: bool = False
    axes: frozenset[Hashable] = frozenset()
    """Ranges it varies along, through loads too."""
    rough: frozenset[Hashable] = frozenset()
    """Ranges along which each element may be anything: what was loaded or selected by them."""

    @property
    def is_static(self) -> bool:
        """Whether it is known at compile time."""
        return all(kind in STATIC for term in self.terms for kind, _ in term)

    @property
    def aranges(self) -> Iterator[Hashable]:
        """Identities of the ranges it runs along."""
        return (identity for term in self.terms for kind, identity in term if kind == "arange")

    @property
    def number(self) -> int | None:
        """The written number that it is, if it is one."""
        return self.terms[()] if self.terms.keys() == {()} else None

    @property
    def is_smooth(self) -> bool:
        """Whether it runs along a range, and is not anything at each of its elements."""
        return any(identity not in self.rough for identity in self.aranges)

    @property
    def is_aligned(self) -> bool:
        """Whether it starts on the vector's grid, taking every parameter as aligned."""
        terms = self.terms.items()
        return all(
            is_aligned(term, factor) or any(kind == "arange" for kind, _ in term) for term, factor in terms
        )

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
    axes = frozenset([identity] if kind == "arange" else [])
    return Value({((kind, identity),): 1}, depends, axes=axes)


def loaded(identity: Hashable, address: Value) -> Value:
    """Make what is read from an address: a number that depends on no parameter, anything along its ranges."""
    return Value({(("opaque", identity),): 1}, axes=address.axes, rough=address.axes)


def either(identity: Hashable, one: Value, other: Value, chosen: Value = NOTHING) -> Value:
    """Make one value or the other, as ``chosen`` says element by element: aligned where both are.

    ``c * one + d * other`` with ``c`` and ``d`` 0 or 1, so that each term keeps the parameters that decide on it;
    what both have in common is there in any case.
    """
    whole = opaque(identity, one, other, chosen)
    if whole.is_static or one.items or other.items:
        return whole
    common = {term: factor for term, factor in one.terms.items() if other.terms.get(term) == factor}
    terms = dict(common)
    for index, each in enumerate((one, other)):
        apart = {term: factor for term, factor in each.terms.items() if term not in common}
        terms |= multiply(Value(apart), symbol("choice", (identity, index)), identity).terms
    if len(terms) > LIMIT:
        return whole
    return replace(whole, terms=terms, rough=whole.rough | chosen.axes)


def part(identity: Hashable, whole: Value) -> Value:
    """Make one of PARTS of a value: on a coarser vector's grid where the whole is on the vector's."""
    terms = {tuple(sorted((*term, ("part", identity)), key=hash)): n for term, n in whole.terms.items()}
    return replace(whole, terms=terms, items=None)


def branched(identity: Hashable, one: Value, other: Value) -> Value:
    """Merge what the branches of a run-time test made of a variable."""
    if one is other or one.items or other.items or set(one.aranges) != set(other.aranges):
        return join(one, other)
    return either(identity, one, other)


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
    if len(terms) > LIMIT:
        return opaque(identity, left, right)
    return _of_both(terms, left, right)


def multiply(left: Value, right: Value, identity: Hashable) -> Value:
    """Multiply."""
    if len(left.terms) * len(right.terms) > LIMIT:
        return opaque(identity, left, right)
    terms: dict[Term, int] = {}
    for one, factor in left.terms.items():
        for other, times in right.terms.items():
            term = tuple(sorted(one + other, key=hash)) if one and other else one or other
            terms[term] = terms.get(term, 0) + factor * times
    return _of_both(terms, left, right)


def opaque(identity: Hashable, *operands: Value) -> Value:
    """Make an unknown function of the operands: static when they all are."""
    depends = frozenset().union(*(each.depends for each in operands))
    static = bool(operands) and all(each.is_static for each in operands)
    bounds = tuple(bound for each in operands for bound in each.bounds)
    return Value(
        {(("static" if static else "opaque", identity),): 1},
        depends,
        bounds,
        axes=frozenset().union(*(each.axes for each in operands)),
        rough=frozenset().union(*(each.rough for each in operands)),
    )


def _of_both(terms: Mapping[Term, int], left: Value, right: Value) -> Value:
    return Value(
        terms, left.depends | right.depends, axes=left.axes | right.axes, rough=left.rough | right.rough
    )


def join(one: Value, other: Value) -> Value:
    """Merge what two branches made of a variable: one stands for both.

    It is the one that runs along memory from the vector's grid, since a compile that takes its branch has a width to
    lose; else the one that depends on more parameters.
    """
    if one is other:
        return one
    depends, bounds = one.depends | other.depends, (*one.bounds, *other.bounds)
    kept = max(one, other, key=lambda each: (each.is_smooth, each.is_aligned, len(each.depends)))
    if depends == kept.depends and len(bounds) == len(kept.bounds):
        return kept
    return replace(kept, depends=depends, bounds=bounds[:LIMIT])


def unchosen(term: Term) -> Term:
    """The term without what selects it, or a part of it."""
    return tuple(each for each in term if each[0] not in ("choice", "part"))


def is_aligned(term: Term, factor: int) -> bool:
    """Whether a term keeps an address or a bound on the vector's grid, taking every other parameter as aligned."""
    return factor % ALIGNMENT == 0 or any(kind in ("static", "known", "param") for kind, _ in term)
