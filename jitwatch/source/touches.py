"""What a value in a kernel has of one parameter, and what values computed from such have of it.

``confined`` asks whether anything computed from a parameter reaches what its class matters to. These are the values
that it asks it with.
"""

from __future__ import annotations

import ast
import enum
from dataclasses import dataclass


class EscapesError(Exception):
    """The parameter reaches something that its class may matter to, or something unknown."""


class Touch(enum.Enum):
    """What a value has of the parameter."""

    NONE = enum.auto()
    ITSELF = enum.auto()
    CONSTANT = enum.auto()
    """Itself, as long as it is a constexpr: what is computed with one takes its type from the other side."""
    SHIFTED = enum.auto()
    """Itself with a constant added to it, or times one."""
    TEST = enum.auto()
    """A scalar comparison with it, or such a one joined with other conditions."""
    VALUE = enum.auto()
    """A number that it entered, and that still is another one in each program."""
    ADDRESS = enum.auto()
    """The pointer, moved by a scalar."""


@dataclass(frozen=True)
class Seen:
    """What is known of one value."""

    rank: int | None = None
    """0 of a scalar, 1 of a range; None where it is not known."""
    varies: bool = False
    """Differs from program to program: it cannot be folded at compile time."""
    touch: Touch = Touch.NONE

    @property
    def free(self) -> bool:
        """Whether nothing of the parameter is in it."""
        return self.touch is Touch.NONE

    def among(self, *allowed: Touch) -> Seen:
        """The value, if what it has of the parameter is allowed here. Raises EscapesError."""
        if not self.free and self.touch not in allowed:
            raise EscapesError
        return self


UNKNOWN, STATIC = Seen(), Seen(0)

MOVES = (ast.Add, ast.Sub)
SCALES = (ast.Mult, ast.Div)
JOINS = (ast.BitAnd, ast.BitOr, ast.BitXor)
ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)


def compared(op: ast.cmpop, left: Seen, right: Seen) -> Seen:
    """A comparison: with a scalar that varies, since 1 would decide one with a constant at compile time."""
    touched, other = (left, right) if right.free else (right, left)
    if touched.free:
        return of_all(left, right)
    touched.among(Touch.ITSELF, Touch.CONSTANT, Touch.SHIFTED)
    if not other.free or other.rank != 0 or not other.varies or not isinstance(op, ORDERS):
        raise EscapesError
    return Seen(0, True, Touch.TEST)


def combined(op: ast.operator, left: Seen, right: Seen) -> Seen:
    """The result of an operator."""
    touches = {left.touch, right.touch} - {Touch.NONE}
    if touches <= {Touch.VALUE} or (touches == {Touch.TEST} and isinstance(op, JOINS)):
        return of_all(left, right)
    touched, other = (left, right) if right.free else (right, left)
    if not other.free or other.rank != 0:
        raise EscapesError
    if touched.touch is Touch.ADDRESS and isinstance(op, MOVES):
        return touched
    return _computed(op, touched, other)


def _computed(op: ast.operator, touched: Seen, other: Seen) -> Seen:
    """The parameter computed with a scalar: ``n - 1`` can be 0, and what it multiplies be folded away."""
    touched.among(Touch.ITSELF, Touch.SHIFTED)
    if not other.varies and isinstance(op, (*MOVES, ast.Mult)):
        return Seen(0, touch=Touch.SHIFTED)
    if other.varies and isinstance(op, MOVES if touched.touch is Touch.SHIFTED else (*MOVES, *SCALES)):
        return Seen(0, True, Touch.VALUE)
    raise EscapesError


def selected(test: Seen, one: Seen, other: Seen) -> Seen:
    """One of two values, as a condition says: what the condition has of the parameter, the result has."""
    if test.free:
        return of_all(test, one, other)
    return Seen(_rank(test, one.among(Touch.VALUE), other.among(Touch.VALUE)), True, Touch.VALUE)


def of_all(*values: Seen) -> Seen:
    """Something computed from values of which at most one kind has the parameter in it."""
    return Seen(_rank(*values), any(each.varies for each in values), _touch(*values))


def either(one: Seen, other: Seen) -> Seen:
    """What a variable is that was given both."""
    rank = one.rank if one.rank == other.rank else None
    return Seen(rank, one.varies and other.varies, _touch(one, other))


def _rank(*values: Seen) -> int | None:
    ranks = [each.rank for each in values if each.rank is not None]
    return max(ranks) if len(ranks) == len(values) else None


def _touch(*values: Seen) -> Touch:
    touches = {each.touch for each in values} - {Touch.NONE}
    if len(touches) > 1:
        raise EscapesError
    return touches.pop() if touches else Touch.NONE
