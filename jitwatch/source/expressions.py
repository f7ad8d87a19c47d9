"""Expressions of a kernel's body, evaluated to what each depends on and how it runs along memory."""

from __future__ import annotations

import ast
import itertools
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from jitwatch.source.access import Wrap
from jitwatch.source.accesses import Accesses
from jitwatch.source.builtin_names import is_builtin
from jitwatch.source.language import CALLS
from jitwatch.source.model import Pass, Role
from jitwatch.source.polynomial import (
    NOTHING,
    PARTS,
    SHIFTS,
    Value,
    add,
    branched,
    join,
    multiply,
    number,
    opaque,
    part,
    symbol,
)
from jitwatch.source.text import dotted

Env = dict[str, Value]
Given = tuple[int | None, str | None, Value]
"""Position or keyword, and value, of an argument."""


class Evaluator(Accesses):
    """Evaluates expressions over ``env`` and records what happens to the parameters on the way."""

    def __init__(
        self,
        parameters: dict[str, bool],
        imports: Mapping[str, str],
        functions: Mapping[str, ast.FunctionDef] | None = None,
    ) -> None:
        """``parameters`` maps each name to whether it is a constexpr, ``functions`` are the module's own."""
        super().__init__(parameters)
        self.imports = imports
        self.functions = functions or {}
        self.frame: tuple[int, ...] = ()
        self.passes: dict[str, list[Pass]] = defaultdict(list)
        self.called: set[str] = set()
        self.read: set[str] = set()
        self.env: Env = dict(self.initial)

    def key(self, node: ast.AST) -> Hashable:
        """Identity of what a node stands for: a helper's range is another one at each call."""
        return (*self.frame, id(node)) if self.frame else id(node)

    def follow(self, call: ast.Call, name: str, given: Sequence[Given]) -> Value | None:
        """Run the function that a call names, if it can be followed."""
        raise NotImplementedError

    def evaluate(self, node: ast.expr) -> Value:
        """Evaluate one expression."""
        if isinstance(node, ast.Name):
            return self.name(node.id)
        handler = getattr(self, f"_eval_{type(node).__name__}", None)
        if handler:
            value: Value = handler(node)
            return value
        return opaque(
            self.key(node),
            *(self.evaluate(each) for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr)),
        )

    def name(self, name: str) -> Value:
        """Evaluate a name."""
        value = self.env.get(name)
        if value is None:
            return symbol("static", name)  # a global: Triton takes none that is not a constant
        if value is self.initial.get(name):
            self.read.add(name)
        return value

    def _eval_Constant(self, node: ast.Constant) -> Value:
        return number(node.value) if type(node.value) is int else symbol("static", repr(node.value))

    def _eval_Tuple(self, node: ast.Tuple | ast.List) -> Value:
        items = tuple(self.evaluate(each) for each in node.elts)
        whole = opaque(self.key(node), *items) if items else NOTHING
        return Value(whole.terms, whole.depends, items=items)

    _eval_List = _eval_Tuple

    def _eval_Attribute(self, node: ast.Attribute) -> Value:
        if node.attr == "T":
            return self.evaluate(node.value)
        value = self.evaluate(node.value)
        if node.attr in ("dtype", "type", "shape", "element_ty"):
            return symbol("static", self.key(node))
        return opaque(self.key(node), value)

    def _eval_UnaryOp(self, node: ast.UnaryOp) -> Value:
        value = self.evaluate(node.operand)
        if isinstance(node.op, ast.USub):
            return add(NOTHING, value, self.key(node), sign=-1)
        return opaque(self.key(node), value)

    def _eval_IfExp(self, node: ast.IfExp) -> Value:
        test, one, other = map(self.evaluate, (node.test, node.body, node.orelse))
        merged = join(one, other) if test.is_static else branched(self.key(node), one, other)
        return replace(merged, depends=merged.depends | test.depends)

    def _eval_Compare(self, node: ast.Compare) -> Value:
        sides = [self.evaluate(each) for each in (node.left, *node.comparators)]
        none = any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops)
        for side in sides:
            self.give(side, Role.BRANCH if none else Role.COMPARED)
        result = opaque(self.key(node), *sides)
        bounds: list[tuple[Value, Value]] = []
        for op, (left, right) in zip(node.ops, itertools.pairwise(sides), strict=True):
            if not isinstance(op, ast.Gt | ast.LtE):
                bounds.append((left, right))
            if not isinstance(op, ast.Lt | ast.GtE):  # an equality is bounded on both sides
                bounds.append((right, left))
        return replace(result, bounds=(*result.bounds, *bounds))

    def _eval_BinOp(self, node: ast.BinOp) -> Value:
        return self.binary(node.op, self.evaluate(node.left), self.evaluate(node.right), node)

    def binary(self, op: ast.operator, left: Value, right: Value, node: ast.AST) -> Value:
        """Combine two values; ``node`` gives an opaque result its identity."""
        if isinstance(op, ast.Add | ast.Sub):
            return add(left, right, self.key(node), -1 if isinstance(op, ast.Sub) else 1)
        if isinstance(op, ast.Mult):
            return multiply(left, right, self.key(node))
        if isinstance(op, ast.FloorDiv | ast.Mod):
            self.give(right, Role.DIVISOR)
            if left.axes:
                return self._divided(op, left, right, node)
        if _is_part(op, right) and len(left.terms) == 1 and not left.is_static:
            return part(self.key(node), left)
        return opaque(self.key(node), left, right)

    def _divided(self, op: ast.operator, left: Value, right: Value, node: ast.AST) -> Value:
        """A range modulo something is a range again; its quotient is steady until the divisor is reached."""
        result = opaque(self.key(node), left, right)
        if any(kind == "quotient" for term in left.terms for kind, _ in term):
            return replace(result, terms=left.terms)
        wraps = isinstance(op, ast.Mod)
        if not any(True for _ in left.aranges) or (not wraps and result.is_static):
            return result
        self.wraps[self.key(node)] = Wrap(right, left.axes)
        kind = "arange" if wraps else "quotient"
        return replace(result, terms={((kind, self.key(node)),): 1}, bounds=() if wraps else result.bounds)

    def _eval_Subscript(self, node: ast.Subscript) -> Value:
        value = self.evaluate(node.value)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        axes = [isinstance(each, ast.Constant) and each.value is None for each in parts]
        if any(axes) or any(isinstance(each, ast.Slice) for each in parts):
            if not axes[-1]:
                self.columns.update(value.aranges, value.axes)
            return value
        index = parts[0].value if len(parts) == 1 and isinstance(parts[0], ast.Constant) else None
        if value.items and type(index) is int and -len(value.items) <= index < len(value.items):
            return value.items[index]
        return opaque(self.key(node), value, *(self.evaluate(each) for each in parts))

    def _eval_Call(self, node: ast.Call) -> Value:
        name = dotted(node.func)
        if not is_builtin(name, self.imports) and self.receiver(node) is None:
            return self._pass_on(node, name)
        handler = CALLS.get(node.func.attr if isinstance(node.func, ast.Attribute) else name)
        return handler(self, node) if handler else self.generic_call(node)

    def receiver(self, node: ast.Call) -> ast.expr | None:
        """Return the value that a method is called on, None for the function of a module."""
        if not isinstance(node.func, ast.Attribute):
            return None
        owner = node.func.value
        return owner if not isinstance(owner, ast.Name) or owner.id in self.env else None

    def generic_call(self, node: ast.Call) -> Value:
        """Evaluate a call whose result is some function of everything it is given."""
        owner = self.receiver(node)
        given = [*([owner] if owner else []), *node.args, *(each.value for each in node.keywords)]
        return opaque(self.key(node), *(self.evaluate(each) for each in given))

    def _pass_on(self, node: ast.Call, name: str) -> Value:
        """A call of another jitted function: what it does with each argument is linked later."""
        self.called.add(name)
        given: list[Given] = []
        handed: list[tuple[str, Pass]] = []
        for position, keyword, argument in _arguments(node):
            value, unchanged = self._handed(argument)
            given.append((position, keyword, value))
            for parameter in value.depends:
                direct = unchanged or value.parameter == parameter
                handed.append((parameter, Pass(name, position, keyword, direct)))
        result = self.follow(node, name, given)
        for parameter, each in handed:
            self.passes[parameter].append(replace(each, followed=result is not None))
        return opaque(self.key(node), *(value for _, _, value in given)) if result is None else result

    def _handed(self, argument: ast.expr) -> tuple[Value, bool]:
        """Evaluate an argument; a parameter handed on as it came is not read by that."""
        if isinstance(argument, ast.Name):
            value = self.env.get(argument.id)
            if value is not None and value is self.initial.get(argument.id):
                return value, True
        return self.evaluate(argument), False

    def assume(self, conditions: Iterable[ast.expr]) -> None:
        """Evaluate what only informs the compiler: it uses no parameter."""
        read, roles = set(self.read), dict(self.roles)
        named: set[str] = set()
        for each in conditions:
            named |= self.evaluate(each).depends
        self.read = read
        self.roles.clear()
        self.roles.update(roles)
        for name in named:
            self.roles[name] |= Role.ASSUMED


def _is_part(op: ast.operator, right: Value) -> bool:
    """Whether an operation divides by 2, 4 or 8: ``n // 2``, ``n >> 1``."""
    by = right.number
    return (isinstance(op, ast.FloorDiv) and by in PARTS) or (isinstance(op, ast.RShift) and by in SHIFTS)


def _arguments(node: ast.Call) -> Iterator[tuple[int | None, str | None, ast.expr]]:
    """Yield the arguments of a call with their position or keyword."""
    for index, each in enumerate(node.args):
        yield index, None, each
    for keyword in node.keywords:
        yield None, keyword.arg, keyword.value
