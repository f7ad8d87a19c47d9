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
``kernel``    once for each JITFunction object that misses: its source place and its parameters
``miss``      a launch whose variant is not in the in-memory cache, before the compile
``served``    the same miss (same ``n``) after it; a miss without one failed, or was cut short
``load``      the module of miss ``n`` was loaded onto the device (Triton 3.5 and later)
``tune``      an autotuner met a new key and chose
``notice``    something the reader of the report must know, in words (a displaced hook, an offline answer)

This module is imported inside watched processes: standard library only, Python 3.8 syntax.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, TypedDict

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

ON_RECOMPILE_ENV = "JITWATCH_ON_RECOMPILE"
"""``record`` (default), ``warn`` or ``raise``."""


class Seen(TypedDict):
    """One line of ``processes.jsonl``: the bootstrap ran in this process."""

    pid: int
    ppid: int
    time: float
    """Unix seconds."""
    argv: List[str]
    python: str
    """Path of the interpreter."""
    skipped: Optional[str]
    """Why nothing was attached (the deny-list), or None."""


class Process(TypedDict, total=False):
    """First line of a process's file."""

    event: str
    v: int
    time: float
    pid: int
    ppid: int
    host: str
    argv: List[str]
    python: str
    triton: str
    torch: Optional[str]
    rank: Optional[int]
    """``RANK`` of torchrun and its like."""
    offline: Optional[str]
    """``cuda:90`` when the offline driver stands in for a device."""
    parent: Optional[str]
    """Name of the file of the process this one was forked from, when it was."""
    probes: Dict[str, bool]
    """What this Triton can tell: ``miss_hook``, ``post_hook``, ``compile_listener``, ``tune_listener``, ``load_hooks``."""


class Param(TypedDict):
    """One parameter of a kernel, as Triton sees its declaration."""

    name: str
    constexpr: bool
    no_specialize: bool
    """Listed in ``do_not_specialize``."""
    no_alignment: bool
    """Listed in ``do_not_specialize_on_alignment``."""
    annotation: Optional[str]
    """A type annotation that fixes the type (``i32``), or None."""


class Kernel(TypedDict):
    """A JITFunction object, told once before its first miss. A re-decorated function is another object, another line."""

    event: str
    id: int
    """Number of the object within this process; ``miss`` lines name it."""
    name: str
    """``__qualname__`` of the function."""
    module: str
    path: str
    line: int
    """Of its ``def``."""
    params: List[Param]


Argument = List[Any]
"""``[type, spec, value]`` of one argument, in the order of the kernel's ``params``.

``type``: Triton's word for it (``i32``, ``*fp32``, ``constexpr``, ``fp32``, ``u1``, ``tensordesc<fp16[16, 16]>``), for a
tuple the list of its elements' types. ``spec``: ``"D"`` divisible by 16 or aligned, ``""`` neither, ``"S"`` / ``"DS"`` with
AMD's small-pointer flag, None when the argument is not specialised; the folded value for ``constexpr``.
Releases before 3.3 are written in these same terms. ``value``: see ``jitwatch.runtime.values``.
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
    args: List[Argument]
    options: Dict[str, Any]
    """Launch options as they were passed (``num_warps``), which is how they enter the key; with key-changing knobs."""
    site: Optional[List[Any]]
    """``[path, line, function]`` of the launch, frames of Triton and torch left out."""
    stack: List[List[Any]]
    """Up to eight frames outward from ``site``."""
    capturing: bool
    """A CUDA graph was being captured: the module load that follows can fail there."""


class Served(TypedDict, total=False):
    """How miss ``n`` ended."""

    event: str
    n: int
    time: float
    seconds: float
    """Wall time the launching thread spent in the miss (asynchronous compiles: until the result)."""
    cached: Optional[bool]
    """True: read from Triton's disk cache. None: this release does not tell."""
    stages: Dict[str, float]
    """Seconds by compiler stage (``ttir``, ``ttgir``, ``llir``, ``ptx``, ``cubin``)."""
    failed: Optional[str]
    """First line of the exception that ended the compile, when it was seen."""


class Load(TypedDict):
    """A compiled module was loaded onto the device."""

    event: str
    n: Optional[int]
    kernel: str
    time: float
    seconds: float


class Tune(TypedDict, total=False):
    """An autotuner met a key it had not seen, and benchmarked its configurations (offline: took the first)."""

    event: str
    time: float
    kernel: int
    key: List[Any]
    """``[name, value]`` of each argument in its ``key``, then the dtypes Triton adds."""
    candidates: int
    best: Optional[str]
    seconds: float
    losers: float
    """Seconds of candidates that were not chosen, out of ``seconds``."""
    cached: bool
    """Answered from Triton's disk cache of tuning results."""
    misses: List[int]
    """The candidate misses it caused."""
    site: Optional[List[Any]]


class Notice(TypedDict):
    """A sentence for the reader of the report."""

    event: str
    time: float
    topic: str
    """A word to group by: ``hooks``, ``offline``, ``interpreter``, ``internal``."""
    text: str
