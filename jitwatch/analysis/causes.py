"""The cause of a miss: how it differs from the closest earlier variant of the same kernel in its process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from jitwatch.rundir import Miss
from jitwatch.specialization import Change, Parameter, Subject, Variant, compare
from jitwatch.specialization.variants import distance

LOOK_BACK = 300
"""Variants searched for the closest one, latest first. Only a kernel that misses at every launch has more, and
then its neighbours are recent; without a limit 50,000 such misses take minutes."""


class History:
    """The variants of one kernel that one process has in memory, latest last."""

    def __init__(self, inherited: Iterable[tuple[Variant, Miss]] = ()) -> None:
        self.latest: dict[Variant, Miss] = dict(inherited)

    def __bool__(self) -> bool:
        return bool(self.latest)

    def add(self, miss: Miss) -> None:
        """Remember a variant that was served."""
        self.latest.pop(miss.variant, None)
        self.latest[miss.variant] = miss

    def closest(self, variant: Variant) -> tuple[Variant, Miss] | None:
        """The earlier variant with the fewest differences; of equals, the latest."""
        if variant in self.latest:
            return variant, self.latest[variant]
        best, fewest = None, len(variant.arguments) + len(variant.options) + 100
        for earlier, miss in islice(reversed(self.latest.items()), LOOK_BACK):
            differing = distance(earlier, variant)
            if differing < fewest:
                best, fewest = (earlier, miss), differing
                if fewest == 1:
                    break
        return best


def explain(
    parameters: Sequence[Parameter], closest: tuple[Variant, Miss] | None, miss: Miss
) -> tuple[Change, ...]:
    """The differences to the closest earlier variant; none for a kernel's first."""
    if closest is None:
        return ()
    variant, earlier = closest
    changes = compare(variant, miss.variant, parameters, earlier.values, miss.values)
    if changes:
        return changes
    same = earlier.key == miss.key
    return (Change(Subject.CACHE, "cache") if same else Change(Subject.UNSEEN, "key"),)
