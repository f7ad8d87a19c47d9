"""Dataflow across functions of one module: to the callers of a wrapper, into the function that computes a value."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jitwatch.source.facts import Fact, join
from jitwatch.source.model import Origin
from jitwatch.source.scopes import Function, Scope

if TYPE_CHECKING:
    from jitwatch.source.host import Host

CALLERS = 4
"""Calls of a wrapper that are looked at: they agree, or the first few already differ."""


def caller_facts(host: Host, name: str, scope: Scope, depth: int) -> Iterator[Fact]:
    """What the module's own callers pass for an argument."""
    assert scope.function is not None
    if host.calls is None:
        host.calls = {}
        for function in host.functions.values():
            for each in ast.walk(function):
                if isinstance(each, ast.Call) and isinstance(each.func, ast.Name):
                    host.calls.setdefault(each.func.id, []).append((each, function))
    order = list(scope.arguments)
    for call, caller in host.calls.get(scope.function.name, ())[:CALLERS]:
        outer = host.scope(caller, host.module)
        value = next((k.value for k in call.keywords if k.arg == name), None)
        index = order.index(name)
        if (
            value is None
            and index < len(call.args)
            and not any(isinstance(a, ast.Starred) for a in call.args)
        ):
            value = call.args[index]
        if value is not None:
            yield host.value(value, outer, depth - 2)


def follow(host: Host, function: Function, call: ast.Call, scope: Scope, depth: int) -> Fact:
    """What a function of this module returns for one call."""
    template = host.scope(function, host.module)
    inner = Scope(
        function, host.module, template.name, template.bindings, template.arguments, template.defaults
    )
    for name, argument in zip(inner.arguments, call.args, strict=False):
        inner.passed[name] = host.value(argument, scope, depth)
    for keyword in call.keywords:
        if keyword.arg:
            inner.passed[keyword.arg] = host.value(keyword.value, scope, depth)
    for name, default in inner.defaults.items():
        inner.passed.setdefault(name, host.value(default, host.module, depth))
    returned = [host.value(each.value, inner, depth) for each in _returns(function) if each.value is not None]
    widths = {len(fact.items) if fact.items else 0 for fact in returned}
    if returned and len(widths) == 1 and 0 not in widths:
        columns = zip(*(fact.items or () for fact in returned), strict=True)
        return Fact(Origin.UNKNOWN, items=tuple(join(*column) for column in columns))
    return join(*returned)


def _returns(function: Function) -> Iterator[ast.Return]:
    for each in ast.walk(function):
        if isinstance(each, ast.Return):
            yield each
