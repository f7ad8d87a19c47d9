"""What to do about causes that no opt-out ends: one sentence each, no promise of harmlessness."""

from __future__ import annotations

from collections.abc import Iterator

from jitwatch.analysis.cautions import shapes_blocks
from jitwatch.analysis.findings import ArgumentFindings, KernelFindings
from jitwatch.analysis.misses import Kind
from jitwatch.specialization import Subject

BY_KIND = {
    Kind.REDECORATED: "decorate it once, at module level: each new @triton.jit object starts with an empty cache",
    Kind.ANOTHER_DEVICE: "each device keeps its own variants: warm up every device the process uses",
    Kind.OPTION_SPELLING: "pass launch options alike everywhere: another order, or a default written out, "
    "is another cache entry",
}


def advise(found: KernelFindings) -> list[str]:
    """Sentences for the causes of this kernel's recompiles that its plan does not end."""
    return list(dict.fromkeys(_sentences(found)))


def _sentences(found: KernelFindings) -> Iterator[str]:
    kinds = {event.kind for event in found.recompiles}
    yield from (text for kind, text in BY_KIND.items() if kind in kinds)
    planned = {edit.parameter.name for step in found.plan for edit in step.edits}
    for argument in found.arguments:
        if argument.recompiles and argument.parameter.name not in planned:
            yield from _for_argument(argument)
        if argument.recompiles and {"D", ""} <= {each.spec for each in argument.classes if each.is_pointer}:
            yield f"{argument.parameter.name}: slices make unaligned tensors; pad or copy them, or warm up both"
    options = {
        change.name
        for event in found.recompiles
        for change in event.changes
        if change.subject is Subject.OPTION
    }
    if options:
        yield f"{', '.join(sorted(options))}: launch with one value, or warm up each"


def _for_argument(argument: ArgumentFindings) -> Iterator[str]:
    name, classes = argument.parameter.name, list(argument.classes)
    if argument.parameter.constexpr:
        shape = shapes_blocks(argument.parameter, classes)
        why = "it looks like a block shape, which must stay constexpr" if shape else "it is compiled in"
        yield f"{name}: {why}; use fewer values (round up), or warm up all {len(classes)}"
    elif any(each.elements for each in classes):
        yield f"{name}: Triton ignores opt-outs for elements of a tuple; pass them as arguments of their own"
    elif any(each.is_none for each in classes):
        yield f"{name}: None is compiled in; pass a tensor always, or warm up both"
    elif len({each.type for each in classes}) > 1:
        yield f"{name}: each type is a version of its own; pass one type, or warm up each"
