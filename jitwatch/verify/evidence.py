"""Evidence for a guessed signature: what a kernel does with its arguments.

The body is read twice, without regard to its order: the first time fills in what each variable may hold, which the
second needs where a loop carries it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

from jitwatch.source.model import Kernel
from jitwatch.source.text import SourceText
from jitwatch.verify.flows import Flows
from jitwatch.verify.uses import NOTHING, Flow, Use, Uses

DEEPEST = 3
"""Calls within calls that are followed."""


def read_uses(kernel: Kernel) -> Uses:
    """Read a kernel from its file; nothing is known of one that is not there."""
    try:
        tree = SourceText(Path(kernel.path).read_bytes()).tree
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return Uses()
    functions = {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef)}
    found = (
        each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef) and each.name == kernel.name
    )
    ours = [each for each in found if each.lineno == kernel.span.line]
    return uses_of(ours[0], functions) if ours else Uses()


def uses_of(function: ast.FunctionDef, functions: Mapping[str, ast.FunctionDef]) -> Uses:
    """Read a kernel; `functions`: those of its module, whose calls are followed."""
    found = Uses()
    names = [each.arg for each in _parameters(function)]
    reader = Reader(found, functions, {name: Flow((name,), frozenset([name])) for name in names}, 0)
    for _ in range(2):
        reader.read(function.body)
    return found


def _parameters(function: ast.FunctionDef) -> list[ast.arg]:
    arguments = function.args
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


class Reader(Flows):
    """Reads the statements of one function."""

    returned = NOTHING

    def read(self, body: list[ast.stmt]) -> None:
        """Read statements."""
        for statement in body:
            handler = getattr(self, f"_read_{type(statement).__name__}", None)
            if handler is not None:
                handler(statement)
            else:  # a block of another kind
                self.read([each for each in ast.iter_child_nodes(statement) if isinstance(each, ast.stmt)])

    def call(self, function: ast.FunctionDef, node: ast.Call) -> Flow | None:
        """Follow a call of a function of the module; None if it is too deep."""
        if self.depth == DEEPEST:
            return None
        names = [each.arg for each in _parameters(function)]
        env = {name: self.flow(each) for name, each in zip(names, node.args, strict=False)}
        env |= {each.arg: self.flow(each.value) for each in node.keywords if each.arg}
        inner = Reader(self.found, self.functions, env, self.depth + 1)
        for _ in range(2):
            inner.read(function.body)
        return inner.returned

    def _read_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._bind(target, node.value)

    def _read_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._bind(node.target, node.value)

    def _read_AugAssign(self, node: ast.AugAssign) -> None:
        as_load = ast.Name(node.target.id, ast.Load()) if isinstance(node.target, ast.Name) else node.target
        self._hold(node.target, self.flow(ast.BinOp(as_load, node.op, node.value)))

    def _read_For(self, node: ast.For) -> None:
        if isinstance(node.iter, ast.Call):
            for each in node.iter.args:
                self.note(self.flow(each), Use.INTEGER, Use.INTEGER_ELEMENTS)
            self.flow(node.iter)
        self.read(node.body)

    def _read_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            self.returned |= self.flow(node.value)

    def _read_Expr(self, node: ast.Expr) -> None:
        self.flow(node.value)

    def _read_If(self, node: ast.If) -> None:
        self.test(node.test)
        self.read([*node.body, *node.orelse])

    def _read_While(self, node: ast.While) -> None:
        self.flow(node.test)
        self.read(node.body)

    def _read_Assert(self, node: ast.Assert) -> None:
        self.take_assertion(node.test)

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for each, given in zip(target.elts, value.elts, strict=False):
                self._bind(each, given)
        else:
            self._hold(target, self.flow(value))

    def _hold(self, target: ast.expr, flow: Flow) -> None:
        for each in ast.walk(target):
            if isinstance(each, ast.Name):
                self.env[each.id] = self.env.get(each.id, NOTHING) | flow
