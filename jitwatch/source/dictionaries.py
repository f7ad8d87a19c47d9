"""Dictionaries that a launch spreads over its keywords: ``kernel[grid](x, **arguments)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jitwatch.source.scopes import Scope
from jitwatch.source.text import dotted

READS = frozenset({"copy", "get", "items", "keys", "values"})
"""Methods of a dictionary that leave it as it is."""

DEPTH = 3
"""Dictionaries made of others that are followed."""


def spelled_out(node: ast.expr, scope: Scope, depth: int = DEPTH) -> dict[str, ast.expr]:
    """Return what an expression is sure to hold, by key: what may be replaced later is left out."""
    if isinstance(node, ast.Dict):
        return _of_display(node, scope, depth)
    if isinstance(node, ast.Call) and dotted(node.func) == "dict":
        return {each.arg: each.value for each in node.keywords if each.arg}
    if isinstance(node, ast.Name) and depth:
        return _of_name(node.id, scope, depth - 1)
    return {}


def _of_display(node: ast.Dict, scope: Scope, depth: int) -> dict[str, ast.expr]:
    found: dict[str, ast.expr] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            inner = spelled_out(value, scope, depth)
            found = inner  # the rest of it is not known, and may hold any key seen so far
        elif isinstance(key, ast.Constant) and isinstance(key.value, str):
            found[key.value] = value
    return found


def _of_name(name: str, scope: Scope, depth: int) -> dict[str, ast.expr]:
    bindings = scope.bindings.get(name, ())
    if len(bindings) != 1 or bindings[0].loop or bindings[0].element is not None or not scope.function:
        return {}
    changed = set(_changed_keys(name, scope.function))
    if None in changed:
        return {}
    held = spelled_out(bindings[0].value, scope, depth)
    return {key: value for key, value in held.items() if key not in changed}


def _changed_keys(name: str, function: ast.AST) -> Iterator[str | None]:
    """Yield the keys that may be set or deleted in a dictionary of a function; None where that cannot be told."""
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript) and dotted(node.value) == name:
            if not isinstance(node.ctx, ast.Load):
                key = node.slice.value if isinstance(node.slice, ast.Constant) else None
                yield key if isinstance(key, str) else None
        elif isinstance(node, ast.Attribute) and dotted(node.value) == name and node.attr not in READS:
            yield None
        elif isinstance(node, ast.Call):  # whoever gets the dictionary itself may change it
            given = [*node.args, *(each.value for each in node.keywords if each.arg)]
            if any(isinstance(each, ast.Name) and each.id == name for each in given):
                yield None
