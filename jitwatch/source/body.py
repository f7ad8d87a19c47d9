"""Roles of a kernel's parameters, by one abstract run of its body.

Each statement is evaluated once in order, loops and both branches included, over the values of
``polynomial``. A parameter gets a role where a value that depends on it reaches something that matters: a
comparison, a loop's range, an address, a stored value. What it means to the vector width is asked of
``access`` at each load and store.
"""

from __future__ import annotations

import ast
import itertools
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping

from jitwatch.source.access import access_costs, block_costs, innermost_strides
from jitwatch.source.language import CALLS, is_builtin
from jitwatch.source.model import SILENT, Contiguity, Pass, Role
from jitwatch.source.polynomial import NOTHING, Value, add, join, multiply, number, opaque, symbol
from jitwatch.source.text import dotted

Env = dict[str, Value]


class BodyAnalysis:
    """The abstract run of one kernel; ``roles``, ``contiguity`` and ``passes`` are what it found."""

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
        self._initial = {
            name: symbol("static" if constexpr else "param", name, frozenset([name]))
            for name, constexpr in parameters.items()
        }
        self._read: set[str] = set()
        self._costs: list[tuple[int, str, Contiguity]] = []
        self._rank = 0
        self.env: Env = dict(self._initial)

    def run(self, body: list[ast.stmt]) -> None:
        """Analyse the statements of the kernel."""
        for statement in body:
            self._note_overwrite(statement)
            self.execute(statement)
        self._settle_contiguity()
        for name in self._read:
            if not self.roles[name] & ~SILENT:
                self.roles[name] |= Role.VALUE

    def _settle_contiguity(self) -> None:
        """Keep the costs of the accesses of the highest rank: beside tiles, a vector of scales moves no bytes."""
        for rank, name, cost in self._costs:
            if rank == self._rank:
                self.contiguity[name] |= cost

    def give(self, value: Value, role: Role) -> None:
        """Record that the parameters behind a value have a role."""
        for name in value.depends:
            self.roles[name] |= role

    # Statements

    def execute(self, node: ast.stmt) -> None:
        """Run one statement."""
        handler = getattr(self, f"_run_{type(node).__name__}", None)
        if handler:
            handler(node)
        elif not isinstance(node, ast.Pass | ast.Break | ast.Continue | ast.Import | ast.ImportFrom):
            for each in ast.walk(node):
                if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
                    self.give(self.evaluate(each), Role.VALUE)

    def block(self, body: list[ast.stmt]) -> None:
        """Run several statements."""
        for statement in body:
            self.execute(statement)

    def _run_Expr(self, node: ast.Expr) -> None:
        self.evaluate(node.value)

    def _run_Assign(self, node: ast.Assign) -> None:
        value = self.evaluate(node.value)
        for target in node.targets:
            self._bind(target, value)

    def _run_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value:
            self._bind(node.target, self.evaluate(node.value))

    def _run_AugAssign(self, node: ast.AugAssign) -> None:
        old = (
            self.evaluate(ast.copy_location(ast.Name(node.target.id, ast.Load()), node))
            if isinstance(node.target, ast.Name)
            else NOTHING
        )
        self._bind(node.target, self._binary(node.op, old, self.evaluate(node.value), node))

    def _run_Return(self, node: ast.Return) -> None:
        if node.value:
            self.give(self.evaluate(node.value), Role.VALUE)

    def _run_Assert(self, node: ast.Assert) -> None:
        self._assume([node.test])

    def _run_If(self, node: ast.If) -> None:
        test = self.evaluate(node.test)
        self.give(test, Role.BRANCH if test.is_static else Role.COMPARED)
        before = dict(self.env)
        self.block(node.body)
        taken, self.env = self.env, before
        self.block(node.orelse)
        self._merge(taken)

    def _run_While(self, node: ast.While) -> None:
        self.give(self.evaluate(node.test), Role.LOOP)
        self._loop(node.body)

    def _run_For(self, node: ast.For) -> None:
        iterator = self.evaluate(node.iter)
        called = dotted(node.iter.func).rpartition(".")[2] if isinstance(node.iter, ast.Call) else ""
        unrolled = called == "static_range" or (called != "range" and iterator.is_static)
        self.give(iterator, Role.SHAPE if unrolled else Role.LOOP)
        self._bind(node.target, self._counter(node, unrolled))
        self._loop(node.body)

    def _counter(self, node: ast.For, unrolled: bool) -> Value:
        """The loop variable: on the vector's grid when it advances by a compile-time step from an aligned start."""
        if unrolled:
            return symbol("static", id(node))
        arguments = node.iter.args if isinstance(node.iter, ast.Call) else []
        if len(arguments) == 3:
            start, step = self.evaluate(arguments[0]), self.evaluate(arguments[2])
            if step.is_static and start.is_static and dict(step.terms) != {(): 1}:
                return symbol("known", id(node))
        return symbol("opaque", id(node))

    def _loop(self, body: list[ast.stmt]) -> None:
        before = dict(self.env)
        self.block(body)
        grown = any(self.env[name].depends != old.depends for name, old in before.items())
        self._merge(before)
        if grown:  # what the body computed last reaches its own beginning
            again = dict(self.env)
            self.block(body)
            self._merge(again)

    def _merge(self, other: Env) -> None:
        for name, value in other.items():
            mine = self.env.get(name)
            self.env[name] = value if mine is None else join(mine, value)

    def _note_overwrite(self, node: ast.stmt) -> None:
        """Note the parameters that an unconditional first assignment replaces unread."""
        if isinstance(node, ast.Assign):
            inside = {each.id for each in ast.walk(node.value) if isinstance(each, ast.Name)}
            for target in node.targets:
                name = target.id if isinstance(target, ast.Name) else ""
                fresh = name in self._initial and name not in self._read and not self.passes[name]
                if fresh and name not in inside and self.env[name] is self._initial[name]:
                    self.roles[name] |= Role.OVERWRITTEN

    def _bind(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            if target.id in self._initial:
                self.roles[target.id] |= Role.REASSIGNED
            self.env[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            items = value.items if value.items and len(value.items) == len(target.elts) else None
            for index, each in enumerate(target.elts):
                self._bind(each, items[index] if items else opaque((id(target), index), value))

    # Expressions

    def evaluate(self, node: ast.expr) -> Value:
        """Evaluate one expression."""
        if isinstance(node, ast.Name):
            return self._name(node.id)
        handler = getattr(self, f"_eval_{type(node).__name__}", None)
        if handler:
            value: Value = handler(node)
            return value
        return opaque(
            id(node),
            *(self.evaluate(each) for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr)),
        )

    def _name(self, name: str) -> Value:
        value = self.env.get(name)
        if value is None:
            return symbol("static", name)  # a global: Triton takes none that is not a constant
        if value is self._initial.get(name):
            self._read.add(name)
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
        return self._binary(node.op, self.evaluate(node.left), self.evaluate(node.right), node)

    def _binary(self, op: ast.operator, left: Value, right: Value, node: ast.AST) -> Value:
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
        if (
            value.items
            and len(parts) == 1
            and isinstance(parts[0], ast.Constant)
            and type(parts[0].value) is int
        ) and -len(value.items) <= parts[0].value < len(value.items):
            return value.items[parts[0].value]
        return opaque(id(node), value, *(self.evaluate(each) for each in parts))

    def _eval_Call(self, node: ast.Call) -> Value:
        name = dotted(node.func)
        method = node.func.attr if isinstance(node.func, ast.Attribute) else name
        if is_builtin(name, self.imports) or (
            isinstance(node.func, ast.Attribute) and self._is_value(node.func.value)
        ):
            handler = CALLS.get(method)
            return handler(self, node) if handler else self.generic_call(node)
        return self._pass_on(node, name)

    def _is_value(self, owner: ast.expr) -> bool:
        """Whether a method's owner is a value of the kernel, not a module."""
        return not isinstance(owner, ast.Name) or owner.id in self.env

    def generic_call(self, node: ast.Call) -> Value:
        """Evaluate a call whose result is some function of everything it is given."""
        owner = (
            node.func.value
            if isinstance(node.func, ast.Attribute) and self._is_value(node.func.value)
            else None
        )
        given = [*([owner] if owner else []), *node.args, *(each.value for each in node.keywords)]
        return opaque(id(node), *(self.evaluate(each) for each in given))

    def _pass_on(self, node: ast.Call, name: str) -> Value:
        """A call of another jitted function: what it does with each argument is linked later."""
        self.called.add(name)
        values = []
        slots: list[tuple[int | None, str | None, ast.expr]] = [
            *((index, None, each) for index, each in enumerate(node.args)),
            *((None, each.arg, each.value) for each in node.keywords),
        ]
        for position, keyword, argument in slots:
            bare = isinstance(argument, ast.Name) and self.env.get(argument.id) is self._initial.get(
                argument.id
            )
            value = (
                self.env[argument.id]
                if bare and isinstance(argument, ast.Name) and argument.id in self.env
                else (self.evaluate(argument))
            )
            values.append(value)
            for parameter in value.depends:
                self.passes[parameter].append(
                    Pass(name, position, keyword, value.parameter == parameter or bare)
                )
        return opaque(id(node), *values)

    def _assume(self, conditions: Iterable[ast.expr]) -> None:
        """Statements that only inform the compiler: their parameters are not used by them."""
        read, roles = set(self._read), dict(self.roles)
        named: set[str] = set()
        for each in conditions:
            named |= self.evaluate(each).depends
        self._read = read
        self.roles.clear()
        self.roles.update(roles)
        for name in named:
            self.roles[name] |= Role.ASSUMED

    assume = _assume

    # Memory

    def _note_pointer(self, address: Value) -> str | None:
        """The parameter added first in an address is its pointer."""
        for term, factor in address.terms.items():
            if len(term) == 1 and term[0][0] == "param" and factor == 1:
                self.roles[str(term[0][1])] |= Role.POINTER
                return str(term[0][1])
        return None

    def access(
        self, address: Value, mask: Value | None = None, checked: frozenset[int] = frozenset()
    ) -> None:
        """Record a load or a store at an address."""
        self.touches_memory = True
        if address.block and address.items:
            base, shape, strides = address.items[0], address.items[1], address.items[2]
            pointer = self._note_pointer(base)
            costs = block_costs(base, shape.items or (), strides.items or (), checked)
        else:
            self.give(address, Role.ADDRESS)
            pointer = self._note_pointer(address)
            for term in address.terms:
                names = [
                    str(identity)
                    for kind, identity in term
                    if kind in ("param", "static") and identity in self._initial
                ]
                for name in names if len(term) > 1 else ():
                    self.roles[name] |= Role.STRIDE
            costs = access_costs(address, mask, frozenset(self.columns), self.inner, self.wraps)
        rank = (
            len(address.items[3].items or ())
            if address.block and address.items
            else len(set(address.aranges))
        )
        self._rank = max(self._rank, rank)
        found = list(costs)
        self._costs.extend((rank, name, cost) for name, cost in found)
        if pointer and found:
            self.streams.add(pointer)
