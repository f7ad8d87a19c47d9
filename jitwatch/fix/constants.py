"""Whether a constexpr can become a run-time argument: what the launches pass, and what the kernel does with it.

Checked on Triton 3.7: a helper's own ``tl.constexpr`` annotation, loops, masks, conditions, ``tl.cdiv``,
``tl.full``'s value and division take a run-time integer; the rest is listed here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeGuard

from jitwatch.fix.changes import CannotEdit
from jitwatch.fix.reading import read
from jitwatch.source.model import Kernel, Origin, Parameter, Project, Role
from jitwatch.source.text import dotted

WHOLE = frozenset(
    {
        *("float", "int", "bool", "str", "round", "len"),
        *("constexpr", "arange", "zeros", "static_range", "static_assert"),
    }
)
"""Functions all of whose arguments must be known at compile time."""

SHAPES: Mapping[str, tuple[tuple[int, ...], tuple[str, ...]]] = {
    "full": ((0,), ("shape",)),
    "make_block_ptr": ((4, 5), ("block_shape", "order")),
    "make_tensor_descriptor": ((3,), ("block_shape",)),
    "range": ((), ("num_stages", "loop_unroll_factor")),
    "reshape": ((1, 2, 3), ("shape",)),
    "view": ((1, 2, 3), ("shape",)),
    "broadcast_to": ((1, 2, 3), ("shape",)),
    "multiple_of": ((1,), ("values",)),
    "max_contiguous": ((1,), ("values",)),
    "max_constancy": ((1,), ("values",)),
}
"""Functions some of whose arguments must: positions and keywords."""

DEPTH = 4
"""Helpers calling helpers."""


def check_runtime(
    project: Project, kernel: Kernel, parameter: Parameter, contents: Mapping[str, bytes]
) -> None:
    """Raise CannotEdit, with the reason, unless a constexpr can be a run-time argument."""
    name = parameter.name
    if Role.PASSED in parameter.roles:
        raise CannotEdit(f"`{name}` is handed to a function that is not among the linted files")
    if Role.SHAPE in parameter.roles:
        raise CannotEdit(f"`{name}` shapes a tensor or an unrolled loop")
    if parameter.default in ("None", "True", "False"):
        raise CannotEdit(f"`{name}` is {parameter.default} unless a launch says otherwise")
    for bound in project.launches_of(kernel):
        value = bound.arguments.get(name)
        if value and (value.origin is Origin.TENSOR or not _may_be_integer(value.text)):
            raise CannotEdit(f"{bound.launch.path}:{bound.launch.span.line} passes `{value.text}`")
    if reason := next(Uses(project, contents).of(kernel, name), None):
        raise CannotEdit(reason)


def _may_be_integer(text: str) -> bool:
    return text not in ("None", "True", "False") and text[:1] not in "\"'(["


@dataclass
class Uses:
    """Looks for uses of a parameter that a run-time value does not allow."""

    project: Project
    contents: Mapping[str, bytes]

    def of(self, kernel: Kernel, name: str, depth: int = DEPTH) -> Iterator[str]:
        """Yield why a parameter of a kernel must stay known at compile time."""
        function = self._definition(kernel)
        if function is None:
            yield f"the definition of `{kernel.name}` was not found"
            return
        derived = _derived(function, name)
        if self._chooses(kernel, function, name, derived):
            yield f"`{name}` chooses code at compile time"
        for node in ast.walk(function):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and _reads(node, derived):
                yield f"{kernel.path}:{node.lineno} raises `{name}` to a power, or by it"
            elif _is_constexpr(node) and _reads(node, derived):
                yield f"{kernel.path}:{node.lineno} makes a constexpr of `{name}`"
            elif isinstance(node, ast.JoinedStr | ast.Assert) and _reads(node, derived):
                yield f"{kernel.path}:{node.lineno} needs `{name}` at compile time"
            elif isinstance(node, ast.Call):
                yield from self._call(kernel, node, derived, name, depth)

    def _chooses(self, kernel: Kernel, function: ast.FunctionDef, name: str, derived: set[str]) -> bool:
        """Whether a parameter chooses between pieces of code in another way than by ending the kernel early."""
        parameter = kernel.parameter(name)
        if parameter is None or Role.BRANCH not in parameter.roles:
            return False
        endings = [] if kernel.key in self.project.helpers else _early_endings(function.body)
        tests = [
            node for node in ast.walk(function) if isinstance(node, ast.If) and _reads(node.test, derived)
        ]
        nullable = any(isinstance(node, ast.Is | ast.IsNot) for test in tests for node in ast.walk(test.test))
        return nullable or not tests or not all(test in endings for test in tests)

    def _call(
        self, kernel: Kernel, node: ast.Call, derived: set[str], name: str, depth: int
    ) -> Iterator[str]:
        called = dotted(node.func).rpartition(".")[2]
        positions, keywords = SHAPES.get(called, ((), ()))
        for position, argument in enumerate(node.args):
            if (called in WHOLE or position in positions) and _reads(argument, derived):
                yield f"{kernel.path}:{node.lineno} gives `{name}` to `{called}`, which needs it at compile time"
        for keyword in node.keywords:
            if (called in WHOLE or keyword.arg in keywords) and _reads(keyword.value, derived):
                yield f"{kernel.path}:{node.lineno} gives `{name}` to `{called}`, which needs it at compile time"
        given_to = kernel.parameter(name)
        handed = {each.function.rpartition(".")[2] for each in given_to.passes} if given_to else set()
        for helper in self._helpers(kernel, called) if depth and called in handed else ():
            for parameter in helper.parameters:
                given = _given(node, parameter)
                if given is not None and _reads(given, derived):
                    yield from self.of(helper, parameter.name, depth - 1)

    def _helpers(self, kernel: Kernel, name: str) -> list[Kernel]:
        """Jitted functions that a name called in a kernel can mean: its file's, else any."""
        here = [each for each in self.project.kernels.get(kernel.path, ()) if each.name == name]
        return here or [
            each for kernels in self.project.kernels.values() for each in kernels if each.name == name
        ]

    def _definition(self, kernel: Kernel) -> ast.FunctionDef | None:
        return read(self.contents[kernel.path]).functions.get((kernel.name, kernel.span.line))


