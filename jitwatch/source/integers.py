"""Whether a launch passes a Python int: a run-time argument must be one, where a constexpr can be a numpy scalar too.

Checked on Triton 3.6 to 3.9: ``np.int64(5)`` compiles as a constexpr and raises TypeError as an argument.
"""

from __future__ import annotations

import ast

from jitwatch.source.scopes import Function
from jitwatch.source.text import dotted

OF_ANYTHING = frozenset({"int", "len", "numel", "nelement", "dim"})
OF_INTEGERS = frozenset({"cdiv", "next_power_of_2", "min", "max", "abs"})
WHOLE = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)
DEPTH = 6
"""Assignments that are followed back."""


def is_integer(node: ast.expr, function: Function | None, depth: int = DEPTH) -> bool:
    """Whether an expression in a function (None: outside of any) is certainly a Python int."""
    if depth == 0:
        return False
    if isinstance(node, ast.Constant):
        return type(node.value) is int
    if isinstance(node, ast.Name):
        return function is not None and _is_integer_variable(node.id, function, depth - 1)
    if isinstance(node, ast.Subscript):
        place = node.slice.operand if isinstance(node.slice, ast.UnaryOp) else node.slice
        return _is_shape(node.value) and isinstance(place, ast.Constant) and type(place.value) is int
    if isinstance(node, ast.BinOp):
        sides = (node.left, node.right)
        return isinstance(node.op, WHOLE) and all(is_integer(each, function, depth) for each in sides)
    if isinstance(node, ast.IfExp):
        return all(is_integer(each, function, depth) for each in (node.body, node.orelse))
    return isinstance(node, ast.Call) and _returns_integer(node, function, depth)


def _returns_integer(node: ast.Call, function: Function | None, depth: int) -> bool:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else dotted(node.func)
    if name == "size":
        return len(node.args) == 1
    known = name in OF_INTEGERS and bool(node.args)
    return name in OF_ANYTHING or (known and all(is_integer(each, function, depth) for each in node.args))


def _is_shape(node: ast.expr) -> bool:
    """Whether an expression is the whole shape of a tensor."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and node.func.attr == "size" and not node.args
    return isinstance(node, ast.Attribute) and node.attr == "shape"


def _is_integer_variable(name: str, function: Function, depth: int) -> bool:
    stores = [
        each
        for each in ast.walk(function)
        if isinstance(each, ast.Name) and each.id == name and not isinstance(each.ctx, ast.Load)
    ]
    given = function.args
    annotations = [
        each.annotation for each in (*given.posonlyargs, *given.args, *given.kwonlyargs) if each.arg == name
    ]
    if annotations:
        annotation = annotations[0]
        return not stores and isinstance(annotation, ast.Name) and annotation.id == "int"
    bound = [each for each in ast.walk(function) if isinstance(each, ast.Assign) and _binds(each, name)]
    return len(stores) == len(bound) > 0 and all(
        _gives_integer(each, name, function, depth) for each in bound
    )


def _binds(node: ast.Assign, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for t in node.targets for each in ast.walk(t))


def _gives_integer(node: ast.Assign, name: str, function: Function, depth: int) -> bool:
    """Whether ``n = ...`` or ``b, n = x.shape`` makes an int of a variable."""
    (target, *others) = node.targets
    if others:
        return False
    if isinstance(target, ast.Name):
        return is_integer(node.value, function, depth)
    plain = isinstance(target, ast.Tuple) and all(isinstance(each, ast.Name) for each in target.elts)
    if not plain or not isinstance(target, ast.Tuple):
        return False
    if isinstance(node.value, ast.Tuple) and len(node.value.elts) == len(target.elts):
        pairs = zip(target.elts, node.value.elts, strict=True)
        values = [value for each, value in pairs if isinstance(each, ast.Name) and each.id == name]
        return all(is_integer(each, function, depth) for each in values)
    return _is_shape(node.value)
