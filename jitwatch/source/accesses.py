"""The loads and stores of a kernel: what they make of its parameters, and whose divisibility they need."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable

from jitwatch.source.access import Wrap, access_costs, block_costs, innermost_strides
from jitwatch.source.model import Contiguity, Role
from jitwatch.source.polynomial import Value, symbol, unchosen

TILE = 2
"""Dimensions from which an access moves a tile: one of three is no more than one of two."""


class Accesses:
    """Notes each access; ``roles``, ``costs`` and ``streams`` are what it found."""

    def __init__(self, parameters: dict[str, bool]) -> None:
        """``parameters`` maps each name to whether it is a constexpr."""
        self.roles: dict[str, Role] = defaultdict(lambda: Role.NONE)
        self.contiguity: dict[str, Contiguity] = defaultdict(lambda: Contiguity.NONE)
        self.streams: set[str] = set()
        self.touches_memory = False
        self.columns: set[Hashable] = set()
        self.inner = innermost_strides(list(parameters))
        self.wraps: dict[Hashable, Wrap] = {}
        self.initial = {
            name: symbol("static" if constexpr else "param", name, frozenset([name]))
            for name, constexpr in parameters.items()
        }
        self.costs: list[tuple[int, str, Contiguity]] = []
        self.rank = 0

    def give(self, value: Value, role: Role) -> None:
        """Record that the parameters behind a value have a role."""
        for name in value.depends:
            self.roles[name] |= role

    def access(
        self, address: Value, mask: Value | None = None, checked: frozenset[int] = frozenset()
    ) -> None:
        """Record a load or a store at an address."""
        self.touches_memory = True
        if address.block and address.items:
            base, shape, strides, offsets = (each.items or (each,) for each in address.items)
            pointer, rank = self._pointer(base[0]), len(offsets)
            costs = list(block_costs(base[0], shape, strides, checked))
        else:
            self.give(address, Role.ADDRESS)
            self._give_strides(address)
            pointer, rank = self._pointer(address), self._rank(address)
            costs = list(access_costs(address, mask, frozenset(self.columns), self.inner, self.wraps))
        rank = min(rank, TILE)
        self.rank = max(self.rank, rank)
        self.costs.extend((rank, name, cost) for name, cost in costs)
        if pointer and costs:
            self.streams.add(pointer)

    def _rank(self, address: Value) -> int:
        """Dimensions of an access: a loaded row index spans rows as the range does that it was loaded by.

        Ranges that are rows of one access and columns of another are told apart by their number.
        """
        ways = bool(address.axes & self.columns) + bool(address.axes - self.columns)
        return max(ways, len(address.axes))

    def _pointer(self, address: Value) -> str | None:
        """The parameter added first in an address is its pointer."""
        for term, factor in ((unchosen(each), factor) for each, factor in address.terms.items()):
            if len(term) == 1 and term[0][0] == "param" and factor == 1:
                self.roles[str(term[0][1])] |= Role.POINTER
                return str(term[0][1])
        return None

    def _give_strides(self, address: Value) -> None:
        """A parameter that multiplies something in an address is a stride; of rows, if more moves it."""
        terms = [unchosen(term) for term in address.terms]
        moving = [term for term in terms if any(kind not in ("param", "static") for kind, _ in term)]
        for term in terms:
            for kind, identity in term if len(term) > 1 else ():
                if kind in ("param", "static") and identity in self.initial:
                    self.roles[str(identity)] |= Role.STRIDE
                    if any((kind, identity) not in other for other in moving):
                        self.roles[str(identity)] |= Role.ROW
