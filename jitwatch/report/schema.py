"""The shape of the JSON report: what ``jitwatch report --format json`` prints.

Keys may be added within a schema. Seconds are wall time (see ``jitwatch.analysis``), times Unix seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

SCHEMA = 1
"""Raised when a reader of the old one would misread."""


class Place(TypedDict):
    """A place in the user's source."""

    path: str
    line: int
    function: str


class ChangeRow(TypedDict):
    """One difference to the closest earlier variant."""

    subject: str
    """``argument``, ``option``, ``option_spelling``, ``device``, ``function``, ``cache`` or ``unseen``."""
    argument: str
    """Name of the argument (``strides[1]`` in a tuple), option, ...."""
    before: dict[str, Any]
    """``class`` in words and ``value``."""
    after: dict[str, Any]
    words: str


class EventRow(TypedDict):
    """One miss, in launch order within its process."""

    time: float
    """Unix seconds."""
    process: str
    """Name of its event file."""
    pid: int
    rank: int | None
    kind: str
    recompile: bool
    seconds: float
    """Stall."""
    load_seconds: float
    """From the compile's end until the module was on the device, not part of ``seconds``."""
    stages: Mapping[str, float]
    launch: Place | None
    changed: list[ChangeRow]
    threads: int
    """That raced on it."""
    capturing: bool
    error: str | None


class ClassRow(TypedDict):
    """A class an argument was seen in, and some of its values."""

    word: str
    values: list[Any]


class ArgumentRow(TypedDict):
    """One parameter of a kernel."""

    name: str
    constexpr: bool
    recompiles: int
    """Recompiles whose cause names it."""
    classes: list[str]
    values: list[Any]
    """A sample over all classes."""
    by_class: list[ClassRow]
    variants_saved: dict[str, int]
    seconds_saved: dict[str, float]
    """By remedy alone: ``do_not_specialize``, ``do_not_specialize_on_alignment``, ``annotate`` (a fixed integer
    type and ``do_not_specialize``), ``runtime_argument``. Only those that can be written."""


class EditRow(TypedDict):
    """A remedy for one argument."""

    argument: str
    remedy: str
    caution: str | None
    """Why it may cost speed, where something hints at it. None promises nothing: prove it."""


class StepRow(TypedDict):
    """Changes to write together, and what they and the steps before them leave."""

    edits: list[EditRow]
    decorator: str
    """The kernel's decorator with this step and those before it."""
    declarations: list[str]
    """Parameters to declare anew, likewise."""
    variants_before: int
    variants_after: int
    recompiles_saved: int
    seconds_saved: float


class TuneArgumentRow(TypedDict):
    """An argument of an autotune key."""

    name: str
    values: list[Any]
    retunes_saved: int
    seconds_saved: float


class TuneRow(TypedDict):
    """The tuning of one kernel."""

    tunes: int
    retunes: int
    candidates: int
    seconds: float
    seconds_retunes: float
    seconds_losers: float
    arguments: list[TuneArgumentRow]


class KernelRow(TypedDict):
    """One kernel, all processes together."""

    name: str
    module: str
    path: str
    line: int
    variants: int
    misses: dict[str, int]
    recompiles: int
    seconds: float
    """Stall of all launches' misses (see ``jitwatch.analysis``)."""
    seconds_recompiles: float
    arguments: list[ArgumentRow]
    events: list[EventRow]
    plan: list[StepRow]
    advice: list[str]
    tuning: TuneRow | None


class ProcessRow(TypedDict):
    """A process that imported Triton."""

    file: str
    pid: int
    rank: int | None
    host: str
    argv: list[str]
    triton: str
    parent: str | None


class UnobservedRow(TypedDict):
    """A process that never reported."""

    pid: int
    argv: list[str]
    reason: str


class RunRow(TypedDict):
    """The run itself."""

    path: str
    command: list[str]
    started: str | None
    ended: str | None
    exit_code: int | None
    triton: list[str]
    target: str | None
    offline: bool
    processes: list[ProcessRow]
    unobserved: list[UnobservedRow]
    skipped_lines: int
    notes: list[str]


class Totals(TypedDict):
    """Over all kernels."""

    misses: dict[str, int]
    recompiles: int
    seconds: float
    seconds_recompiles: float
    seconds_saved: float
    """What all plans together would save."""
    recompiles_saved: int


class RankRow(TypedDict):
    """One rank over the run."""

    rank: int
    misses: int
    """Of launches."""
    recompiles: int
    seconds: float
    """Stood still in its own misses, loading modules included."""
    waited: float
    """Waited for other ranks' misses."""


class WindowRow(TypedDict):
    """Misses of ranks between the same two collectives (see ``jitwatch.analysis.ranks``)."""

    time: float
    """Unix seconds of the first miss."""
    seconds: float
    """Stall of the group: that of the slowest rank."""
    gpu_seconds: float
    """Lost over all ranks, stalled or waiting."""
    slowest: int
    only_rank: int | None
    """The rank, when a single one missed."""
    missed: list[int]
    compiled: list[int]
    """Those that missed and did not read from the disk cache."""
    kernels: list[str]
    recompiles: int
    stalls: dict[str, float]
    """Seconds of each rank that missed."""


class RanksRow(TypedDict):
    """The ranks of a run as one group that waits for its slowest."""

    seconds: float
    """Stall of the group, first variants included."""
    gpu_seconds: float
    seconds_recompiles: float
    gpu_seconds_recompiles: float
    by_rank: list[RankRow]
    windows: list[WindowRow]


class Document(TypedDict):
    """The whole report."""

    schema: int
    run: RunRow
    totals: Totals
    ranks: RanksRow | None
    """None for a run of fewer than two ranks."""
    kernels: list[KernelRow]
    notices: list[dict[str, str]]
