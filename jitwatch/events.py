"""The event file: what a watched process writes, one JSON object a line, and every report reads.

A run directory holds::

    RUN/run.json              the command, when it ran, how it ended (written by `jitwatch profile`)
    RUN/processes.jsonl       one line for each Python process that started under the run (``Seen``)
    RUN/events/*.jsonl        one file for each process that imported Triton, named HOST-PID-START

Each line is appended with one ``write`` as it happens, so ``kill -9`` loses nothing already measured. Readers
count and skip lines they cannot parse and keys they do not know; a ``v`` above ``VERSION`` is an error that
asks for a newer jitwatch.

The events of one process, in order:

``process``   the first line: who this process is, which Triton, what its hooks can tell
``kernel``    once for each JITFunction object that misses: its source and its parameters
``miss``      a launch whose variant is not in the in-memory cache, before the compile
``served``    the same miss (same ``n``) after it; a miss without one failed, or was cut short
``load``      the module of miss ``n`` was loaded onto the device (Triton 3.5 and later)
``tune``      an autotuner met a new key and chose
``notice``    something the reader of the report must know, in words (a displaced hook, an offline answer)

This module is imported inside watched processes: standard library only, Python 3.8 syntax.
"""

from __future__ import annotations

from typing import Any, List, TypedDict

VERSION = 1
"""Schema version, the ``v`` of every ``process`` line. Raised when a reader of the old one would misread."""

RUN_FILE = "run.json"
SEEN_FILE = "processes.jsonl"
EVENTS_DIR = "events"

SESSION_ENV = "JITWATCH_SESSION"
"""The run directory. Set by `jitwatch profile` for its child; unset, nothing is ever attached."""

OFFLINE_ENV = "JITWATCH_OFFLINE"
"""Target of the offline driver, such as ``cuda:90``; unset or empty on a real device."""

EXECUTE_ENV = "JITWATCH_EXECUTE"
"""``0``: offline launches compile but do not run in the interpreter."""


class Seen(TypedDict):
    """One line of ``processes.jsonl``: the bootstrap ran in this process."""

    pid: int
    ppid: int
    time: float
    """Unix seconds."""
    argv: list[str]
    python: str
    """Path of the interpreter."""
    skipped: str | None
    """Why nothing was attached (the deny-list), or None."""


class Process(TypedDict, total=False):
    """First line of a process's file."""

    event: str
    v: int
    time: float
    pid: int
    ppid: int
    host: str
    argv: list[str]
    python: str
    triton: str
    torch: str | None
    rank: int | None
    """``RANK`` of torchrun and its like."""
    offline: str | None
    """``cuda:90`` when the offline driver stands in for a device."""
    parent: str | None
    """Name of the file of the process this one was forked from, when it was."""
    probes: dict[str, bool]
    """What this Triton can tell: ``miss_hook``, ``post_hook``, ``compile_listener``, ``tune_listener``,
    ``load_hooks``."""


class Param(TypedDict):
    """One parameter of a kernel, as Triton sees its declaration."""

    name: str
    constexpr: bool
    no_specialize: bool
    """Listed in ``do_not_specialize``."""
    no_alignment: bool
    """Listed in ``do_not_specialize_on_alignment``."""
    annotation: str | None
    """A type annotation that fixes the type (``i32``), or None."""


class Kernel(TypedDict):
    """A JITFunction object, told once before its first miss. A re-decorated function is another object."""

    event: str
    id: int
    """Number of the object within this process; ``miss`` lines name it."""
    name: str
    """``__qualname__`` of the function."""
    module: str
    path: str
    line: int
    """Of its ``def``."""
    params: list[Param]


Argument = List[Any]
"""``[type, spec, value]`` of one argument, in the order of the kernel's ``params``.

``type``: Triton's word for it (``i32``, ``*fp32``, ``constexpr``, ``u1``, ``tensordesc<fp16[16]>``), for a
tuple the list of its elements' types. ``spec``: ``"D"`` divisible by 16 or aligned, ``""`` neither, ``"S"``
and ``"DS"`` with AMD's small-pointer flag, None when the argument is not specialised, ``1`` for a 1 whose type an
annotation fixes (a class of its own, not folded), the folded value for
``constexpr`` (an integer 1 or None that Triton folded has type ``constexpr`` too: the parameter's own flag
tells them apart), for a tuple the list of its elements'. Releases before 3.3 are written in these terms too.

``value``: a bool, int, finite float, str or None as it is; a tuple as a list; a tensor as
``{"tensor": "bfloat16", "shape": [4, 8], "mod16": 0, "bytes": 64}`` (its address modulo 16, and the size of its
storage, of which a view is a part; older files have no ``bytes``); a tensor descriptor as
``{"descriptor": "float16", "shape": [...], "block": [...]}``; anything else as ``{"repr": "..."}``.
"""


class Miss(TypedDict, total=False):
    """A launch that found no compiled variant in memory. Written before the compile starts."""

    event: str
    n: int
    """Number of the miss within the process, in launch order."""
    time: float
    thread: int
    kernel: int
    key: str
    """Digest of Triton's in-memory key: equal for equal keys of one Triton release."""
    device: Any
    via: str
    """``launch``, ``warmup`` (``.warmup()``), ``preload`` or ``tune`` (an autotuner's candidate)."""
    args: list[Argument]
    options: dict[str, Any]
    """Launch options as they were passed, which is how they enter the key, in the order passed; key-changing
    knobs (``debug``, ``instrumentation_mode``, a custom pipeline) among them."""
    effective: str | None
    """Digest of the options after Triton filled in its defaults: equal for two spellings of the same options."""
    site: list[Any] | None
    """``[path, line, function]`` of the launch, frames of Triton and torch left out."""
    stack: list[list[Any]]
    """Up to eight frames outward from ``site``."""
    grid: list[int] | None
    """Programs along each axis, where the launch spelled the grid as integers. A function of the arguments is user code
    and not called for it; ``load`` has what came of it."""
    capturing: bool
    """A CUDA graph was being captured: the module load that follows can fail there."""


class Served(TypedDict, total=False):
    """How miss ``n`` ended."""

    event: str
    n: int
    time: float
    seconds: float
    """Wall time the launching thread spent in the miss (asynchronous compiles: until the result)."""
    cached: bool | None
    """True: read from Triton's disk cache. None: this release does not tell."""
    stages: dict[str, float]
    """Seconds by compiler stage (``ttir``, ``ttgir``, ``llir``, ``ptx``, ``cubin``)."""
    failed: str | None
    """First line of the exception that ended the compile, when it was seen."""


class Load(TypedDict, total=False):
    """A compiled module was loaded onto the device, on the way to its first launch."""

    event: str
    n: int | None
    kernel: str
    time: float
    seconds: float
    grid: list[int] | None
    """Programs along each axis of that launch."""


class Tune(TypedDict, total=False):
    """An autotuner met a new key, and benchmarked its configurations (offline: takes the first)."""

    event: str
    time: float
    kernel: int
    key: list[Any]
    """``[name, value]`` of each argument in its ``key``, then the dtypes Triton adds."""
    candidates: int
    best: str | None
    seconds: float
    losers: float
    """Seconds of candidates that were not chosen, out of ``seconds``."""
    cached: bool
    """Answered from Triton's disk cache of tuning results."""
    misses: list[int]
    """The candidate misses it caused."""
    site: list[Any] | None


class Notice(TypedDict):
    """A sentence for the reader of the report."""

    event: str
    time: float
    topic: str
    """A word to group by: ``hooks``, ``offline``, ``interpreter``, ``internal``."""
    text: str
