"""What the launching code is known to pass: facts about host values, and how they combine."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from jitwatch.source.model import Cardinality, Origin
from jitwatch.source.names import NameHint, counts_requests, describes_batch, hint, names_store
from jitwatch.source.tensor_names import (
    has_index_rows,
    holds_indices,
    is_activation,
    is_choice,
    is_index,
    is_page_table,
    is_pool,
    is_table,
    is_weight,
)

COARSE = 1 << 15
"""A length divided by at least this takes a handful of values: contexts end near 2^20 tokens."""

_LENGTHS = (Origin.LENGTH, Origin.DERIVED)
LENGTH_HINTS = (NameHint.LENGTH, NameHint.WEAK_LENGTH, NameHint.COUNT, NameHint.DIMENSION)
_BY_WEIGHT = (
    Origin.LENGTH,
    Origin.DERIVED,
    Origin.DIMENSION,
    Origin.ROW,
    Origin.POOL,
    Origin.TENSOR,
    Origin.STRIDE,
    Origin.UNKNOWN,
    Origin.MODEL_CONSTANT,
    Origin.LITERAL,
)
_BY_SPREAD = (Cardinality.UNBOUNDED, Cardinality.LOG2, Cardinality.FEW, Cardinality.ONE)


@dataclass(frozen=True)
class Fact:
    """One host value."""

    origin: Origin
    cardinality: Cardinality = Cardinality.UNBOUNDED
    hops: tuple[str, ...] = ()
    soft: bool = False
    """Told by position or name alone: the name of the variable it lands in may correct it."""
    tensor: Tensor | None = None
    items: tuple[Fact, ...] | None = None
    """Elements of a tuple."""

    @property
    def is_length(self) -> bool:
        """Whether it follows the size of a request."""
        return self.origin in _LENGTHS

    def via(self, hop: str) -> Fact:
        """Add the assignment that it came through."""
        return replace(self, hops=(*self.hops, hop)) if len(self.hops) < 6 else self


@dataclass(frozen=True)
class Tensor:
    """A tensor of the host: its names, and its sizes and strides where the code spells them out."""

    names: tuple[str, ...] = ()
    sizes: tuple[Fact, ...] | None = None
    strides: tuple[Fact, ...] | None = None
    offset: bool = False
    """A view that starts at a run-time position."""

    def size(self, index: int | None, rank: int | None = None) -> Fact:
        """Size of one dimension: spelled out, or guessed from the position and the tensor's name."""
        if self.sizes is not None and index is not None and -len(self.sizes) <= index < len(self.sizes):
            return self.sizes[index]
        if any(is_weight(name) for name in self.names):
            return CONSTANT
        if any(is_table(name) for name in self.names):
            return Fact(Origin.LENGTH)
        if any(is_pool(name) for name in self.names):
            outer = index in (0, None) or any(holds_indices(name) for name in self.names)
            return Fact(Origin.POOL, Cardinality.ONE, soft=True) if outer else CONSTANT
        if index is None:
            return Fact(Origin.UNKNOWN, soft=True)
        rank = len(self.sizes) if self.sizes is not None else rank
        if rank is not None and index is not None and index < 0:
            index += rank
        if index == 0:
            brought = any(is_activation(name) for name in self.names)
            return Fact(Origin.LENGTH if brought else Origin.DIMENSION, soft=True)
        last = index == -1 or (rank is not None and index == rank - 1)
        sorts = any(is_index(name) and "sorted" in name for name in self.names)
        if any(is_choice(name) for name in self.names) and not sorts and (last or rank is None):
            return Fact(Origin.MODEL_CONSTANT, Cardinality.ONE, soft=True)
        if any(is_index(name) for name in self.names) and (rank or 1) < 3:
            return Fact(Origin.LENGTH, soft=True)
        if last:
            return Fact(Origin.MODEL_CONSTANT, Cardinality.ONE, soft=True)
        return Fact(Origin.DIMENSION, soft=True)

    def stride(self, index: int | None) -> Fact:
        """Stride of one dimension: the product of the sizes after it where those are spelled out.

        A table of indices has two dimensions, so the stride of its rows is its width; that of a vector is 1.
        """
        if index is not None and self.strides is not None and -len(self.strides) <= index < len(self.strides):
            found = self.strides[index]
            return found if found.is_length else Fact(Origin.STRIDE, found.cardinality, found.hops)
        if index in (0, -2) and any(has_index_rows(name) for name in self.names):
            paged = any(is_page_table(name) for name in self.names)
            return Fact(Origin.ROW, Cardinality.UNBOUNDED if paged else Cardinality.FEW)
        return Fact(Origin.STRIDE, Cardinality.ONE if index == -1 else Cardinality.FEW)


