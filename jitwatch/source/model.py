"""What the source says: kernels, their parameters and decorators, and the launches that feed them.

Plain frozen data without a syntax tree in it, so that a module analysed in a worker process can be pickled,
cached by content and linked with the others later. ``analyse_module`` fills it, ``link`` joins it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, Flag, auto


@dataclass(frozen=True)
class Span:
    """A stretch of a file, as displayed (1-based characters) and as edited (byte offsets into the file)."""

    line: int
    column: int
    end_line: int
    end_column: int
    start: int
    end: int


class Role(Flag):
    """What a kernel does with a parameter, its jitted helpers included. No flag at all: nothing."""

    NONE = 0
    COMPARED = auto()
    """Bounds a mask or a condition."""
    LOOP = auto()
    """Is the trip count of a run-time loop."""
    SHAPE = auto()
    """Is the shape of a tensor (``arange``, ``zeros``) or the bound of a loop unrolled at compile time."""
    ADDRESS = auto()
    """Takes part in address arithmetic."""
    STRIDE = auto()
    """Multiplies an index inside an address."""
    ROW = auto()
    """Multiplies one index of an address that another index moves along as well: it steps from row to row."""
    DESCRIPTOR = auto()
    """Is a shape or stride of a block pointer or a tensor descriptor."""
    DIVISOR = auto()
    """Divides an index (``//``, ``%``), which is cheaper when it is known at compile time."""
    BRANCH = auto()
    """Chooses code at compile time, or is None at some launches."""
    VALUE = auto()
    """Enters the arithmetic of the result."""
    POINTER = auto()
    """Is a pointer."""
    PASSED = auto()
    """Is handed to a function whose source is not among the linted files."""
    OVERWRITTEN = auto()
    """Is assigned before it is ever read: what the launch passed is dropped."""
    REASSIGNED = auto()
    """Is replaced by a run-time value of the kernel's own on some paths: ``if IS_VARLEN: T = eos - bos``. A cast or a
    multiple of it replaces nothing."""
    ASSUMED = auto()
    """Is named by ``tl.assume`` or ``tl.static_assert``, which emit no code."""


SILENT = Role.ASSUMED | Role.OVERWRITTEN | Role.REASSIGNED
"""Roles that do not mean that the launch's value is used."""


class Contiguity(Flag):
    """How a parameter's divisibility reaches the vector width of the kernel's loads and stores."""

    NONE = 0
    MASK = auto()
    """Masks the axis that is contiguous in memory: without ``% 16 == 0`` the access becomes scalar."""
    STRIDE = auto()
    """Multiplies the row index of an access whose other axis is contiguous: likewise."""
    BASE = auto()
    """Is the pointer, or an offset added to it, of an access along the contiguous axis."""
    UNIT = auto()
    """Is the stride of the axis that is contiguous when it is 1: Triton folds a 1 only if it specialises it."""


class DecoratorKind(Enum):
    """What a decorator does to the compile key."""

    JIT = "jit"
    GLUON = "gluon"
    AUTOTUNE = "autotune"
    HEURISTICS = "heuristics"
    OTHER = "other"


@dataclass(frozen=True)
class Entry:
    """One element of a list of parameters: a name or a position, or neither when it is not a literal."""

    span: Span
    text: str
    name: str | None = None
    position: int | None = None


@dataclass(frozen=True)
class Listing:
    """The value of ``do_not_specialize=``, ``do_not_specialize_on_alignment=`` or ``key=``."""

    keyword: str
    span: Span
    """Of the value; of the list itself where the value is the name of a module's list."""
    form: str
    """``list``, ``tuple``, ``string`` or ``expression``."""
    entries: tuple[Entry, ...]
    literal: bool
    """Every element is written out. False: a name, a conditional or a starred part hides some of them, and
    ``entries`` holds every literal found inside."""
    shared: bool = False
    """It stands in a module's variable that is used elsewhere too."""


@dataclass(frozen=True)
class Keyword:
    """A keyword of a decorator's call."""

    name: str
    span: Span
    value: Span
    text: str


class Cardinality(Enum):
    """How many values an argument can take over the life of a process."""

    UNBOUNDED = "unbounded"
    LOG2 = "log2"
    """Powers of two of a length."""
    FEW = "few"
    ONE = "one"


@dataclass(frozen=True)
class Settled:
    """A parameter that a decorator provides."""

    name: str
    cardinality: Cardinality
    """If every argument it reads takes any value; what it really takes depends on those."""
    text: str
    span: Span
    reads: tuple[str, ...]
    """Arguments that the heuristic looks at."""


@dataclass(frozen=True)
class Decorator:
    """One decorator of a kernel, or one wrapping call (``k = triton.jit(k)``)."""

    kind: DecoratorKind
    name: str
    """As written, such as ``triton.jit``."""
    span: Span
    """Without the ``@``."""
    is_call: bool
    keywords: tuple[Keyword, ...] = ()
    listings: tuple[Listing, ...] = ()
    """Opt-out lists of a jit, key of an autotuner."""
    settles: tuple[Settled, ...] = ()
    """Parameters that a heuristic or the autotuner's configurations provide."""
    configurations: int | None = None
    """How many the autotuner tries, when it can be counted."""

    def listing(self, keyword: str) -> Listing | None:
        """Return the list given as ``keyword``."""
        return next((each for each in self.listings if each.keyword == keyword), None)


@dataclass(frozen=True)
class Pass:
    """A parameter handed on, unchanged, to a function called from the kernel."""

    function: str
    """As written: a name, or ``module.name``."""
    position: int | None
    keyword: str | None
    direct: bool
    """Unchanged, so that what the function learns of it holds for the kernel's parameter too."""
    followed: bool = False
    """Whether the function's accesses were looked at with the values it gets here."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel."""

    name: str
    index: int
    span: Span
    """Of the name."""
    declaration: Span
    """Of the name with its annotation and default."""
    annotation: str | None
    annotation_span: Span | None
    is_constexpr: bool
    default: str | None
    roles: Role = Role.NONE
    contiguity: Contiguity = Contiguity.NONE
    passes: tuple[Pass, ...] = ()


class Memo(Enum):
    """How often the function around a nested kernel creates it."""

    NOT_NESTED = "not nested"
    PER_CALL = "per call"
    MEMOISED = "memoised"
    """The function caches what it builds: a decorator, a module global filled once, a dictionary."""


@dataclass(frozen=True)
class Kernel:
    """One jitted function."""

    name: str
    qualname: str
    path: str
    span: Span
    """Of the name in its ``def``."""
    definition: Span
    """Of the whole definition, decorators included."""
    parameters: tuple[Parameter, ...]
    decorators: tuple[Decorator, ...]
    """Outermost first."""
    memo: Memo = Memo.NOT_NESTED
    enclosing: str | None = None
    """Name of the function it is defined in."""
    by_call: bool = False
    """The function is jitted by a call (``k = triton.jit(k)``), not by a decorator."""
    is_entry: bool = True
    """Reads the grid or writes memory. A jitted function that does neither is only ever called by others."""
    streams: tuple[str, ...] = ()
    """Pointers accessed along a contiguous axis, where divisibility decides the vector width."""

    @property
    def key(self) -> Key:
        """Identity within a project."""
        return self.path, self.qualname, self.span.line

    def parameter(self, name: str) -> Parameter | None:
        """Return the parameter called ``name``."""
        return next((each for each in self.parameters if each.name == name), None)

    @property
    def jit(self) -> Decorator:
        """The decorator that makes it a kernel."""
        kinds = (DecoratorKind.JIT, DecoratorKind.GLUON)
        return next(each for each in self.decorators if each.kind in kinds)

    def listed(self, keyword: str) -> Iterator[Parameter]:
        """Yield the parameters that an opt-out list or autotune key names, by name or by position."""
        for listing in (each for deco in self.decorators if (each := deco.listing(keyword))):
            for entry in listing.entries:
                for parameter in self.parameters:
                    if entry.name == parameter.name or entry.position == parameter.index:
                        yield parameter


class Origin(Enum):
    """Where a launch's argument comes from."""

    LENGTH = "length"
    """The size of something that arrives per request: a token count, a batch, an element count."""
    DIMENSION = "dimension"
    """An inner dimension of an activation: a length or a constant, only names can tell."""
    POOL = "pool"
    """The size of a cache or buffer allocated once: one value in a process, another in the next."""
    MODEL_CONSTANT = "model constant"
    """Fixed once the model is loaded: hidden size, heads, vocabulary, the shape of a weight."""
    LITERAL = "literal"
    STRIDE = "stride"
    ROW = "row of a table"
    """The stride of the rows of a table of indices: the table's width. Some tables are as wide as the longest request,
    some as wide as a request may ever be, and the code that launches does not tell which."""
    DERIVED = "derived"
    """Computed from a length: ``cdiv``, ``align``, a product."""
    TENSOR = "tensor"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class LaunchValue:
    """What a launch passes for one parameter."""

    origin: Origin
    cardinality: Cardinality
    text: str
    """The expression, as written at the launch."""
    span: Span
    hops: tuple[str, ...] = ()
    """The assignments followed back from it, such as ``T = x.shape[0]``."""
    offset: bool = False
    """A tensor view that can start at an unaligned address: ``x[start:]``, ``x[:, k:]``."""
    soft: bool = False
    """Told by a position or a name alone: the name of the parameter may say better."""


@dataclass(frozen=True)
class Launch:
    """One place that launches a kernel."""

    target: str
    """The kernel as written: ``name``, ``module.name``, ``self.kernel``."""
    path: str
    span: Span
    how: str
    """``launch`` for ``k[grid](...)``, ``run`` or ``warmup``."""
    function: str
    """Qualified name of the function around it, empty at module level."""
    positional: tuple[LaunchValue, ...]
    keywords: tuple[tuple[str, LaunchValue], ...]
    starred: bool = False
    """A ``*args`` or ``**kwargs`` may hide some arguments; ``positional`` ends before it."""


@dataclass(frozen=True)
class Module:
    """One analysed file."""

    path: str
    kernels: tuple[Kernel, ...] = ()
    launches: tuple[Launch, ...] = ()
    imports: tuple[tuple[str, str], ...] = ()
    """Local name to dotted origin, such as ``("cdiv", "triton.cdiv")``."""
    aliases: tuple[tuple[str, str], ...] = ()
    """Another name of a kernel and the kernel's own: ``run = triton.heuristics(...)(kernel)``."""
    calls: tuple[tuple[str, str], ...] = ()
    """Jitted caller and the function it calls."""


Key = tuple[str, str, int]
"""Path, qualified name and line of a kernel: a name may be defined once in each branch of an ``if``."""


@dataclass(frozen=True)
class BoundLaunch:
    """A launch with its arguments laid over the kernel's parameters."""

    launch: Launch
    arguments: Mapping[str, LaunchValue]
    options: Mapping[str, LaunchValue]
    """Keywords that are no parameter: ``num_warps``, ``num_stages``, a project's own."""


@dataclass(frozen=True)
class Project:
    """Every linted file, joined: helpers' roles in their callers, launches at their kernels."""

    modules: Mapping[str, Module] = field(default_factory=dict)
    kernels: Mapping[str, tuple[Kernel, ...]] = field(default_factory=dict)
    """Linked kernels by path. Their parameters' roles include what called helpers do."""
    launches: Mapping[Key, tuple[BoundLaunch, ...]] = field(default_factory=dict)
    helpers: frozenset[Key] = frozenset()
    """Jitted functions that only other kernels call: they have no key of their own."""
    fed: Mapping[tuple[Key, str], tuple[tuple[Kernel, str], ...]] = field(default_factory=dict)
    """Constexpr parameters of helpers, with the constexprs of callers that they take unchanged."""

    def kernels_in(self, path: str) -> Iterator[Kernel]:
        """Yield the kernels of a file that something launches, or may."""
        return (each for each in self.kernels.get(path, ()) if each.key not in self.helpers)

    def launches_of(self, kernel: Kernel) -> tuple[BoundLaunch, ...]:
        """Return the launches of a kernel in the linted files."""
        return self.launches.get(kernel.key, ())
