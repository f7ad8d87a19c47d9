"""Which rule has the most to say about a parameter."""

from __future__ import annotations

from collections.abc import Iterator

from jitwatch.fix.changes import Kind
from jitwatch.source.lengths import (
    ON_ALIGNMENT,
    OPT_OUT,
    VARYING,
    Judgement,
    is_dead,
    is_flag,
    is_integer_annotated,
    is_opted_out,
    is_rounded,
    is_spelled_constexpr,
    judge,
    tuners,
)
from jitwatch.source.model import SILENT, Contiguity, Kernel, Origin, Parameter, Project, Role
from jitwatch.source.names import names_pointer
from jitwatch.source.tensor_names import holds_indices

COSTLY = Contiguity.MASK | Contiguity.STRIDE | Contiguity.BASE
Finds = Iterator[tuple[Parameter, Judgement]]


def costs_width(kernel: Kernel, parameter: Parameter) -> bool:
    """Whether opting a parameter out makes the kernel's loads and stores narrower where bytes count.

    A kernel that streams mostly indices (slot mappings, positions, lengths) is bound by its launch; and a length
    that the kernel replaces by a loaded one, for sequences of various lengths, has no divisibility to lose there.
    """
    needed = bool(parameter.contiguity & COSTLY) and Role.REASSIGNED not in parameter.roles
    return needed and not moves_indices(kernel)


def moves_indices(kernel: Kernel) -> bool:
    """Whether most tensors that a kernel streams hold positions, lengths or flags."""
    return sum(map(holds_indices, kernel.streams)) * 2 > len(kernel.streams)


def keyed_lengths(project: Project, kernel: Kernel) -> Iterator[tuple[Parameter, Judgement, int | None]]:
    """Yield the lengths in an autotuner's key that are in no bucket, with the number of configurations."""
    for configurations, _, parameter in tuners(kernel):
        judgement = judge(project, kernel, parameter)
        if judgement.varies and configurations != 1 and not is_rounded(parameter.name, judgement):
            yield parameter, judgement, configurations


def dead_parameters(project: Project, kernel: Kernel) -> Finds:
    """Yield the parameters that nothing reads and whose values still compile apart."""
    keyed = {parameter.name for parameter, _, _ in keyed_lengths(project, kernel)}
    for parameter in kernel.parameters:
        if not is_dead(parameter) or parameter.name in keyed or names_pointer(parameter.name):
            continue
        judgement = judge(project, kernel, parameter)
        if parameter.is_constexpr:
            unknown = judgement.origin is Origin.UNKNOWN and not is_flag(parameter)
            if judgement.varies or judgement.origin in (Origin.POOL, Origin.ROW) or unknown:
                yield parameter, judgement
        elif judgement.varies and not is_opted_out(kernel, parameter):
            yield parameter, judgement


def constexpr_lengths(project: Project, kernel: Kernel) -> Finds:
    """Yield the constexpr parameters that are a length, or the size of a pool, and are used."""
    keyed = {parameter.name for parameter, _, _ in keyed_lengths(project, kernel)}
    for parameter in kernel.parameters:
        if parameter.is_constexpr and not is_dead(parameter) and parameter.name not in keyed:
            judgement = judge(project, kernel, parameter)
            switches = parameter.roles & ~SILENT in (Role.BRANCH, Role.BRANCH | Role.PASSED)
            counts = judgement.varies and judgement.origin is Origin.LENGTH and not switches
            if judgement.origin is Origin.POOL or counts or _is_page_table(judgement):
                yield parameter, judgement


def _is_page_table(judgement: Judgement) -> bool:
    """Whether a launch shows the width of a table that has a row of pages for each request."""
    return judgement.origin is Origin.ROW and judgement.value is not None and judgement.cardinality in VARYING


def takes_length(project: Project, helper: Kernel, name: str, depth: int = 3) -> bool:
    """Whether some kernel hands a constexpr length of its own on to a helper's parameter."""
    for caller, given in project.fed.get((helper.key, name), ()):
        if caller.key in project.helpers:
            if depth and takes_length(project, caller, given, depth - 1):
                return True
        elif any(
            parameter.name == given and judgement.value is not None
            for parameter, judgement in constexpr_lengths(project, caller)
        ):
            return True
    return False


def fed_constexprs(project: Project, kernel: Kernel) -> Finds:
    """Yield the constexpr parameters of a launched kernel that the launch, or a heuristic, derives from a length."""
    keyed = {parameter.name for parameter, _, _ in keyed_lengths(project, kernel)}
    for parameter in kernel.parameters:
        if parameter.is_constexpr and not is_dead(parameter) and parameter.name not in keyed:
            judgement = judge(project, kernel, parameter)
            if judgement.varies and judgement.origin is Origin.DERIVED:
                yield parameter, judgement


def runtime_lengths(project: Project, kernel: Kernel, code: str) -> Finds:
    """Yield the run-time lengths that are used and specialised, and that the rule ``code`` reports.

    Those whose divisibility carries the vector width are left alone: opting them out costs more than it saves. The
    stride of a table's rows counts in kernels that opt something out: their authors do the like as often as not.
    """
    keyed = {parameter.name for parameter, _, _ in keyed_lengths(project, kernel)}
    for parameter in kernel.parameters:
        pointer = Role.POINTER in parameter.roles or names_pointer(parameter.name)
        if parameter.is_constexpr or pointer or is_dead(parameter) or parameter.name in keyed:
            continue
        if is_opted_out(kernel, parameter) or costs_width(kernel, parameter):
            continue
        judgement = judge(project, kernel, parameter)
        row = judgement.origin is Origin.ROW and Role.ROW in parameter.roles and opts_out(kernel)
        if (judgement.varies or row) and _rule_for(kernel, parameter, judgement) == code:
            yield parameter, judgement


def opts_out(kernel: Kernel) -> bool:
    """Whether a kernel names parameters in an opt-out list: its author, or an earlier fix, cares for its variants."""
    return any(True for keyword in (OPT_OUT, ON_ALIGNMENT) for _ in kernel.listed(keyword))


def _rule_for(kernel: Kernel, parameter: Parameter, judgement: Judgement) -> str:
    """Name the one rule that reports a run-time length."""
    if is_integer_annotated(parameter):
        return "JW012"
    if is_spelled_constexpr(kernel, parameter):
        return "JW014"
    follows = judgement.origin in (Origin.DERIVED, Origin.ROW)
    return "JW009" if follows and opts_out(kernel) else "JW001"


def demotion(kernel: Kernel, parameter: Parameter) -> Kind:
    """What becomes of a constexpr length: it stays specialised where its divisibility carries the vector width."""
    return Kind.RUNTIME_SPECIALIZED if costs_width(kernel, parameter) else Kind.RUNTIME
