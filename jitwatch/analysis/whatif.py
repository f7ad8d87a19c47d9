"""What an opt-out would have saved, whatever the order of the launches.

Variants that an opt-out merges become one. How much time that saves depends on which of them would be met
first, which is chance; so the merged variant is charged the *dearest* stall of its members. The prediction then
depends on no order, never grows when more is merged, and errs on the side of promising too little (the dearest
is mostly the process's first compile, which pays for start-up). A merged variant that a warm-up, a preload or
tuning made costs launches nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    """The variants of one kernel in a run, and what opt-outs would make of them."""

    def __init__(self, parameters: Sequence[Parameter], events: Iterable[MissEvent], traits: Traits) -> None:
        self.parameters = parameters
        self.entries = tuple(_entries(events))
        self.classes = [self._classes(i) for i in range(len(parameters))]
        self.remedies = {
            i: sensible_remedies(parameter, self.classes[i], traits)
            for i, parameter in enumerate(parameters)
            if len(self.classes[i]) > 1
        }
        self.as_is = self.outcome({})

    def _classes(self, position: int) -> list[ArgumentClass]:
        seen = dict.fromkeys(
            entry.variant.arguments[position]
            for entry in self.entries
            if position < len(entry.variant.arguments)
        )
        return list(seen)

    def outcome(self, remedies: Remedies) -> Outcome:
        """Variants, misses of launches and seconds that remain under `remedies`."""
        tables = {i: self._table(i, remedy) for i, remedy in remedies.items()}
        dearest: dict[tuple[str, Variant], float] = {}
        free: set[tuple[str, Variant]] = set()
        for entry in self.entries:
            merged = (entry.process, _merge(entry.variant, tables))
            if entry.launched:
                dearest[merged] = max(entry.seconds, dearest.get(merged, 0.0))
            if entry.prepared:
                free.add(merged)
        paid = [seconds for merged, seconds in dearest.items() if merged not in free]
        versions = {(v.arguments, v.options) for _, v in {*dearest, *free}}
        return Outcome(len(versions), len(paid), sum(paid))

    def _table(self, position: int, remedy: Remedy) -> dict[ArgumentClass, ArgumentClass]:
        parameter = self.parameters[position]
        annotation = fixed_type(self.classes[position])
        return {klass: coarsen(klass, remedy, parameter, annotation) for klass in self.classes[position]}


def _merge(variant: Variant, tables: Mapping[int, Mapping[ArgumentClass, ArgumentClass]]) -> Variant:
    if not tables:
        return variant
    arguments = list(variant.arguments)
    for position, table in tables.items():
        arguments[position] = table[arguments[position]]
    return variant._replace(arguments=tuple(arguments))


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
            seconds=sum(event.seconds for event in launches),
            prepared=len(launches) < len(members),
            launched=bool(launches),
        )