def _is_constexpr(node: ast.AST) -> TypeGuard[ast.AnnAssign]:
    """Whether a node is ``period: tl.constexpr = ...``: what is computed with that is computed at compile time."""
    return isinstance(node, ast.AnnAssign) and dotted(node.annotation).rpartition(".")[2] == "constexpr"


def _early_endings(body: list[ast.stmt]) -> list[ast.If]:
    """``if ...: return`` outside loops: Triton 3.2 to 3.9 compile it for a run-time test as well."""
    tests = [node for node in body if isinstance(node, ast.If)]
    endings = [node for node in tests if not node.orelse and _returns_nothing(node.body[-1])]
    nested = [inner for node in tests for inner in (*_early_endings(node.body), *_early_endings(node.orelse))]
    return endings + nested


def _returns_nothing(node: ast.stmt) -> bool:
    return isinstance(node, ast.Return) and node.value is None


def _derived(function: ast.FunctionDef, name: str) -> set[str]:
    """Names of a function's variables whose value depends on a parameter, it included."""
    assigned = [
        (_names(*(node.targets if isinstance(node, ast.Assign) else [node.target])), _names(node.value))
        for node in ast.walk(function)
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value
    ]
    found, before = {name}, 0
    while len(found) > before:
        before = len(found)
        for targets, sources in assigned:
            if not found.isdisjoint(sources):
                found |= targets
    return found


def _names(*nodes: ast.expr) -> set[str]:
    return {each.id for node in nodes for each in ast.walk(node) if isinstance(each, ast.Name)}


def _reads(node: ast.AST, names: set[str]) -> bool:
    return any(isinstance(each, ast.Name) and each.id in names for each in ast.walk(node))


def _given(node: ast.Call, parameter: Parameter) -> ast.expr | None:
    if parameter.index < len(node.args):
        return node.args[parameter.index]
    return next((each.value for each in node.keywords if each.arg == parameter.name), None)