UNKNOWN = Fact(Origin.UNKNOWN)
LITERAL = Fact(Origin.LITERAL, Cardinality.ONE)
CONSTANT = Fact(Origin.MODEL_CONSTANT, Cardinality.ONE)
FLAG = Fact(Origin.MODEL_CONSTANT, Cardinality.FEW)


def join(*facts: Fact) -> Fact:
    """Merge what different branches pass: the one that varies most stands for all."""
    if not facts:
        return UNKNOWN
    first = min(facts, key=lambda fact: _BY_WEIGHT.index(fact.origin))
    spread = (
        min((fact.cardinality for fact in facts), key=_BY_SPREAD.index)
        if not first.is_length
        else first.cardinality
    )
    return replace(first, cardinality=spread)


def derive(*operands: Fact) -> Fact:
    """Combine operands of arithmetic: anything computed from a length follows it."""
    whole = join(*operands)
    if whole.is_length:
        varying = [fact for fact in operands if fact.is_length]
        spread = min((fact.cardinality for fact in varying), key=_BY_SPREAD.index)
        return Fact(Origin.DERIVED, spread, whole.hops, soft=all(fact.soft for fact in varying))
    blurred = (Origin.TENSOR, Origin.DIMENSION)
    origin = Origin.UNKNOWN if whole.origin in blurred else whole.origin
    return Fact(origin, whole.cardinality, whole.hops, soft=whole.soft)


def named(fact: Fact, name: str) -> Fact:
    """Correct a fact by the name of the variable that holds it: a soft one, and a length that is named a width."""
    hinted = hint(name)
    counted = fact.origin in (Origin.LENGTH, Origin.DIMENSION)
    pooled = fact.origin is Origin.POOL and names_store(name)
    if hinted is NameHint.CONSTANT and not pooled and (counted or fact.soft or fact.origin is Origin.DERIVED):
        return replace(fact, origin=Origin.MODEL_CONSTANT, cardinality=Cardinality.ONE)
    if not fact.soft:
        return fact
    if (fact.origin is Origin.DIMENSION and hinted in LENGTH_HINTS) or (
        fact.origin in (Origin.UNKNOWN, Origin.MODEL_CONSTANT) and hinted is NameHint.LENGTH
    ):
        return replace(fact, origin=Origin.LENGTH, cardinality=Cardinality.UNBOUNDED)
    doubted = (NameHint.WEAK_CONSTANT, NameHint.TILE) if counted else (NameHint.TILE,)
    if hinted in doubted and fact.origin is not Origin.DERIVED:
        return replace(fact, origin=Origin.MODEL_CONSTANT, cardinality=Cardinality.ONE)
    return fact


def attribute(owner: str, name: str) -> Fact:
    """Fact about an attribute of something that is no tensor.

    What an object or a configuration keeps is fixed when it is made: its maxima, its pools' sizes. What it says about
    tokens, sequences or requests follows the batch, as everything of a metadata object does.
    """
    found = guess(name)
    kept = owner in ("self", "cls") or "config" in owner or "cfg" in owner
    if kept and found.is_length and (name.startswith("max_") or not counts_requests(name)):
        return Fact(Origin.MODEL_CONSTANT, Cardinality.ONE)
    if hint(name) is NameHint.COUNT and describes_batch(owner):
        return Fact(Origin.LENGTH, soft=True)
    return found


def guess(name: str) -> Fact:
    """Fact about an argument or attribute of which only the name is known."""
    hinted = hint(name)
    if name == "b":  # as often the second operand as a batch
        return Fact(Origin.UNKNOWN, soft=True)
    if hinted in (NameHint.LENGTH, NameHint.WEAK_LENGTH):
        return Fact(Origin.LENGTH, soft=True)
    if hinted is NameHint.STRIDE:
        return Fact(Origin.STRIDE, Cardinality.FEW)
    if hinted in (NameHint.CONSTANT, NameHint.WEAK_CONSTANT, NameHint.TILE):
        return Fact(Origin.MODEL_CONSTANT, Cardinality.ONE, soft=True)
    return Fact(Origin.UNKNOWN, soft=True)


def constant(node: ast.expr) -> int:
    """Value of a written product of integers, 0 for anything else."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return constant(node.left) * constant(node.right)
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else 0
