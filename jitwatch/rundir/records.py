"""What a run directory holds, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jitwatch.specialization import Parameter, Value, Variant


@dataclass(frozen=True, slots=True)
class Site:
    """A place in the user's source."""

    path: str
    line: int
    function: str = ""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A JITFunction object of one process."""

    id: int
    name: str
    module: str
    path: str
    line: int
    parameters: tuple[Parameter, ...]

    @property
    def identity(self) -> tuple[str, str, str, int]:
        """Equal for the same source function in every process, and after it was decorated again."""
        return (self.module, self.name, self.path, self.line)


@dataclass(frozen=True, slots=True)
class Served:
    """How a miss ended."""

    time: float
    seconds: float
    cached: bool | None
    stages: Mapping[str, float]
    failed: str | None


@dataclass(slots=True)
class Miss:
    """A launch without a compiled variant in memory, and how it was served."""

    n: int
    time: float
    thread: int
    key: str
    via: str
    variant: Variant
    values: tuple[Value, ...]
    site: Site | None
    stack: tuple[Site, ...]
    capturing: bool
    served: Served | None = None
    load_seconds: float = 0.0
    """From the compile's end until its module was on the device; not part of ``served.seconds``."""
    grid: tuple[int, ...] | None = None
    """Programs along each axis, where the run tells."""


@dataclass(frozen=True, slots=True)
class Tune:
    """An autotuner met a new key."""

    time: float
    kernel: int
    key: tuple[tuple[str, Value], ...]
    dtypes: tuple[str, ...]
    candidates: int
    best: str | None
    seconds: float
    losers: float
    cached: bool
    misses: tuple[int, ...]
    site: Site | None


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence for the reader of the report."""

    topic: str
    text: str


@dataclass(slots=True)
class ProcessLog:
    """The events of one process, in order."""

    file: str
    pid: int
    time: float
    host: str = ""
    argv: tuple[str, ...] = ()
    rank: int | None = None
    triton: str = ""
    offline: str | None = None
    parent: str | None = None
    """File of the process it was forked from: it inherits that one's variants."""
    kernels: dict[int, Kernel] = field(default_factory=dict)
    misses: list[Miss] = field(default_factory=list)
    tunes: list[Tune] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)

    @property
    def label(self) -> str:
        """``rank 3`` where there are ranks, else ``pid 4242``."""
        return f"pid {self.pid}" if self.rank is None else f"rank {self.rank}"


@dataclass(frozen=True, slots=True)
class Unobserved:
    """A Python process of the run that never reported."""

    pid: int
    argv: tuple[str, ...]
    reason: str


@dataclass(slots=True)
class Run:
    """Everything a run directory tells."""

    path: Path
    command: tuple[str, ...] = ()
    cwd: str = ""
    started: str | None = None
    ended: str | None = None
    exit_code: int | None = None
    target: str | None = None
    offline: bool = False
    seen: int = 0
    """Python processes that started under the run, Triton or not."""
    processes: list[ProcessLog] = field(default_factory=list)
    unobserved: tuple[Unobserved, ...] = ()
    skipped_lines: int = 0
    notes: list[str] = field(default_factory=list)
    """What the reader of the report must know about the files themselves."""

    @property
    def triton(self) -> tuple[str, ...]:
        """Versions of Triton in the run, normally one."""
        return tuple(sorted({process.triton for process in self.processes if process.triton}))
