"""What kernels did between two moments of a test."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from functools import cached_property

from jitwatch.analysis import Findings, Kind, MissEvent, analyse
from jitwatch.rundir import Kernel, ProcessLog, Site, Tune
from jitwatch.testing.kernels import KernelLike, selector
from jitwatch.testing.recording import OWN, Mark, Recording


@dataclass(frozen=True)
class Tuned:
    """An autotuner met a new key."""

    process: ProcessLog
    kernel: Kernel
    tune: Tune
    earlier: Tune | None
    """The kernel's tuning before it, None for the first."""

    @property
    def time(self) -> float:
        """Unix seconds."""
        return self.tune.time


@dataclass(frozen=True)
class Happened:
    """Misses and tunings between two moments, and the findings of the whole test up to the later one."""

    findings: Findings
    events: tuple[MissEvent, ...]
    """Every miss, in order."""
    tuned: tuple[Tuned, ...]
    since: float
    """Unix seconds of the earlier moment."""

    @cached_property
    def misses(self) -> tuple[MissEvent, ...]:
        """Launches that found no variant in memory, first variants among them; not candidates of an autotuner,
        warm-ups, preloads, or launches that raised.
        """
        return tuple(each for each in self.events if each.from_launch and each.kind is not Kind.FAILED)

    @property
    def recompiles(self) -> tuple[MissEvent, ...]:
        """Misses after the kernel's first variant in the test."""
        return tuple(each for each in self.events if each.recompile)

    @property
    def disk_hits(self) -> tuple[MissEvent, ...]:
        """Misses that Triton's disk cache answered."""
        return tuple(each for each in self.misses if each.miss.served and each.miss.served.cached)

    @property
    def candidates(self) -> tuple[MissEvent, ...]:
        """Variants that autotuners compiled to try them."""
        return tuple(each for each in self.events if each.kind is Kind.AUTOTUNE_CANDIDATE)

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of the kernels that missed or were tuned, in order."""
        things: list[MissEvent | Tuned] = sorted((*self.events, *self.tuned), key=moment)
        return tuple(dict.fromkeys(each.kernel.name for each in things))

    def variants(self, kernel: KernelLike) -> tuple[dict[str, str], ...]:
        """Argument classes, in words by parameter, of the variants that launches of `kernel` missed."""
        matches = selector(kernel)
        missed = [each for each in self.misses if matches(each.kernel)]
        return tuple(
            {
                parameter.name: klass.word(parameter, typed=True)
                for parameter, klass in zip(each.kernel.parameters, arguments, strict=False)
            }
            for (arguments, _), each in {
                (each.miss.variant.arguments, each.miss.variant.options): each for each in missed
            }.items()
        )


def moment(thing: MissEvent | Tuned) -> float:
    """When it happened, in Unix seconds."""
    return thing.miss.time if isinstance(thing, MissEvent) else thing.time


def happened(recording: Recording, test: Mark, shared: Set[int], begin: Mark, end: Mark) -> Happened:
    """What happened from `begin` to `end`, in a test that began at `test` after the misses `shared` of its fixtures."""
    run = recording.run(test, shared)
    findings = analyse(run)
    own = recording.misses(begin, end)
    events = [
        event
        for kernel in findings.kernels
        for event in kernel.events
        if (event.miss.n in own if event.process.file == OWN else begin.time <= event.miss.time <= end.time)
    ]
    tuned = [
        each for process in run.processes for each in _tunings(process) if begin.time <= each.time <= end.time
    ]
    return Happened(findings, tuple(sorted(events, key=moment)), tuple(sorted(tuned, key=moment)), begin.time)


def _tunings(process: ProcessLog) -> list[Tuned]:
    latest: dict[tuple[str, str, str, int], Tune] = {}
    found = []
    for tune in process.tunes:
        kernel = process.kernels.get(tune.kernel)
        if kernel is not None:
            found.append(Tuned(process, kernel, tune, latest.get(kernel.identity)))
            latest[kernel.identity] = tune
    return found


def place_of(thing: MissEvent | Tuned) -> Site | None:
    """Where it was launched."""
    return thing.miss.site if isinstance(thing, MissEvent) else thing.tune.site
