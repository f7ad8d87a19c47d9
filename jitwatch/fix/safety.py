"""Which changes are safe to make unseen: their harmlessness is proven from the source (``confined``)."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Mapping

from jitwatch.fix.changes import CannotEdit, Change, Kind
from jitwatch.fix.launches import check_uses
from jitwatch.fix.reading import read
from jitwatch.source.confined import is_confined
from jitwatch.source.integers import is_integer
from jitwatch.source.model import DecoratorKind, Kernel, Launch, LaunchValue, Project
from jitwatch.source.scopes import Function
from jitwatch.source.touches import Touch

TOUCHES = {Kind.OPT_OUT: Touch.ITSELF, Kind.ALIGNMENT: Touch.ADDRESS, Kind.RUNTIME: Touch.CONSTANT}
"""What the parameter is that a change is about; the other kinds are never proven from the source."""


def is_safe(project: Project, kernel: Kernel, change: Change, contents: Mapping[str, bytes]) -> bool:
    """Whether a change breaks no launch and leaves the code as fast, for every value of its parameter."""
    if change.unread:
        return True
    touch = TOUCHES.get(change.kind)
    if touch is None or kernel.jit.kind is not DecoratorKind.JIT:
        return False
    function = _definition(kernel, contents[kernel.path])
    imports = dict(project.modules[kernel.path].imports)
    if function is None or not is_confined(function, change.parameter, touch, imports):
        return False
    return change.kind is not Kind.RUNTIME or _gets_integers(project, kernel, change.parameter, contents)


def _definition(kernel: Kernel, source: bytes) -> ast.FunctionDef | None:
    """The kernel's definition below its decorators, parsed alone: of many in a file, few are asked for."""
    line = source.rfind(b"\n", 0, kernel.span.start) + 1
    text = source[line : kernel.definition.end].decode(errors="replace")
    try:
        (node,) = ast.parse(textwrap.dedent(text)).body
    except (SyntaxError, ValueError):
        return None
    return node if isinstance(node, ast.FunctionDef) else None


def _gets_integers(project: Project, kernel: Kernel, name: str, contents: Mapping[str, bytes]) -> bool:
    """Whether every launch is seen, and passes an int or leaves the default."""
    launches = project.launches_of(kernel)
    if not launches or kernel.key in project.helpers or any(bound.launch.starred for bound in launches):
        return False
    try:
        check_uses(kernel, launches, contents)
    except CannotEdit:
        return False
    passed = [(bound.launch, bound.arguments[name]) for bound in launches if name in bound.arguments]
    parameter = kernel.parameter(name)
    default = parameter.default if parameter else None
    return all(_is_integer(*each, contents) for each in passed) and (default is None or default.isdecimal())


def _is_integer(launch: Launch, value: LaunchValue, contents: Mapping[str, bytes]) -> bool:
    try:
        expression = ast.parse(value.text, mode="eval").body
    except SyntaxError:
        return False
    return is_integer(expression, _around(launch, contents[launch.path]))


def _around(launch: Launch, source: bytes) -> Function | None:
    """The innermost function that a launch stands in."""
    name = launch.function.rpartition(".")[2]
    around = [
        function
        for (called, _), function in read(source).functions.items()
        if called == name and function.lineno <= launch.span.line <= (function.end_lineno or 0)
    ]
    return max(around, key=lambda each: each.lineno, default=None)
