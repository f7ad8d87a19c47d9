"""What an opt-out would have saved, whatever the order of the launches.

Variants that an opt-out merges become one. How much time that saves depends on which of them would be met
first, which is chance; so the merged variant is charged the *dearest* stall of its members. The prediction then
depends on no order, never grows when more is merged, and errs on the side of promising too little (the dearest
is mostly the process's first compile, which pays for start-up). A merged variant that a warm-up, a preload or
tuning made costs launches nothing.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import add
from typing import NamedTuple

from jitwatch.analysis.misses import Kind, MissEvent
from jitwatch.specialization import (
    ArgumentClass,
    Parameter,
    Remedy,
    Traits,
    Variant,
    coarsen,
    sensible_remedies,
)
from jitwatch.specialization.remedies import fixed_type

Remedies = Mapping[int, Remedy]
"""Position of a parameter to its remedy."""


@dataclass(frozen=True)
class Entry:
    """A variant of one process, and what launches paid for it."""

    process: str
    variant: Variant
    seconds: float
    prepared: bool
    """Made by a warm-up, a preload or tuning."""
    launched: bool
    """A launch missed it."""


class Outcome(NamedTuple):
    """What is left: of a kernel as it is, or under remedies."""

    variants: int
    """Compiled versions over the run."""
    misses: int
    """Launches that would miss, summed over processes."""
    seconds: float


class Scenario:
    """The variants of one kernel in a run, and what opt-outs would make of them.

    A variant is held as one number, mixed-radix over the classes of its arguments, and a remedy as what it adds to
    that number; a plan asks some fifty times what would be left, and each answer is then two passes at the speed of
    C (of 50,000 variants 15 ms; as tuples 90 ms).
    """

    def __init__(self, parameters: Sequence[Parameter], events: Iterable[MissEvent], traits: Traits) -> None:
        self.parameters = parameters
        self.entries = tuple(_entries(events))
        self.classes = [self._classes(i) for i in range(len(parameters))]
        varying = [i for i, classes in enumerate(self.classes) if len(classes) > 1]
        self.remedies = {i: sensible_remedies(parameters[i], self.classes[i], traits) for i in varying}
        """Position of each argument seen in more than one class to what can be written for it, weakest first."""
        # Cheapest first: where a merged variant meets several entries, the last to be written is the dearest.
        ordered = sorted(self.entries, key=lambda entry: entry.seconds)
        self._seconds = [entry.seconds for entry in ordered]
        self._launched = [entry.launched for entry in ordered]
        self._prepared = [entry.prepared for entry in ordered]
        self._places = _numbered((e.process, e.variant.function, e.variant.device) for e in ordered)
        self._columns = {i: self._column(i, ordered) for i in varying}
        self._weights: dict[int, int] = {}
        self._variants = self._encode(ordered)
        self._shifts: dict[tuple[int, Remedy], list[int]] = {}
        self._outcomes: dict[frozenset[tuple[int, Remedy]], Outcome] = {}
        self.as_is = self.outcome({})

    def _classes(self, position: int) -> list[ArgumentClass]:
        rows = (entry.variant.arguments for entry in self.entries)
        return list(dict.fromkeys(row[position] for row in rows if position < len(row)))

    def _column(self, position: int, entries: Sequence[Entry]) -> list[int]:
        """Number of each entry's class; one more than the last for a variant without this argument."""
        number = {klass: i for i, klass in enumerate(self.classes[position])}
        rows = (entry.variant.arguments for entry in entries)
        return [number[row[position]] if position < len(row) else len(number) for row in rows]

    def _encode(self, entries: Sequence[Entry]) -> list[int]:
        keys = _numbered((len(entry.variant.arguments), entry.variant.options) for entry in entries)
        weight = max(keys, default=0) + 1
        for i, column in self._columns.items():
            self._weights[i] = weight
            keys = [key + number * weight for key, number in zip(keys, column, strict=True)]
            weight *= len(self.classes[i]) + 1
        return keys

    def outcome(self, remedies: Remedies) -> Outcome:
        """Variants, misses of launches and seconds that remain under `remedies`."""
        asked = frozenset(remedies.items())
        known = self._outcomes.get(asked)
        if known is None:
            known = self._outcomes[asked] = self._merged_outcome(remedies)
        return known

    def _merged_outcome(self, remedies: Remedies) -> Outcome:
        variants = self._variants
        for i, remedy in remedies.items():
            variants = list(map(add, variants, self._shift(i, remedy)))
        there = list(zip(variants, self._places, strict=True)) if any(self._places) else variants
        paid: dict[Hashable, float] = dict(
            zip(compress(there, self._launched), compress(self._seconds, self._launched), strict=True)
        )
        for prepared in set(compress(there, self._prepared)):
            paid.pop(prepared, None)
        return Outcome(len(set(variants)), len(paid), math.fsum(paid.values()))

    def _shift(self, position: int, remedy: Remedy) -> list[int]:
        known = self._shifts.get((position, remedy))
        if known is None:
            known = self._shifts[position, remedy] = self._make_shift(position, remedy)
        return known

    def _make_shift(self, position: int, remedy: Remedy) -> list[int]:
        parameter, classes = self.parameters[position], self.classes[position]
        annotation, weight = fixed_type(classes), self._weights[position]
        merged = _numbered(coarsen(klass, remedy, parameter, annotation) for klass in classes)
        steps = [(new - old) * weight for old, new in enumerate(merged)]
        steps.append(0)  # of a variant without this argument
        return [steps[number] for number in self._columns[position]]


def _numbered(things: Iterable[Hashable]) -> list[int]:
    """A number for each thing, equal for equal things."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(thing, len(numbers)) for thing in things]


def _entries(events: Iterable[MissEvent]) -> Iterable[Entry]:
    groups: dict[tuple[str, Variant], list[MissEvent]] = {}
    for event in events:
        if event.kind is not Kind.FAILED:
            groups.setdefault((event.process.file, event.miss.variant), []).append(event)
    for (process, variant), members in groups.items():
        launches = [event for event in members if event.from_launch]
        yield Entry(
            process,
            variant,
            seconds=math.fsum(event.seconds for event in launches),
            prepared=len(launches) < len(members),
            launched=bool(launches),
        )
