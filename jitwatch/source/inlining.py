"""Calls of the module's own functions, followed with the values they get.

A helper alone says little of its accesses: ``load_chunk(pointers, rows)`` moves a tile where the caller's pointers
span rows, and a stride multiplied by a position costs width only if the caller's position is no parameter. So the
body is run again at each call, and what its accesses need is noted for the caller's parameters. Roles are not: they
reach the caller through ``link``, as for the functions of other modules.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import reduce

from jitwatch.source.expressions import Env, Evaluator, Given
from jitwatch.source.model import Role
from jitwatch.source.polynomial import NOTHING, Value, join, symbol

DEEPEST = 3
"""Calls within calls that are followed."""

LONGEST = 1000
"""Lines of followed calls in one kernel, each time they run: a helper in nested loops runs often."""


class Inlining(Evaluator):
    """Follows calls; the statements themselves are run by the class that derives from it."""

    followed = 0
    returned: list[Value] | None = None
    """What the call that is being followed returned so far; None outside calls."""

    def execute(self, node: ast.stmt) -> None:
        """Run one statement."""
        raise NotImplementedError

    def follow(self, call: ast.Call, name: str, given: Sequence[Given]) -> Value | None:
        """Run the function that a call names, and return its result; None if it cannot be followed."""
        function = self.functions.get(name)
        idle = not any(value.depends for _, _, value in given)
        if function is None or idle or len(self.frame) >= DEEPEST:
            return None
        length = (function.end_lineno or function.lineno) - function.lineno
        if self.followed + length > LONGEST or any(isinstance(each, ast.Starred) for each in call.args):
            return None
        self.followed += length
        return self._apart(call, lambda: self._run_call(function, given))

    def _run_call(self, function: ast.FunctionDef, given: Sequence[Given]) -> Value:
        self.env = self._bound(function.args, given)
        self.returned = []
        for statement in function.body:
            self.execute(statement)
        if not self.returned:
            return NOTHING
        first, *others = self.returned
        return reduce(join, others, first)

    def _bound(self, declared: ast.arguments, given: Sequence[Given]) -> Env:
        """The values of a function's parameters; one that is not given is a default, known at compile time."""
        parameters = [*declared.posonlyargs, *declared.args, *declared.kwonlyargs]
        bound = {each.arg: symbol("static", self.key(each)) for each in parameters}
        for position, keyword, value in given:
            if position is not None and position < len(parameters):
                bound[parameters[position].arg] = value
            elif keyword in bound:
                bound[keyword] = value
        return bound

    def _apart(self, call: ast.Call, run: Callable[[], Value]) -> Value:
        """Run something for the accesses it makes; whatever else it notes is not the caller's."""
        kept = {name: getattr(self, name) for name in _NOTES}
        self.frame = (*self.frame, id(call))
        self.roles, self.passes = defaultdict(lambda: Role.NONE), defaultdict(list)
        self.initial, self.read, self.called = {}, set(), set()
        try:
            return run()
        finally:
            for name, value in kept.items():
                setattr(self, name, value)


_NOTES = ("frame", "env", "roles", "passes", "initial", "read", "called", "returned", "touches_memory")
