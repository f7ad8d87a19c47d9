"""Expressions of a kernel, evaluated to what each has of one parameter (``touches``)."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from jitwatch.source.builtin_names import is_builtin
from jitwatch.source.text import dotted
from jitwatch.source.touches import (
    STATIC,
    UNKNOWN,
    EscapesError,
    Seen,
    Touch,
    combined,
    compared,
    either,
    of_all,
    selected,
)

_ELEMENTWISE = frozenset(
    "abs exp exp2 log log2 sqrt rsqrt sin cos sigmoid floor ceil erf maximum minimum cdiv fdiv div_rn".split()  # noqa: SIM905
)
_REDUCTIONS = frozenset({"sum", "max", "min", "argmax", "argmin", "xor_sum"})
_ARGUMENTS = {"load": ("mask",), "store": ("value", "mask")}
"""What follows the address of an access."""


class ScalarUses:
    """Evaluates expressions over ``env``; raises EscapesError where the parameter gets away."""

    def __init__(self, name: str, touch: Touch, variables: set[str], imports: Mapping[str, str]) -> None:
        """``variables`` are all that the kernel assigns: any other name is known at compile time."""
        self.parameter, self.given = name, Seen(0, touch=touch)
        self.variables, self.imports = variables, imports
        self.env: dict[str, Seen] = {}

    def name(self, name: str) -> Seen:
        """Evaluate a name."""
        if name == self.parameter:
            return self.given
        return self.env.get(name, UNKNOWN if name in self.variables else STATIC)

    def evaluate(self, node: ast.expr) -> Seen:
        """Evaluate one expression."""
        if isinstance(node, ast.Name):
            return self.name(node.id)
        handler = getattr(self, f"_eval_{type(node).__name__}", None)
        if handler:
            seen: Seen = handler(node)
            return seen
        return self.unknown(node)

    def free(self, node: ast.expr) -> Seen:
        """Evaluate what must have nothing of the parameter."""
        return self.evaluate(node).among()

    def condition(self, node: ast.expr) -> Seen:
        """Evaluate what a scalar comparison with the parameter may decide."""
        return self.evaluate(node).among(Touch.TEST)

    def unknown(self, *nodes: ast.expr) -> Seen:
        """Something whose meaning is not known: it must not name anything that has to do with the parameter."""
        for each in (each for node in nodes for each in ast.walk(node)):
            if isinstance(each, ast.Name):
                self.name(each.id).among()
        return UNKNOWN

    def _eval_Constant(self, node: ast.Constant) -> Seen:
        return STATIC

    def _eval_UnaryOp(self, node: ast.UnaryOp) -> Seen:
        if isinstance(node.op, ast.Not | ast.Invert):
            return self.condition(node.operand)
        return self.evaluate(node.operand).among(Touch.VALUE)

    def _eval_BoolOp(self, node: ast.BoolOp) -> Seen:
        return of_all(*map(self.condition, node.values))

    def _eval_IfExp(self, node: ast.IfExp) -> Seen:
        test, one, other = self.condition(node.test), self.evaluate(node.body), self.evaluate(node.orelse)
        return either(one, other) if test.free else selected(test, one, other)

    def _eval_Compare(self, node: ast.Compare) -> Seen:
        if len(node.ops) > 1:
            return self.unknown(node)
        return compared(node.ops[0], self.evaluate(node.left), self.evaluate(node.comparators[0]))

    def _eval_BinOp(self, node: ast.BinOp) -> Seen:
        return combined(node.op, self.evaluate(node.left), self.evaluate(node.right))

    def _eval_Subscript(self, node: ast.Subscript) -> Seen:
        """``x[:, None]``: as many dimensions as are written."""
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if not all(isinstance(each, ast.Slice) or ast.unparse(each) == "None" for each in parts):
            return self.unknown(node)
        seen = self.evaluate(node.value).among(Touch.VALUE)
        return Seen(len(parts), seen.varies, seen.touch)

    def _eval_Call(self, node: ast.Call) -> Seen:
        name = dotted(node.func)
        called = name.rpartition(".")[2]
        if any(isinstance(each, ast.Starred) for each in node.args):
            return self.unknown(node)
        if not is_builtin(name, self.imports):
            method = node.func if isinstance(node.func, ast.Attribute) else None
            return self._cast(method.value, node) if method and method.attr == "to" else self.unknown(node)
        if called in ("program_id", "num_programs", "arange"):
            self.unknown(node)
            return Seen(1) if called == "arange" else Seen(0, varies=True)
        if called in ("load", "store") or called.startswith("atomic_"):
            return self._access(called, node)
        if called == "where" and len(node.args) == 3:
            return selected(self.condition(node.args[0]), *map(self.evaluate, node.args[1:]))
        if called == "cast" and node.args:
            return self._cast(node.args[0], node)
        if called in _ELEMENTWISE or (name in ("min", "max") and len(node.args) == 2):
            self.unknown(*(each.value for each in node.keywords))
            return of_all(*map(self.evaluate, node.args)).among(Touch.VALUE)
        return self._reduced(node) if called in _REDUCTIONS and node.args else self.unknown(node)

    def _access(self, called: str, node: ast.Call) -> Seen:
        """A load, a store or an atomic operation, of one element if the address has to do with the parameter."""
        if not node.args:
            return self.unknown(node)
        address = self.evaluate(node.args[0]).among(Touch.ADDRESS)
        if not address.free and address.rank != 0:
            raise EscapesError
        for name, each in _given(called, node):
            if name == "mask":
                self.condition(each)
            elif (called, name) == ("store", "value"):
                self.evaluate(each).among(Touch.ITSELF, Touch.SHIFTED, Touch.TEST, Touch.VALUE)
            else:
                self.free(each)
        return Seen(address.rank, varies=True)

    def _cast(self, value: ast.expr, node: ast.Call) -> Seen:
        others = (*node.args, *(each.value for each in node.keywords))
        self.unknown(*(each for each in others if each is not value))
        return self.evaluate(value).among(Touch.ITSELF, Touch.SHIFTED, Touch.VALUE)

    def _reduced(self, node: ast.Call) -> Seen:
        """A reduction takes one axis away, or all of them."""
        value, *rest = node.args
        named = {each.arg: each.value for each in node.keywords}
        axis = named.pop("axis", rest.pop(0) if rest else None)
        self.unknown(*rest, *named.values(), *([axis] if axis else []))
        seen = self.evaluate(value).among(Touch.VALUE)
        rank = None if seen.rank is None or rest or named else 0
        if axis is not None and seen.rank:
            literal = isinstance(axis, ast.Constant | ast.UnaryOp) and ast.unparse(axis) != "None"
            rank = seen.rank - 1 if rank == 0 and literal else None
        return Seen(rank, seen.varies, seen.touch)


def _given(called: str, node: ast.Call) -> Iterator[tuple[str | None, ast.expr]]:
    """Yield the arguments of an access after its address, by name where that matters."""
    names = _ARGUMENTS.get(called, ())
    for place, each in enumerate(node.args[1:]):
        yield names[place] if place < len(names) else None, each
    for keyword in node.keywords:
        yield keyword.arg if called in _ARGUMENTS else None, keyword.value
