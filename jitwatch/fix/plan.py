"""From the changes to one kernel to the edits that make them: all of them, or a reason why not."""

from __future__ import annotations

import ast
import itertools
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from jitwatch.fix import decorators, launches, signatures
from jitwatch.fix.changes import CannotEdit, Change, Kind
from jitwatch.fix.constants import check_runtime
from jitwatch.fix.reading import read
from jitwatch.fix.safety import is_safe
from jitwatch.lint.finding import Applicability, Edit, Finding
from jitwatch.source.model import Kernel, Parameter, Project, Role

LISTS = {
    Kind.OPT_OUT: "do_not_specialize",
    Kind.ANNOTATE: "do_not_specialize",
    Kind.RUNTIME: "do_not_specialize",
    Kind.ALIGNMENT: "do_not_specialize_on_alignment",
}
"""The list that a change adds its parameter to."""

CONSTEXPRS = (Kind.RUNTIME, Kind.RUNTIME_SPECIALIZED)

CALLBACKS = frozenset({"repr", "launch_metadata", "prune_configs_by", "pre_hook", "post_hook"})
"""Keywords of decorators whose functions get all arguments by name."""


def with_edits(finding: Finding, project: Project, contents: Mapping[str, bytes]) -> Finding:
    """The finding with the edits of its change, or of what is to be done instead; without any, why not.

    What the source proves harmless is safe. A change that a rule only displays is written where it is proven, and
    nowhere else.
    """
    if finding.change is None:
        return finding
    change: Change | None = finding.change
    reasons: list[str] = []
    while change is not None:
        try:
            edits = plan(project, [change], contents)
        except CannotEdit as refusal:
            reasons.append(str(refusal))
            change = change.otherwise
            continue
        remedy = finding.remedy
        if reasons:
            remedy += f"; here, {_instead(change)}, since {reasons[0]}"
        edited = replace(finding, change=change, edits=_in_file(finding.path, edits), remedy=remedy)
        if is_safe(project, find_kernel(project, change), change, contents):
            return replace(edited, applicability=Applicability.SAFE)
        return edited if finding.applicability is not Applicability.DISPLAY else replace(finding, change=None)
    remedy = f"{finding.remedy} (by hand: {reasons[-1]})"
    return replace(finding, change=None, applicability=Applicability.DISPLAY, remedy=remedy)


def _instead(change: Change) -> str:
    if change.kind in CONSTEXPRS:
        return "make it a run-time argument that is not specialised"
    return f"name it in {LISTS[change.kind]}"


def _in_file(path: str, edits: Mapping[str, Sequence[Edit]]) -> tuple[Edit, ...]:
    """Edits with their files; that of the finding goes without saying."""
    return tuple(
        edit._replace(path="" if file == path else file)
        for file, each in edits.items()
        for edit in sorted(each)
    )


def plan(project: Project, changes: Sequence[Change], contents: Mapping[str, bytes]) -> dict[str, list[Edit]]:
    """Edits by file that make all changes, which are about one kernel. Raises CannotEdit.

    Parameters are dropped on their own: what else is wanted is found again when they are gone.
    """
    kernel = find_kernel(project, changes[0])
    source = contents[kernel.path]
    try:
        dropped = _named(kernel, changes, (Kind.DROP,))
        if dropped:
            return _drop(project, kernel, dropped, contents)
        edits = list(_edits(project, kernel, changes, contents))
    except (SyntaxError, tokenize.TokenError) as error:
        raise CannotEdit(f"the code around it could not be read: {error}") from error
    except IndexError:
        raise CannotEdit("the code around it is laid out in an unknown way") from None
    _check_apart(source, edits)
    return {kernel.path: edits}


def find_kernel(project: Project, change: Change) -> Kernel:
    """The kernel that a change is about. Raises CannotEdit when it is not among the linted files."""
    for kernel in project.kernels.get(change.kernel[0], ()):
        if kernel.key == change.kernel:
            return kernel
    raise CannotEdit("the kernel is not among the linted files")


