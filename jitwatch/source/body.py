"""Roles of a kernel's parameters, by one abstract run of its body.

Each statement is evaluated once in order, loops and both branches included, over the values of
``polynomial``. A parameter gets a role where a value that depends on it reaches something that matters: a
comparison, a loop's range, an address, a stored value. What it means to the vector width is asked of
``access`` at each load and store.
"""

from __future__ import annotations

import ast

from jitwatch.source.expressions import Env
from jitwatch.source.inlining import Inlining
from jitwatch.source.model import SILENT, Role
from jitwatch.source.polynomial import NOTHING, Value, branched, is_aligned, join, opaque, symbol
from jitwatch.source.text import dotted


class BodyAnalysis(Inlining):
    """The abstract run of one kernel; ``roles``, ``contiguity`` and ``passes`` are what it found."""

    def run(self, body: list[ast.stmt]) -> None:
        """Analyse the statements of the kernel."""
        for statement in body:
            self._note_overwrite(statement)
            self.execute(statement)
        self._settle_contiguity()
        for name in self.read:
            if not self.roles[name] & ~SILENT:
                self.roles[name] |= Role.VALUE

    def _settle_contiguity(self) -> None:
        """Keep the costs of the accesses of the highest rank: beside tiles, a vector of scales moves no bytes."""
        for rank, name, cost in self.costs:
            if rank == self.rank:
                self.contiguity[name] |= cost

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
        old = self.name(node.target.id) if isinstance(node.target, ast.Name) else NOTHING
        self._bind(node.target, self.binary(node.op, old, self.evaluate(node.value), node))

    def _run_Return(self, node: ast.Return) -> None:
        if node.value:
            value = self.evaluate(node.value)
            self.give(value, Role.VALUE)
            if self.returned is not None:
                self.returned.append(value)

    def _run_Assert(self, node: ast.Assert) -> None:
        self.assume([node.test])

    def _run_If(self, node: ast.If) -> None:
        test = self.evaluate(node.test)
        self.give(test, Role.BRANCH if test.is_static else Role.COMPARED)
        before = dict(self.env)
        self.block(node.body)
        taken, self.env = self.env, before
        self.block(node.orelse)
        if test.is_static:
            self._merge(taken)
        else:
            for name, value in taken.items():
                other = self.env.get(name, value)
                self.env[name] = branched((self.key(node), name), value, other)

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
        """The loop variable: on the vector's grid when it starts there and each step keeps it there."""
        if unrolled:
            return symbol("counter", self.key(node))
        arguments = node.iter.args if isinstance(node.iter, ast.Call) else []
        if len(arguments) == 3:
            start, step = self.evaluate(arguments[0]), self.evaluate(arguments[2])
            if all(is_aligned(*each) for each in (*start.terms.items(), *step.terms.items())):
                return symbol("known", self.key(node))
        return symbol("opaque", self.key(node))

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
                fresh = name in self.initial and name not in self.read and not self.passes[name]
                if fresh and name not in inside and self.env[name] is self.initial[name]:
                    self.roles[name] |= Role.OVERWRITTEN

    def _bind(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            if target.id in self.initial and target.id not in value.depends and not value.is_static:
                self.roles[target.id] |= Role.REASSIGNED
            self.env[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            items = value.items if value.items and len(value.items) == len(target.elts) else None
            for index, each in enumerate(target.elts):
                self._bind(each, items[index] if items else opaque((self.key(target), index), value))
