"""Whether a parameter stays among scalars: then neither its divisibility nor its being 1 decides how fast a kernel is.

Triton's compiler turns a specialised integer into a constant where it is 1, and carries its divisibility along what is
computed from it, up to the pointers and masks of loads and stores, whose width it decides. A parameter is confined if
nothing computed from it gets there, nor to a loop, nor to anything that a 1 would fold away:

* it is compared with a scalar that the compiler cannot know (a program id, a loaded number), and the outcome guards
  a branch, masks an access as a whole or selects a value;
* it is added to such a scalar, multiplies or divides it, and the result is stored.

A constexpr is confined if it is compared in this way and does nothing else. A pointer is if each access through it is
of one element: its alignment matters to vectors alone.

Multiples of 16 and other values then compile to the same code. Where a program id is compared with a 1, the compiler
may also drop what only later programs do: of 61 such changes in vLLM and SGLang that compile alone, 56 are harmless to
``verify``, and the others keep every width, and a few registers or untaken branches more for a length of 1.

The proof needs no order of statements: a variable is all that is ever assigned to it. What it does not know, it takes
for an escape.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from jitwatch.source.scalar_uses import ScalarUses
from jitwatch.source.text import dotted
from jitwatch.source.touches import STATIC, UNKNOWN, EscapesError, Seen, Touch, combined, either

ROUNDS = 8
"""Passes over the body until its variables are settled; real kernels need two or three."""


def is_confined(function: ast.FunctionDef, name: str, touch: Touch, imports: Mapping[str, str]) -> bool:
    """Whether a parameter is confined: an ITSELF (an integer), a CONSTANT (a constexpr) or an ADDRESS (a pointer)."""
    nodes = list(ast.walk(function))
    variables = {each.id for each in nodes if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    if name in variables or any(isinstance(each, ast.NamedExpr) for each in nodes):
        return False
    try:
        return Confinement(name, touch, variables, imports).settles(function.body)
    except EscapesError:
        return False


class Confinement(ScalarUses):
    """Runs statements; raises EscapesError where the parameter gets away."""

    def settles(self, body: list[ast.stmt]) -> bool:
        """Run the body until no variable changes any more."""
        for _ in range(ROUNDS):
            before = dict(self.env)
            self.block(body)
            if self.env == before:
                return True
        return False

    def block(self, body: list[ast.stmt]) -> None:
        """Run some statements."""
        for node in body:
            handler = getattr(self, f"_run_{type(node).__name__}", None)
            if handler:
                handler(node)
            elif not isinstance(node, ast.Pass | ast.Break | ast.Continue):
                raise EscapesError

    def _run_Expr(self, node: ast.Expr) -> None:
        self.evaluate(node.value)

    def _run_Return(self, node: ast.Return) -> None:
        if node.value:
            self.free(node.value)

    def _run_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._bind(target, node.value)

    def _run_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value:
            static = dotted(node.annotation).rpartition(".")[2] == "constexpr"
            self._keep(node.target, self.free(node.value) if static else self.evaluate(node.value))

    def _run_AugAssign(self, node: ast.AugAssign) -> None:
        old = self.name(node.target.id) if isinstance(node.target, ast.Name) else UNKNOWN
        self._keep(node.target, combined(node.op, old, self.evaluate(node.value)))

    def _run_If(self, node: ast.If) -> None:
        self.condition(node.test)
        self.block(node.body)
        self.block(node.orelse)

    def _run_While(self, node: ast.While) -> None:
        self.free(node.test)
        self.block(node.body)
        self.block(node.orelse)

    def _run_For(self, node: ast.For) -> None:
        self.free(node.iter)
        called = dotted(node.iter.func).rpartition(".")[2] if isinstance(node.iter, ast.Call) else ""
        self._keep(node.target, STATIC if called in ("range", "static_range") else UNKNOWN)
        self.block(node.body)
        self.block(node.orelse)

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            if len(target.elts) != len(value.elts):
                raise EscapesError
            for one, other in zip(target.elts, value.elts, strict=True):
                self._bind(one, other)
        else:
            self._keep(target, self.evaluate(value))

    def _keep(self, target: ast.expr, value: Seen) -> None:
        if isinstance(target, ast.Name):
            old = self.env.get(target.id)
            self.env[target.id] = value if old is None else either(old, value)
            return
        value.among()
        for each in ast.walk(target):
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                self.env[each.id] = UNKNOWN
