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

    Held by column, a number for each class an argument was seen in, since a plan asks some fifty times what
    would be left: of 50,000 variants in 0.1 s, where merging them one by one took 1 s.
    """

    def __init__(self, parameters: Sequence[Parameter], events: Iterable[MissEvent], traits: Traits) -> None:
        self.parameters = parameters
        self.entries = tuple(_entries(events))
        self.classes = [self._classes(i) for i in range(len(parameters))]
        varying = [i for i, classes in enumerate(self.classes) if len(classes) > 1]
        self.remedies = {i: sensible_remedies(parameters[i], self.classes[i], traits) for i in varying}
        """Position of each argument seen in more than one class to what can be written for it, weakest first."""
        self._columns = {i: self._column(i) for i in varying}
        rest = [(len(v.arguments), v.options) for v in (entry.variant for entry in self.entries)]
        self._options = _numbered(rest)
        places = ((entry.process, entry.variant.function, entry.variant.device) for entry in self.entries)
        self._places = _numbered(places)
        self._merges: dict[tuple[int, Remedy], list[int]] = {}
        self.as_is = self.outcome({})

    def _classes(self, position: int) -> list[ArgumentClass]:
        rows = (entry.variant.arguments for entry in self.entries)
        return list(dict.fromkeys(row[position] for row in rows if position < len(row)))

    def _column(self, position: int) -> list[int]:
        number = {klass: i for i, klass in enumerate(self.classes[position])}
        rows = (entry.variant.arguments for entry in self.entries)
        return [number[row[position]] if position < len(row) else -1 for row in rows]

    def outcome(self, remedies: Remedies) -> Outcome:
        """Variants, misses of launches and seconds that remain under `remedies`."""
        columns = [
            self._merged(i, remedies[i]) if i in remedies else column for i, column in self._columns.items()
        ]
        dearest: dict[Hashable, float] = {}
        free: set[Hashable] = set()
        for entry, merged in zip(
            self.entries, zip(self._places, self._options, *columns, strict=True), strict=True
        ):
            if entry.launched:
                dearest[merged] = max(entry.seconds, dearest.get(merged, 0.0))
            if entry.prepared:
                free.add(merged)
        paid = [seconds for merged, seconds in dearest.items() if merged not in free]
        versions = set(zip(self._options, *columns, strict=True))
        return Outcome(len(versions), len(paid), math.fsum(paid))

    def _merged(self, position: int, remedy: Remedy) -> list[int]:
        known = self._merges.get((position, remedy))
        if known is None:
            known = self._merges[position, remedy] = self._merge(position, remedy)
        return known

    def _merge(self, position: int, remedy: Remedy) -> list[int]:
        parameter, classes = self.parameters[position], self.classes[position]
        annotation = fixed_type(classes)
        table = _numbered(coarsen(klass, remedy, parameter, annotation) for klass in classes)
        table.append(-1)  # of a variant without this argument
        return [table[number] for number in self._columns[position]]


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
