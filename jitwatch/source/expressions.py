"""Expressions of a kernel's body, evaluated to what each depends on and how it runs along memory."""

from __future__ import annotations

import ast
import itertools
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping

from jitwatch.source.access import access_costs, block_costs, innermost_strides
from jitwatch.source.language import CALLS, is_builtin
from jitwatch.source.model import Contiguity, Pass, Role
from jitwatch.source.polynomial import NOTHING, Value, add, multiply, number, opaque, symbol
from jitwatch.source.text import dotted

Env = dict[str, Value]


class Evaluator:
    """Evaluates expressions over ``env`` and records what happens to the parameters on the way."""

    def __init__(self, parameters: dict[str, bool], imports: Mapping[str, str]) -> None:
        """``parameters`` maps each name to whether it is a constexpr."""
        self.imports = imports
        self.roles: dict[str, Role] = defaultdict(lambda: Role.NONE)
        self.contiguity: dict[str, Contiguity] = defaultdict(lambda: Contiguity.NONE)
        self.passes: dict[str, list[Pass]] = defaultdict(list)
        self.called: set[str] = set()
        self.streams: set[str] = set()
        self.touches_memory = False
        self.columns: set[Hashable] = set()
        self.inner = innermost_strides(list(parameters))
        self.wraps: dict[Hashable, Value] = {}
        self.initial = {
            name: symbol("static" if constexpr else "param", name, frozenset([name]))
            for name, constexpr in parameters.items()
        }
        self.read: set[str] = set()
        self.costs: list[tuple[int, str, Contiguity]] = []
        self.rank = 0
        self.env: Env = dict(self.initial)

    def give(self, value: Value, role: Role) -> None:
        """Record that the parameters behind a value have a role."""
        for name in value.depends:
            self.roles[name] |= role

    def evaluate(self, node: ast.expr) -> Value:
        """Evaluate one expression."""
        if isinstance(node, ast.Name):
            return self.name(node.id)
        handler = getattr(self, f"_eval_{type(node).__name__}", None)
        if handler:
            value: Value = handler(node)
            return value
        return opaque(
            id(node),
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
        whole = opaque(id(node), *items) if items else NOTHING
        return Value(whole.terms, whole.depends, items=items)

    _eval_List = _eval_Tuple

    def _eval_Attribute(self, node: ast.Attribute) -> Value:
        if node.attr == "T":
            return self.evaluate(node.value)
        value = self.evaluate(node.value)
        if node.attr in ("dtype", "type", "shape", "element_ty"):
            return symbol("static", id(node))
        return opaque(id(node), value)

    def _eval_UnaryOp(self, node: ast.UnaryOp) -> Value:
        value = self.evaluate(node.operand)
        if isinstance(node.op, ast.USub):
            return add(NOTHING, value, id(node), sign=-1)
        return opaque(id(node), value)

    def _eval_Compare(self, node: ast.Compare) -> Value:
        sides = [self.evaluate(each) for each in (node.left, *node.comparators)]
        none = any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops)
        for side in sides:
            self.give(side, Role.BRANCH if none else Role.COMPARED)
        result = opaque(id(node), *sides)
        bounds = tuple(itertools.pairwise(sides))
        return Value(result.terms, result.depends, (*result.bounds, *bounds))

    def _eval_BinOp(self, node: ast.BinOp) -> Value:
        return self.binary(node.op, self.evaluate(node.left), self.evaluate(node.right), node)

    def binary(self, op: ast.operator, left: Value, right: Value, node: ast.AST) -> Value:
        """Combine two values; ``node`` gives an opaque result its identity."""
        if isinstance(op, ast.Add | ast.Sub):
            return add(left, right, id(node), -1 if isinstance(op, ast.Sub) else 1)
        if isinstance(op, ast.Mult):
            return multiply(left, right, id(node))
        if isinstance(op, ast.FloorDiv | ast.Mod):
            self.give(right, Role.DIVISOR)
        if isinstance(op, ast.Mod) and any(True for _ in left.aranges):
            self.wraps[id(node)] = right
            return Value({(("arange", id(node)),): 1}, left.depends | right.depends)
        return opaque(id(node), left, right)

    def _eval_Subscript(self, node: ast.Subscript) -> Value:
        value = self.evaluate(node.value)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        axes = [isinstance(each, ast.Constant) and each.value is None for each in parts]
        if any(axes) or any(isinstance(each, ast.Slice) for each in parts):
            if not axes[-1]:
                self.columns.update(value.aranges)
            return value
        index = parts[0].value if len(parts) == 1 and isinstance(parts[0], ast.Constant) else None
        if value.items and type(index) is int and -len(value.items) <= index < len(value.items):
            return value.items[index]
        return opaque(id(node), value, *(self.evaluate(each) for each in parts))

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
        return opaque(id(node), *(self.evaluate(each) for each in given))

    def _pass_on(self, node: ast.Call, name: str) -> Value:
        """A call of another jitted function: what it does with each argument is linked later."""
        self.called.add(name)
        values = []
        for position, keyword, argument in _arguments(node):
            value, unchanged = self._handed(argument)
            values.append(value)
            for parameter in value.depends:
                direct = unchanged or value.parameter == parameter
                self.passes[parameter].append(Pass(name, position, keyword, direct))
        return opaque(id(node), *values)

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

    # Memory

    def access(
        self, address: Value, mask: Value | None = None, checked: frozenset[int] = frozenset()
    ) -> None:
        """Record a load or a store at an address."""
        self.touches_memory = True
        if address.block and address.items:
            base, shape, strides, offsets = (each.items or (each,) for each in address.items)
            pointer, rank = self._pointer(base[0]), len(offsets)
            costs = list(block_costs(base[0], shape, strides, checked))
        else:
            self.give(address, Role.ADDRESS)
            self._give_strides(address)
            pointer, rank = self._pointer(address), len(set(address.aranges))
            costs = list(access_costs(address, mask, frozenset(self.columns), self.inner, self.wraps))
        self.rank = max(self.rank, rank)
        self.costs.extend((rank, name, cost) for name, cost in costs)
        if pointer and costs:
            self.streams.add(pointer)

    def _pointer(self, address: Value) -> str | None:
        """The parameter added first in an address is its pointer."""
        for term, factor in address.terms.items():
            if len(term) == 1 and term[0][0] == "param" and factor == 1:
                self.roles[str(term[0][1])] |= Role.POINTER
                return str(term[0][1])
        return None

    def _give_strides(self, address: Value) -> None:
        """A parameter that multiplies something in an address is a stride."""
        for term in address.terms:
            for kind, identity in term if len(term) > 1 else ():
                if kind in ("param", "static") and identity in self.initial:
                    self.roles[str(identity)] |= Role.STRIDE


def _arguments(node: ast.Call) -> Iterator[tuple[int | None, str | None, ast.expr]]:
    """Yield the arguments of a call with their position or keyword."""
    for index, each in enumerate(node.args):
        yield index, None, each
    for keyword in node.keywords:
        yield None, keyword.arg, keyword.value
