"""Names of the launching code: the assignments and arguments of each function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from jitwatch.source.facts import Fact

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Binding:
    """One assignment of a name: an expression, or one element of what it yields."""

    value: ast.expr
    element: int | None = None
    """Position in a tuple target, counted from the end when negative."""
    of: int | None = None
    """Number of the targets, None with a starred one before it."""
    loop: bool = False


@dataclass
class Scope:
    """The names of one function, or of the module."""

    function: Function | None
    parent: Scope | None
    name: str = ""
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    arguments: dict[str, ast.arg] = field(default_factory=dict)
    defaults: dict[str, ast.expr] = field(default_factory=dict)
    passed: dict[str, Fact] = field(default_factory=dict)
    """Arguments of the call being followed."""


def open_scope(function: Function, parent: Scope) -> Scope:
    """Gather the names of a function."""
    given = function.args
    positional = [*given.posonlyargs, *given.args]
    late = positional[len(positional) - len(given.defaults) :]
    defaults = {each.arg: value for each, value in zip(late, given.defaults, strict=True)}
    defaults |= {a.arg: v for a, v in zip(given.kwonlyargs, given.kw_defaults, strict=True) if v}
    scope = Scope(function, parent, f"{parent.name}.{function.name}".lstrip("."))
    scope.arguments = {each.arg: each for each in [*positional, *given.kwonlyargs]}
    scope.defaults = defaults
    collect(function.body, scope)
    return scope


def definitions(body: list[ast.stmt]) -> Iterator[Function]:
    """Yield the functions and methods of a module."""
    for node in body:
        if isinstance(node, Function):
            yield node
        elif isinstance(node, ast.ClassDef | ast.If | ast.Try):
            yield from definitions(node.body)


def collect(body: list[ast.stmt], scope: Scope) -> None:
    """Gather the assignments of a scope, nested blocks included, nested definitions not."""
    for node in body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                _bind(target, node.value, scope)
        elif isinstance(node, ast.AnnAssign) and node.value:
            _bind(node.target, node.value, scope)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            scope.bindings.setdefault(node.target.id, []).append(Binding(node.value))
        elif isinstance(node, ast.For | ast.AsyncFor):
            for each in ast.walk(node.target):
                if isinstance(each, ast.Name):
                    scope.bindings.setdefault(each.id, []).append(Binding(node.iter, loop=True))
        if not isinstance(node, Function | ast.ClassDef):
            for inner in ("body", "orelse", "finalbody"):
                collect(getattr(node, inner, None) or [], scope)
            for inner_block in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                collect(inner_block.body, scope)


def _bind(target: ast.expr, value: ast.expr, scope: Scope) -> None:
    if isinstance(target, ast.Name):
        scope.bindings.setdefault(target.id, []).append(Binding(value))
    elif isinstance(target, ast.Tuple | ast.List):
        elements = value.elts if isinstance(value, ast.Tuple | ast.List) else []
        starred_somewhere = any(isinstance(each, ast.Starred) for each in (*elements, *target.elts))
        if len(elements) == len(target.elts) and not starred_somewhere:
            for one, other in zip(target.elts, elements, strict=True):
                _bind(one, other, scope)
            return
        starred = next((i for i, each in enumerate(target.elts) if isinstance(each, ast.Starred)), None)
        count = len(target.elts)
        for index, each in enumerate(target.elts):
            if isinstance(each, ast.Name):
                place = index if starred is None or index < starred else index - count
                binding = Binding(value, place, count if starred is None else None)
                scope.bindings.setdefault(each.id, []).append(binding)
