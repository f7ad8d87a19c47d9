"""Decides whether a parameter is a length: the launches first, the name where they are silent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from jitwatch.source.facts import LENGTH_HINTS
from jitwatch.source.model import (
    SILENT,
    Cardinality,
    DecoratorKind,
    Kernel,
    Launch,
    LaunchValue,
    Origin,
    Parameter,
    Project,
    Role,
    Settled,
)
from jitwatch.source.names import NameHint, hint, is_bucket, names_row, run_time_hint, words

OPT_OUT, ON_ALIGNMENT = "do_not_specialize", "do_not_specialize_on_alignment"
VARYING = (Cardinality.UNBOUNDED, Cardinality.LOG2)
_FLAGS = frozenset(
    (
        "is",
        "has",
        "use",
        "with",
        "return",
        "enable",
        "launch",
        "precision",
        "activation",
        "mode",
        "type",
        "act",
        "swap",
    )
)
_NAME = re.compile(r"[^\W\d]\w*")
_RENAMING = re.compile(r"\w+ = [\w.]+")
_CONSTANTS = (NameHint.CONSTANT, NameHint.WEAK_CONSTANT, NameHint.TILE)
_INTEGERS = (
    "tl.int32",
    "tl.int64",
    "int32",
    "int64",
    '"i32"',
    "'i32'",
    '"i64"',
    "'i64'",
    "int",
    "tl.uint32",
    "tl.uint64",
)


@dataclass(frozen=True)
class Judgement:
    """What a parameter is, and why."""

    origin: Origin
    cardinality: Cardinality
    launch: Launch | None = None
    value: LaunchValue | None = None
    """The launch argument that shows it; None when the name or a heuristic does."""
    settled: Settled | None = None
    replaced: bool = False
    """The kernel shows it, loading a number of its own in its place on some paths."""

    @property
    def varies(self) -> bool:
        """Whether it takes many values while a process serves requests."""
        return self.origin in (Origin.LENGTH, Origin.DERIVED) and self.cardinality in VARYING


def judge(project: Project, kernel: Kernel, parameter: Parameter) -> Judgement:
    """Say what a parameter is."""
    if settled := _settled(kernel, parameter.name):
        return _judge_settled(project, kernel, settled)
    found = list(_passed(project, kernel, parameter.name))
    if not found and parameter.is_constexpr and _is_tuned(project, kernel):
        return Judgement(Origin.MODEL_CONSTANT, Cardinality.FEW)
    hinted = hint(parameter.name) if parameter.is_constexpr else run_time_hint(parameter.name)
    replaced = _is_replaced(parameter)
    if replaced and hinted in (NameHint.NONE, NameHint.COUNT):
        hinted = NameHint.DIMENSION
    lengths = [each for each in found if _is_length(each[1], hinted)]
    if lengths:
        launch, value = min(
            lengths, key=lambda each: (VARYING.index(each[1].cardinality), each[1].span.start)
        )
        origin = Origin.DERIVED if value.origin is Origin.DERIVED else Origin.LENGTH
        return Judgement(origin, value.cardinality, launch, value)
    known = [each for each in found if each[1].origin is not Origin.UNKNOWN]
    for origin in (
        Origin.ROW,
        Origin.POOL,
        Origin.TENSOR,
        Origin.STRIDE,
        Origin.MODEL_CONSTANT,
        Origin.LITERAL,
    ):
        if known and known[0][1].origin is origin and len(known) == len(found):
            return Judgement(origin, known[0][1].cardinality, *known[0])
    if _is_named(project, kernel, parameter, hinted):
        bucket = parameter.is_constexpr and is_bucket(parameter.name)
        rounded = (Origin.DERIVED, Cardinality.LOG2)
        return Judgement(*(rounded if bucket else (Origin.LENGTH, Cardinality.UNBOUNDED)))
    if replaced and hinted in LENGTH_HINTS and not known:
        return Judgement(Origin.LENGTH, Cardinality.UNBOUNDED, replaced=True)
    if names_row(parameter.name) and not known:
        return Judgement(Origin.ROW, Cardinality.UNBOUNDED)
    if hinted in _CONSTANTS:
        return Judgement(Origin.MODEL_CONSTANT, Cardinality.ONE)
    return Judgement(Origin.STRIDE if hinted is NameHint.STRIDE else Origin.UNKNOWN, Cardinality.FEW)


def _is_named(project: Project, kernel: Kernel, parameter: Parameter, hinted: NameHint) -> bool:
    """Whether the name of a parameter, and what launches call it, say that it is a length; they show nothing else."""
    found = [value for _, value in _passed(project, kernel, parameter.name)]
    if hinted is NameHint.LENGTH:
        return not parameter.is_constexpr or not any(_is_share(value.text) for value in found)
    if any(value.origin is not Origin.UNKNOWN for value in found):
        return False
    if hinted is NameHint.WEAK_LENGTH:
        hidden = all(each.launch.starred for each in project.launches_of(kernel))
        return parameter.is_constexpr or hidden
    if hinted is not NameHint.COUNT:
        return False
    if not parameter.is_constexpr:
        return Role.LOOP in parameter.roles
    called = all(hint(value.text) in LENGTH_HINTS and not _is_computed(value) for value in found)
    return called and Role.SHAPE not in parameter.roles


def _is_share(text: str) -> bool:
    """Whether an expression is named a share of a length: ``rows_per_request``."""
    return "per" in words(text.rpartition(".")[2])


def _is_computed(value: LaunchValue) -> bool:
    """Whether a launch passes what the code computes from nothing that is named like a length."""
    hops = [hop for hop in value.hops if not hop.startswith("argument ") and not _RENAMING.fullmatch(hop)]
    names = (name for hop in hops for name in _NAME.findall(hop.partition(" = ")[2]))
    return bool(hops) and not any(hint(name) in (NameHint.LENGTH, NameHint.WEAK_LENGTH) for name in names)


def _is_length(value: LaunchValue, hinted: NameHint) -> bool:
    """Whether a launch shows a length, the parameter's own name having a word where position alone speaks."""
    if value.cardinality not in VARYING:
        return False
    if value.origin is Origin.DERIVED:
        return hinted is not NameHint.CONSTANT
    if value.origin is Origin.LENGTH:
        return hinted is not NameHint.CONSTANT if not value.soft else hinted not in _CONSTANTS
    return value.origin is Origin.DIMENSION and hinted in LENGTH_HINTS