def _named(kernel: Kernel, changes: Iterable[Change], kinds: Sequence[Kind]) -> list[Parameter]:
    names = [change.parameter for change in changes if change.kind in kinds]
    return [parameter for parameter in kernel.parameters if parameter.name in names]


def _edits(
    project: Project, kernel: Kernel, changes: Sequence[Change], contents: Mapping[str, bytes]
) -> Iterator[Edit]:
    source = contents[kernel.path]
    for parameter in _named(kernel, changes, CONSTEXPRS):
        check_runtime(project, kernel, parameter, contents)
        yield signatures.without_constexpr(source, parameter)
    for change in changes:
        if change.kind is Kind.ANNOTATE and change.annotation:
            imports = dict(project.modules[kernel.path].imports)
            for parameter in _named(kernel, [change], (Kind.ANNOTATE,)):
                yield signatures.annotated(parameter, change.annotation, imports)
    if kernel.key not in project.helpers:  # which have no key of their own
        wanted: dict[str, list[str]] = {}
        order = [parameter.name for parameter in kernel.parameters]
        for change in sorted(changes, key=lambda each: order.index(each.parameter)):
            if change.kind in LISTS:
                wanted.setdefault(LISTS[change.kind], []).append(change.parameter)
        yield from decorators.opt_out(source, kernel, {k: list(dict.fromkeys(v)) for k, v in wanted.items()})
    if left := _named(kernel, changes, (Kind.LEAVE_KEY,)):
        yield from decorators.leave_key(source, kernel, [parameter.name for parameter in left])


def _drop(
    project: Project, kernel: Kernel, parameters: Sequence[Parameter], contents: Mapping[str, bytes]
) -> dict[str, list[Edit]]:
    source, names = contents[kernel.path], [parameter.name for parameter in parameters]
    _check_droppable(source, kernel, names)
    edits = launches.without_arguments(project, kernel, names, contents)
    edits.setdefault(kernel.path, []).extend(
        [
            *signatures.without_parameters(source, kernel, parameters),
            *decorators.unlist(source, kernel, names),
        ]
    )
    for path, each in edits.items():
        _check_apart(contents[path], each)
    return edits


def _check_droppable(source: bytes, kernel: Kernel, names: Sequence[str]) -> None:
    """Refuse where the body or a decorator still speaks of a parameter, or where positions would shift."""
    if kernel.by_call:
        raise CannotEdit(f"`{kernel.name}` is wrapped by calls")
    reading = read(source)
    for node in (node for name in names for node in reading.names.get(name, ())):
        start = reading.text.span(node).start
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
            continue
        if kernel.span.end <= start < kernel.definition.end and not _overwritten(kernel, node.id):
            raise CannotEdit(f"line {node.lineno} still names it")
    for decorator in kernel.decorators:
        listed = [entry for listing in decorator.listings for entry in listing.entries]
        if any(entry.position is not None for entry in listed):
            raise CannotEdit(f"`{decorator.name}` counts parameters by position")
        if any(keyword.name in CALLBACKS for keyword in decorator.keywords):
            raise CannotEdit(f"`{decorator.name}` hands the arguments to a function of its own")
        spoken = source[decorator.span.start : decorator.span.end]
        for name in names:
            quoted = spoken.count(f'"{name}"'.encode()) + spoken.count(f"'{name}'".encode())
            if quoted > sum(entry.name == name for entry in listed):
                raise CannotEdit(f"`{decorator.name}` looks at it")


def _overwritten(kernel: Kernel, name: str) -> bool:
    """Whether the body gives a parameter a value of its own before it reads it."""
    parameter = kernel.parameter(name)
    return parameter is not None and Role.OVERWRITTEN in parameter.roles


def _check_apart(source: bytes, edits: Iterable[Edit]) -> None:
    ordered = sorted(edits)
    if any(first.end > second.start for first, second in itertools.pairwise(ordered)):
        raise CannotEdit("its edits would overlap")
