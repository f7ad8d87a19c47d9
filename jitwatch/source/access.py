"""Contiguity: whether a parameter's divisibility by 16 reaches the vector width of a load or store.

A masked access along the axis that is contiguous in memory is vectorised only if the compiler knows that the
mask is constant over each vector, which it does when the bound is divisible: ``vector_add`` of 2^28 bf16 on an
H200 takes 372 us so and 1031 us without. A bound of any other axis costs nothing (256 against 255 us). A
stride that multiplies the row index decides whether each row starts on the vector's grid: width 8 against 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from jitwatch.source.model import Contiguity
from jitwatch.source.names import NameHint, hint
from jitwatch.source.polynomial import ALIGNMENT, Term, Value, is_aligned, unchosen


@dataclass(frozen=True)
class Wrap:
    """A range taken modulo something."""

    divisor: Value
    along: frozenset[Hashable]
    """The ranges it was taken of."""


def access_costs(
    address: Value,
    mask: Value | None,
    columns: frozenset[Hashable],
    inner: frozenset[str],
    wraps: Mapping[Hashable, Wrap],
) -> Iterator[tuple[str, Contiguity]]:
    """Yield the parameters whose divisibility one access needs.

    ``columns`` are the ranges indexed as the last axis (``[None, :]``), ``inner`` the innermost strides, ``wraps`` the
    ranges taken modulo something.
    """
    axis, unit = contiguous_axis(address, columns, inner)
    if axis is None:
        return
    wrap = wraps.get(axis)
    along = frozenset([axis]) | (wrap.along if wrap else frozenset())
    if mask and len(address.axes) == 1 and not address.axes & columns:
        along |= mask.axes - columns  # a mask of one dimension runs along it, whichever range it was made of
    bounds = [each for each in (mask.bounds if mask else ()) if any(along & side.axes for side in each)]
    if along & address.rough or any(_is_ragged(*each, along) for each in bounds):
        return
    rest = {term: factor for term, factor in address.terms.items() if ("arange", axis) not in term}
    stray = [term for term, factor in rest.items() if not is_aligned(term, factor)]
    if not stray:
        if unit is not None:
            yield unit, Contiguity.UNIT
        for term, factor in rest.items():
            if name := _decides(term, factor):
                yield name, Contiguity.STRIDE if len(unchosen(term)) > 1 else Contiguity.BASE
    if wrap and (name := wrap.divisor.parameter):
        yield name, Contiguity.MASK
    for each in bounds:
        yield from _bound_costs(*each, along, wraps)


def contiguous_axis(
    address: Value, columns: frozenset[Hashable], inner: frozenset[str]
) -> tuple[Hashable | None, str | None]:
    """Return the range that runs along memory, and the run-time stride that must be 1 for it, if any.

    A range alone in its term does. Otherwise one multiplied by a tensor's innermost stride; of several, the one indexed
    as the last axis. One that other strides move as well, as along a diagonal, does not.
    """
    candidates: list[tuple[bool, Hashable, str | None]] = []
    met = Counter(address.aranges)
    for term, factor in address.terms.items():
        aranges = [identity for kind, identity in term if kind == "arange"]
        others = [each for each in term if each[0] != "arange"]
        if len(aranges) != 1 or abs(factor) != 1 or met[aranges[0]] > 1:
            continue
        if not others:
            return aranges[0], None
        kind, name = others[0]
        if len(others) == 1 and name in inner:
            candidates.append((aranges[0] in columns, aranges[0], str(name) if kind == "param" else None))
    if not candidates:
        return None, None
    last, axis, unit = max(candidates, key=lambda each: each[0])
    return (axis, unit) if last or len(candidates) == 1 else (None, None)


def innermost_strides(parameters: Sequence[str]) -> frozenset[str]:
    """Return the strides that end a group in a signature: ``stride_qk`` of ``stride_qb, stride_qm, stride_qk``."""
    ends = set()
    for name, following in zip(parameters, [*parameters, ""][1:], strict=True):
        same = name[:-1] == following[:-1] or name.rpartition("_")[0] == following.rpartition("_")[0] != ""
        if hint(name) is NameHint.STRIDE and not (same and hint(following) is NameHint.STRIDE):
            ends.add(name)
    return frozenset(ends)


def block_costs(
    base: Value, shape: tuple[Value, ...], strides: tuple[Value, ...], checked: frozenset[int]
) -> Iterator[tuple[str, Contiguity]]:
    """Yield the parameters whose divisibility an access through a block pointer needs."""
    dense = [dim for dim, stride in enumerate(strides) if dict(stride.terms) == {(): 1}]
    if len(dense) != 1 or not all(is_aligned(term, factor) for term, factor in base.terms.items()):
        return
    if dense[0] in checked and dense[0] < len(shape) and (name := shape[dense[0]].parameter):
        yield name, Contiguity.MASK
    for dim, stride in enumerate(strides):
        if dim not in dense and (name := stride.parameter):
            yield name, Contiguity.STRIDE


def _is_ragged(inner: Value, outer: Value, along: frozenset[Hashable]) -> bool:
    """Whether a comparison may turn within a vector, whatever the parameters are.

    ``range < bound`` and ``range >= bound`` turn at the bound; ``range <= bound`` and ``range == bound`` beside it.
    Comparing quotients turns where they do.
    """
    if along & (inner.rough | outer.rough):
        return True
    sides = (*inner.terms.items(), *outer.terms.items())
    rest = [each for each in sides if not _runs(each[0], along)]
    if len(rest) == len(sides):
        return not any(_quotients(sides))
    return bool(along & outer.axes) or not all(is_aligned(*each) for each in rest)


def _quotients(sides: Iterable[tuple[Term, int]]) -> Iterator[Hashable]:
    return (identity for term, _ in sides for kind, identity in term if kind == "quotient")


def _runs(term: Term, along: frozenset[Hashable]) -> bool:
    return any(kind == "arange" and identity in along for kind, identity in term)


def _bound_costs(
    inner: Value, outer: Value, along: frozenset[Hashable], wraps: Mapping[Hashable, Wrap]
) -> Iterator[tuple[str, Contiguity]]:
    """Costs of one comparison ``inner < outer`` along the contiguous axis."""
    sides = [*inner.terms.items(), *outer.terms.items()]
    if any(_runs(term, along) for term, _ in sides):
        for term, factor in sides:
            if not _runs(term, along) and (name := _decides(term, factor) or _constant_bound(term, factor)):
                yield name, Contiguity.MASK
    else:
        for identity in _quotients(sides):
            if name := wraps[identity].divisor.parameter:
                yield name, Contiguity.MASK


def _decides(term: Term, factor: int) -> str | None:
    """The run-time parameter whose divisibility alone makes a term aligned."""
    if factor % ALIGNMENT == 0 or any(kind in ("static", "known") for kind, _ in term):
        return None
    names = [str(identity) for kind, identity in term if kind == "param"]
    return names[0] if len(names) == 1 else None


def _constant_bound(term: Term, factor: int) -> str | None:
    """A constexpr that bounds the axis: what it would cost to make it a run-time argument that is opted out."""
    plain = factor == 1 and len(term) == 1 and term[0][0] == "static" and isinstance(term[0][1], str)
    return str(term[0][1]) if plain else None
