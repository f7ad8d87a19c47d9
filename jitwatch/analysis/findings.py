"""Everything a report says about a run, by kernel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from jitwatch.analysis.misses import Identity, Kind, MissEvent, trace_misses
from jitwatch.analysis.plan import Step, make_plan
from jitwatch.analysis.tuning import TuneFindings, Tuning, study_tuning
from jitwatch.analysis.whatif import Scenario
from jitwatch.rundir import Kernel, Run
from jitwatch.specialization import ArgumentClass, Parameter, Remedy, Subject, Value, show_value, traits_of
from jitwatch.specialization.releases import release_of

SAMPLE = 8
"""Values of an argument that a report shows."""


@dataclass(slots=True)
class ArgumentFindings:
    """What one argument did to its kernel."""

    parameter: Parameter
    recompiles: int
    """Recompiles whose cause names it."""
    classes: dict[ArgumentClass, list[Value]]
    """Class to a sample of distinct values, in the order met."""
    variants_saved: dict[Remedy, int] = field(default_factory=dict)
    seconds_saved: dict[Remedy, float] = field(default_factory=dict)
    """By each remedy alone."""


@dataclass
class KernelFindings:
    """What one kernel did over the run, all processes together.

    Sums over its events are kept: a report asks for each a dozen times, of up to 50,000 events.
    """

    kernel: Kernel
    events: list[MissEvent]
    scenario: Scenario
    arguments: list[ArgumentFindings]
    plan: tuple[Step, ...]
    tuning: TuneFindings | None

    @property
    def variants(self) -> int:
        """Distinct compiled versions."""
        return self.scenario.as_is.variants

    @cached_property
    def misses(self) -> Counter[Kind]:
        """Misses by kind."""
        return Counter(event.kind for event in self.events)

    @cached_property
    def recompiles(self) -> list[MissEvent]:
        """In launch order within each process."""
        return [event for event in self.events if event.recompile]

    @cached_property
    def seconds(self) -> float:
        """Stall of all its misses that came from launches."""
        return sum(event.seconds for event in self.events if event.from_launch)

    @cached_property
    def seconds_recompiles(self) -> float:
        """Stall of its recompiles."""
        return sum(event.seconds for event in self.recompiles)

    @property
    def seconds_lost(self) -> float:
        """What reports rank by: recompiles and tuning again."""
        return self.seconds_recompiles + (self.tuning.seconds_retunes if self.tuning else 0.0)

    @property
    def seconds_saved(self) -> float:
        """What the whole plan would save, of what recompiles lost."""
        if not self.plan:
            return 0.0
        return min(self.scenario.as_is.seconds - self.plan[-1].after.seconds, self.seconds_recompiles)

    @property
    def recompiles_saved(self) -> int:
        """Recompiles that the whole plan would end."""
        if not self.plan:
            return 0
        return min(self.scenario.as_is.misses - self.plan[-1].after.misses, len(self.recompiles))


@dataclass(slots=True)
class Findings:
    """A run, understood."""

    run: Run
    kernels: list[KernelFindings]
    """The dearest first."""
    orphans: int
    """Misses whose ``kernel`` line was lost."""

    @property
    def misses(self) -> Counter[Kind]:
        """Misses of the run by kind."""
        return sum((each.misses for each in self.kernels), Counter())

    @property
    def recompiles(self) -> int:
        """Recompiles of the run."""
        return sum(len(each.recompiles) for each in self.kernels)

    @property
    def seconds(self) -> float:
        """Stall of all launches' misses."""
        return sum(each.seconds for each in self.kernels)

    @property
    def seconds_recompiles(self) -> float:
        """Stall of all recompiles."""
        return sum(each.seconds_recompiles for each in self.kernels)

    @property
    def seconds_saved(self) -> float:
        """What all plans together would save."""
        return sum(each.seconds_saved for each in self.kernels)

    @property
    def recompiles_saved(self) -> int:
        """Recompiles that all plans together would end."""
        return sum(each.recompiles_saved for each in self.kernels)


def analyse(run: Run) -> Findings:
    """Attribute every miss of a run and work out what would end them."""
    events: dict[Identity, list[MissEvent]] = {}
    tunings: dict[Identity, list[Tuning]] = {}
    kernels: dict[Identity, Kernel] = {}
    for event in trace_misses(run.processes):
        events.setdefault(event.kernel.identity, []).append(event)
        kernels.setdefault(event.kernel.identity, event.kernel)
    for process in run.processes:
        for tune in process.tunes:
            kernel = process.kernels.get(tune.kernel)
            if kernel is not None:
                tunings.setdefault(kernel.identity, []).append((process, tune))
                kernels.setdefault(kernel.identity, kernel)
    found = [
        _study_kernel(kernel, events.get(identity, []), tunings.get(identity, []), run)
        for identity, kernel in kernels.items()
    ]
    found.sort(key=lambda each: (-each.seconds_lost, -each.seconds, each.kernel.name))
    orphans = sum(
        miss.variant.function not in process.kernels for process in run.processes for miss in process.misses
    )
    return Findings(run, found, orphans)


def _study_kernel(
    kernel: Kernel, events: list[MissEvent], tunings: Sequence[Tuning], run: Run
) -> KernelFindings:
    # Runs that mix releases of Triton: the oldest decides which remedies can be written.
    traits = traits_of(min(run.triton, key=release_of, default=""))
    scenario = Scenario(kernel.parameters, events, traits)
    caused = Counter(name for event in events if event.recompile for name in _blamed(event))
    return KernelFindings(
        kernel,
        events,
        scenario,
        [
            _study_argument(i, parameter, caused[parameter.name], events, scenario)
            for i, parameter in enumerate(kernel.parameters)
        ],
        make_plan(scenario),
        study_tuning(tunings),
    )


def _blamed(event: MissEvent) -> set[str | None]:
    """Parameters that the event's cause names."""
    return {change.parameter for change in event.changes if change.subject is Subject.ARGUMENT}


def _study_argument(
    position: int, parameter: Parameter, caused: int, events: Sequence[MissEvent], scenario: Scenario
) -> ArgumentFindings:
    found = ArgumentFindings(parameter, caused, _values_by_class(position, events, scenario))
    for remedy in scenario.remedies.get(position, ()):
        left = scenario.outcome({position: remedy})
        found.variants_saved[remedy] = scenario.as_is.variants - left.variants
        found.seconds_saved[remedy] = scenario.as_is.seconds - left.seconds
    return found


def _values_by_class(
    position: int, events: Sequence[MissEvent], scenario: Scenario
) -> dict[ArgumentClass, list[Value]]:
    seen: dict[ArgumentClass, dict[str, Value]] = {}
    # Classes still short of values, to stop early; a failed miss can bring one that the scenario does not hold.
    failed = any(event.kind is Kind.FAILED for event in events)
    wanting = len(events) if failed else len(scenario.classes[position])
    for event in events:
        if not wanting:
            break
        if position >= len(event.miss.values):
            continue
        values = seen.setdefault(event.miss.variant.arguments[position], {})
        if len(values) < SAMPLE:
            value = event.miss.values[position]
            values.setdefault(show_value(value), value)
            wanting -= len(values) == SAMPLE
    return {klass: list(values.values()) for klass, values in seen.items()}
