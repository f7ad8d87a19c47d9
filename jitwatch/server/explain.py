"""A kernel's parameter in words, for a hover: its classes, what the kernel does with it, what it is fed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jitwatch.lint.finding import Finding
from jitwatch.server.splits import is_pointer, split
from jitwatch.source import wording
from jitwatch.source.lengths import Judgement, is_dead, judge
from jitwatch.source.model import Cardinality, Kernel, Origin, Parameter, Project, Role
from jitwatch.source.remedies import costs_width

ORIGINS = {
    Origin.LENGTH: "a length",
    Origin.DIMENSION: "an inner dimension",
    Origin.POOL: "the size of a pool, fixed in one process",
    Origin.MODEL_CONSTANT: "fixed once the model is loaded",
    Origin.LITERAL: "a literal",
    Origin.STRIDE: "a stride",
    Origin.ROW: "the stride of a table's rows",
    Origin.DERIVED: "computed from a length",
    Origin.TENSOR: "a tensor",
}
"""What a parameter is, as far as launches and names tell."""


def explain(project: Project, kernel: Kernel, parameter: Parameter, findings: Iterable[Finding]) -> str:
    """Describe a parameter and what was found about it, in Markdown."""
    about = [
        finding
        for finding in findings
        if finding.kernel == kernel.name and finding.parameter == parameter.name
    ]
    facts = "\n".join(f"- {fact}" for fact in _facts(project, kernel, parameter))
    blocks = [f"**`{parameter.name}`** of kernel `{kernel.name}`", facts, *map(_found, about)]
    return "\n\n".join(blocks)


def _facts(project: Project, kernel: Kernel, parameter: Parameter) -> Iterator[str]:
    judgement = judge(project, kernel, parameter)
    yield _classes(project, kernel, parameter)
    if any(each.name == parameter.name for each in kernel.listed("key")):
        yield "in the autotuner's key: each new value is tuned anew"
    yield _use(parameter)
    if not parameter.is_constexpr and costs_width(kernel, parameter):
        yield f"it {wording.need(parameter)}: without its divisibility loads and stores get narrower"
    yield from _fed(project, kernel, judgement)


def _classes(project: Project, kernel: Kernel, parameter: Parameter) -> str:
    if kernel.key in project.helpers:
        return "of a function that other kernels call: it has no variants of its own"
    if parameter.is_constexpr:
        return "a constexpr: every value is a class of its own, and a compile"
    hidden = [
        listing.keyword
        for listing in kernel.jit.listings
        if any(entry.name is None and entry.position is None for entry in listing.entries)
    ]
    maybe = f" (or listed in `{hidden[0]}`, which is not written out)" if hidden else ""
    return f"{split(kernel, parameter)}{maybe}"


def _use(parameter: Parameter) -> str:
    if is_dead(parameter):
        return "nothing in the kernel reads it"
    if is_pointer(parameter):
        return "in the kernel it is loaded from or stored to"
    if parameter.roles & wording.USED & ~Role.PASSED == Role.BRANCH:
        return "in the kernel it chooses code"
    return f"in the kernel it {wording.uses(parameter)}"


def _fed(project: Project, kernel: Kernel, judgement: Judgement) -> Iterator[str]:
    """Yield what it is, by its launches or else its name, and how many launches that is known from."""
    if what := _what(judgement):
        yield what
    if kernel.key not in project.helpers:
        number = len(project.launches_of(kernel))
        yield f"{number or 'no'} {'launch' if number == 1 else 'launches'} in the workspace"


def _what(judgement: Judgement) -> str:
    tuned = judgement.origin is Origin.MODEL_CONSTANT and judgement.cardinality is Cardinality.FEW
    if tuned and judgement.value is None and not (judgement.settled and judgement.settled.text):
        return "provided by the autotuner's configurations"
    if judgement.origin not in ORIGINS or (judgement.origin is Origin.TENSOR and judgement.value is None):
        return ""
    what = f"{ORIGINS[judgement.origin]}{wording.origin(judgement)}"
    counts = judgement.cardinality is not Cardinality.ONE and judgement.origin is not Origin.TENSOR
    return f"{what}, {wording.spread(judgement.cardinality)}" if counts else what


def _found(finding: Finding) -> str:
    state = f" (left: {finding.reason or 'suppressed by a comment'})" if finding.suppressed else ""
    remedy = f"\n\nInstead: {finding.remedy}" if finding.remedy else ""
    return f"**{finding.code}**{state}: {finding.message}{remedy}"