def _is_replaced(parameter: Parameter) -> bool:
    """Whether a kernel counts with it, or with a number that it loads, as for sequences of various lengths."""
    counts = Role.LOOP | Role.DESCRIPTOR | Role.COMPARED | Role.STRIDE
    on_some_paths = Role.REASSIGNED in parameter.roles and Role.OVERWRITTEN not in parameter.roles
    return on_some_paths and bool(parameter.roles & counts)


def _passed(project: Project, kernel: Kernel, name: str) -> Iterator[tuple[Launch, LaunchValue]]:
    for bound in project.launches_of(kernel):
        if name in bound.arguments:
            yield bound.launch, bound.arguments[name]


def _is_tuned(project: Project, kernel: Kernel) -> bool:
    """Whether an autotuner must provide the constexprs that no launch passes: its configurations are elsewhere."""
    tuner = any(decorator.kind is DecoratorKind.AUTOTUNE for decorator in kernel.decorators)
    launches = project.launches_of(kernel)
    return tuner and bool(launches) and not any(bound.launch.starred for bound in launches)


def _settled(kernel: Kernel, name: str) -> Settled | None:
    """What a decorator provides for a parameter; a heuristic's rule before an autotuner's list."""
    found = [each for decorator in kernel.decorators for each in decorator.settles if each.name == name]
    return next((each for each in found if each.reads), found[0] if found else None)


def _judge_settled(project: Project, kernel: Kernel, settled: Settled) -> Judgement:
    for name in settled.reads:
        read = kernel.parameter(name)
        if read and settled.cardinality in VARYING and not _settled(kernel, name):
            inner = judge(project, kernel, read)
            if inner.varies:
                return Judgement(Origin.DERIVED, settled.cardinality, settled=settled)
    return Judgement(Origin.MODEL_CONSTANT, Cardinality.FEW, settled=settled)


def is_opted_out(kernel: Kernel, parameter: Parameter) -> bool:
    """Whether a list of the kernel names a parameter, or hides what it names."""
    for keyword in (OPT_OUT, ON_ALIGNMENT):
        if any(each.name == parameter.name for each in kernel.listed(keyword)):
            return True
        listing = kernel.jit.listing(keyword)
        if listing and any(entry.name is None and entry.position is None for entry in listing.entries):
            return True
    return False


def is_dead(parameter: Parameter) -> bool:
    """Whether nothing the launch passes for it reaches the code."""
    return not parameter.roles & ~SILENT


def is_flag(parameter: Parameter) -> bool:
    """Whether a name says the parameter switches something: two values at most, each meant."""
    return any(part in _FLAGS for part in words(parameter.name))


def is_tuned_on(kernel: Kernel, name: str) -> bool:
    """Whether a decorator looks at a parameter: an autotuner's key, a heuristic."""
    keyed = any(each.name == name for each in kernel.listed("key"))
    return keyed or any(name in each.reads for decorator in kernel.decorators for each in decorator.settles)


def is_integer_annotated(parameter: Parameter) -> bool:
    """Whether an annotation fixes an integer type, which leaves divisibility and the value 1 specialised."""
    return parameter.annotation in _INTEGERS


def is_spelled_constexpr(kernel: Kernel, parameter: Parameter) -> bool:
    """Whether a run-time parameter still has a constexpr's spelling, beside constexprs spelled like it."""
    capitals = len(parameter.name) > 2 and parameter.name.isupper()
    return capitals and any(each.is_constexpr and each.name.isupper() for each in kernel.parameters)


def is_rounded(name: str, judgement: Judgement) -> bool:
    """Whether a length was put into buckets on purpose before it became part of a key."""
    return judgement.cardinality is not Cardinality.UNBOUNDED or is_bucket(name)


def tuners(kernel: Kernel) -> Iterator[tuple[int | None, str, Parameter]]:
    """Yield each autotuner's number of configurations with the parameters of its key."""
    for decorator in kernel.decorators:
        listing = decorator.listing("key") if decorator.kind is DecoratorKind.AUTOTUNE else None
        for entry in listing.entries if listing else ():
            if entry.name and (parameter := kernel.parameter(entry.name)):
                yield decorator.configurations, decorator.name, parameter
