"""Dataflow across functions of one module: to the callers of a wrapper, into the function that computes a value."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jitwatch.source.facts import UNKNOWN, Fact, join
from jitwatch.source.model import Origin
from jitwatch.source.scopes import Binding, Function, Scope

if TYPE_CHECKING:
    from jitwatch.source.host import Host

CALLERS = 4
"""Calls of a wrapper that are looked at: they agree, or the first few already differ."""


def caller_facts(host: Host, name: str, scope: Scope, depth: int) -> Iterator[Fact]:
    """What the module's own callers pass for an argument."""
    assert scope.function is not None
    index = list(scope.arguments).index(name)
    for call, caller in _calls(host, scope.function.name)[:CALLERS]:
        value = next((keyword.value for keyword in call.keywords if keyword.arg == name), None)
        starred = any(isinstance(argument, ast.Starred) for argument in call.args)
        if value is None and index < len(call.args) and not starred:
            value = call.args[index]
        if value is not None:
            yield host.value(value, host.scope(caller, host.module), depth - 2)


def _calls(host: Host, name: str) -> list[tuple[ast.Call, Function]]:
    """Calls of a function in the functions whose text names it."""
    if name not in host.calls:
        written = f"{name}(".encode()
        host.calls[name] = [
            (each, function)
            for function in host.functions.values()
            if host.text.holds(function, written)
            for each in ast.walk(function)
            if isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == name
        ]
    return host.calls[name]


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


def element_of(
    host: Host, binding: Binding, value: ast.Tuple | ast.List, scope: Scope, depth: int
) -> tuple[Fact, str]:
    """One element of ``B, T, H, K, V = *k.shape, v.shape[-1]``, and how it could have been written."""
    assert binding.element is not None
    starred = [index for index, each in enumerate(value.elts) if isinstance(each, ast.Starred)]
    if len(starred) != 1 or binding.of is None:
        return UNKNOWN, host.text.segment(value)
    rank, first = binding.of - len(value.elts) + 1, starred[0]
    if first <= binding.element < first + rank:
        inner = value.elts[first]
        assert isinstance(inner, ast.Starred)
        whole = host.value(inner.value, scope, depth)
        place = binding.element - first
        found = whole.tensor.size(place, rank) if whole.tensor else UNKNOWN
        return found, f"{host.text.segment(inner.value)}[{place}]"
    after = binding.element if binding.element < first else binding.element - rank + 1
    return host.value(value.elts[after], scope, depth), host.text.segment(value.elts[after])


def _returns(function: Function) -> Iterator[ast.Return]:
    for each in ast.walk(function):
        if isinstance(each, ast.Return):
            yield each
