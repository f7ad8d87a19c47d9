"""What each miss was: a compile, a disk hit, a tuning candidate; and which misses are recompiles."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from jitwatch.analysis.causes import History, explain
from jitwatch.rundir import Kernel, Miss, ProcessLog
from jitwatch.specialization import Change, Subject, Variant

Identity = tuple[str, str, str, int]


class Kind(enum.Enum):
    """Kind of a miss. The first that holds, in this order:

    whether it ended (``failed``); where it came from, when not from a launch (``manual_warmup``, ``preload``,
    ``autotune_candidate``); why memory had no entry although the code is no new one (``redecorated``,
    ``another_device``, ``option_spelling``: nothing else differs); how it was served (``disk_hit``,
    ``compile``; a release that cannot tell counts as ``compile``).
    """

    FAILED = "failed"
    MANUAL_WARMUP = "manual_warmup"
    PRELOAD = "preload"
    AUTOTUNE_CANDIDATE = "autotune_candidate"
    REDECORATED = "redecorated"
    ANOTHER_DEVICE = "another_device"
    OPTION_SPELLING = "option_spelling"
    DISK_HIT = "disk_hit"
    COMPILE = "compile"


VIA = {"warmup": Kind.MANUAL_WARMUP, "preload": Kind.PRELOAD, "tune": Kind.AUTOTUNE_CANDIDATE}

SAME_CODE = {
    Subject.FUNCTION: Kind.REDECORATED,
    Subject.DEVICE: Kind.ANOTHER_DEVICE,
    Subject.SPELLING: Kind.OPTION_SPELLING,
}


@dataclass(slots=True)
class MissEvent:
    """A miss with its meaning. Threads that raced on one variant are one event."""

    process: ProcessLog
    kernel: Kernel
    miss: Miss
    kind: Kind
    recompile: bool
    """From a launch, after the kernel's first variant in the process, and not failed."""
    changes: tuple[Change, ...]
    """Against the closest earlier variant; empty for the first."""
    seconds: float
    """Stall: the longest of those that raced."""
    threads: int = 1
    """Launches that raced on it: each of them compiles, the last one's result stays."""

    @property
    def from_launch(self) -> bool:
        """A launch met it, so that its time was lost at run time."""
        return self.miss.via not in VIA

    @property
    def error(self) -> str | None:
        """How it failed, when it did."""
        if self.kind is not Kind.FAILED:
            return None
        served = self.miss.served
        return (served and served.failed) or "no end was recorded: it raised, or the process was cut short"

    @property
    def end(self) -> float:
        """Unix seconds at which it was served."""
        return self.miss.served.time if self.miss.served else self.miss.time


def trace_misses(processes: Sequence[ProcessLog]) -> Iterator[MissEvent]:
    """Every miss of a run with its meaning, in launch order within each process; parents before children."""
    histories: dict[str, dict[Identity, History]] = {}
    for process in processes:
        inherited = _inherited(process, histories.get(process.parent or "", {}))
        histories[process.file] = inherited
        yield from _trace_process(process, inherited)


def _trace_process(process: ProcessLog, histories: dict[Identity, History]) -> Iterator[MissEvent]:
    in_flight: dict[tuple[int, str, str], MissEvent] = {}
    for miss in process.misses:
        kernel = process.kernels.get(miss.variant.function)
        if kernel is None:
            continue
        entry = (kernel.id, miss.variant.device, miss.key)
        racing = in_flight.get(entry)
        if racing and racing.kind is not Kind.FAILED and miss.time < racing.end:
            _join(racing, miss)
            continue
        history = histories.setdefault(kernel.identity, History())
        event = _judge(process, kernel, miss, history)
        in_flight[entry] = event
        if event.kind is not Kind.FAILED:
            history.add(miss)
        yield event


def _judge(process: ProcessLog, kernel: Kernel, miss: Miss, history: History) -> MissEvent:
    changes = explain(kernel.parameters, history.closest(miss.variant), miss)
    kind = _kind(miss, changes)
    recompile = bool(history) and miss.via not in VIA and kind is not Kind.FAILED
    seconds = miss.served.seconds if miss.served else 0.0
    return MissEvent(process, kernel, miss, kind, recompile, changes, seconds)


def _kind(miss: Miss, changes: Sequence[Change]) -> Kind:
    if miss.served is None or miss.served.failed is not None:
        return Kind.FAILED
    if miss.via in VIA:
        return VIA[miss.via]
    subjects = {change.subject for change in changes}
    if subjects and subjects <= SAME_CODE.keys():
        return next(kind for subject, kind in SAME_CODE.items() if subject in subjects)
    return Kind.DISK_HIT if miss.served.cached else Kind.COMPILE


def _join(event: MissEvent, miss: Miss) -> None:
    """Count a launch that met a variant still being compiled. An unserved one is the same launch told twice."""
    if miss.served is None:
        return
    event.threads += miss.thread != event.miss.thread
    event.seconds = max(event.seconds, miss.served.seconds)


def _inherited(child: ProcessLog, parent: Mapping[Identity, History]) -> dict[Identity, History]:
    """What a forked child had in memory when it began: its parent's variants, under its own object numbers."""
    numbers = {kernel.identity: kernel.id for kernel in reversed(child.kernels.values())}
    histories: dict[Identity, History] = {}
    for identity, history in parent.items():
        variants: list[tuple[Variant, Miss]] = [
            (variant._replace(function=numbers.get(identity, variant.function)), miss)
            for variant, miss in history.latest.items()
            if miss.served and miss.served.time <= child.time
        ]
        if variants:
            histories[identity] = History(variants)
    return histories
