"""Expressions of a kernel, followed from its parameters to where they show what they are.

What indexes memory, bounds a loop or meets a bit operation is an integer, and so is the element that was loaded to be
it; what an access starts from is a pointer; a constexpr that an assertion or a branch compares with a literal may be
that literal.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from jitwatch.source.names import names_pointer
from jitwatch.verify.uses import NOTHING, Flow, Use, Uses, merged

BIT_OPERATIONS = (ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor)
WHOLE_OPERATIONS = (ast.Mod, ast.FloorDiv)
ATOMICS = frozenset(f"atomic_{each}" for each in ("add", "max", "min", "cas", "xchg", "and", "or", "xor"))
DESCRIBED = frozenset({"make_block_ptr", "make_tensor_descriptor"})
ACCESSES = frozenset({"load", "store"}) | ATOMICS | DESCRIBED
KEEPS = frozenset(
    ("where", "minimum", "maximum", "min", "max", "abs", "multiple_of", "max_contiguous", "cast", "cdiv")
) | {"expand_dims", "broadcast_to", "reshape", "trans"}
"""What returns its arguments, or one of them, or a whole part."""
SHAPES = frozenset({"arange", "zeros", "full", "empty", "reshape", "view", "broadcast_to", "make_block_ptr"})
MEMBERS = ("dtype", "shape", "type")


class Flows:
    """Follows the expressions of one function; ``env`` is what each variable may hold, whenever it does."""

    def __init__(
        self, found: Uses, functions: Mapping[str, ast.FunctionDef], env: dict[str, Flow], depth: int
    ) -> None:
        """`functions`: of the module, whose calls are followed; `depth`: calls around this one."""
        self.found, self.functions, self.env, self.depth = found, functions, env, depth

    def call(self, function: ast.FunctionDef, node: ast.Call) -> Flow | None:
        """Follow a call of a function of the module; None if it is too deep."""
        raise NotImplementedError

    def flow(self, node: ast.expr) -> Flow:
        """What an expression may be; notes what it does on the way."""
        handler = getattr(self, f"_flow_{type(node).__name__}", None)
        if handler is not None:
            made: Flow = handler(node)
            return made
        inner = (self.flow(each) for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr))
        return merged(inner)

    def _flow_Name(self, node: ast.Name) -> Flow:
        return self.env.get(node.id, NOTHING)

    def _flow_Attribute(self, node: ast.Attribute) -> Flow:
        made = self.flow(node.value)
        return NOTHING if node.attr in MEMBERS else made

    def _flow_BoolOp(self, node: ast.BoolOp) -> Flow:
        for each in node.values:
            self.test(each)
        return NOTHING

    def _flow_UnaryOp(self, node: ast.UnaryOp) -> Flow:
        if isinstance(node.op, ast.Not):
            self.test(node.operand)
            return NOTHING
        return self.flow(node.operand)

    def test(self, node: ast.expr) -> None:
        """Note what decides a branch."""
        self.note(Flow(elements=self.flow(node).elements), Use.NONE, Use.BOOLEAN_ELEMENTS)

    def _flow_IfExp(self, node: ast.IfExp) -> Flow:
        self.test(node.test)
        return self.flow(node.body) | self.flow(node.orelse)

    def _flow_Subscript(self, node: ast.Subscript) -> Flow:
        self.flow(node.slice)
        return self.flow(node.value)

    def _flow_BinOp(self, node: ast.BinOp) -> Flow:
        left, right = self.flow(node.left), self.flow(node.right)
        both = left | right
        if isinstance(node.op, BIT_OPERATIONS):
            self.note(both, Use.INTEGER, Use.PACKED_ELEMENTS)
        elif isinstance(node.op, WHOLE_OPERATIONS):
            self.note(both, Use.INTEGER, Use.INTEGER_ELEMENTS)
        if not isinstance(node.op, ast.Add | ast.Sub):
            return Flow((), both.values, both.elements)
        starts = left.starts or right.starts
        if any(map(names_pointer, right.starts)) and not any(map(names_pointer, left.starts)):
            starts = right.starts
        return Flow(starts, both.values, both.elements)

    def _flow_Compare(self, node: ast.Compare) -> Flow:
        sides = [node.left, *node.comparators]
        flows = [self.flow(each) for each in sides]
        for op, one, other in zip(node.ops, sides, sides[1:], strict=False):
            if isinstance(op, ast.Eq | ast.NotEq | ast.In):
                self._compare(one, other)
        if any(_is_index(each) for each in sides):
            self.note(merged(flows), Use.INTEGER, Use.INTEGER_ELEMENTS)
        return NOTHING

    def _compare(self, one: ast.expr, other: ast.expr) -> None:
        if isinstance(other, ast.Name):
            one, other = other, one
        name = self._parameter(one)
        for literal in _literals(other) if name else ():
            if literal not in self.found.compared[name]:
                self.found.compared[name].append(literal)

    def _parameter(self, node: ast.expr) -> str:
        """The kernel's parameter that a name stands for, in a followed function too; empty for none."""
        values = self.env.get(node.id, NOTHING).values if isinstance(node, ast.Name) else frozenset()
        return next(iter(values)) if len(values) == 1 else ""

    def _flow_Call(self, node: ast.Call) -> Flow:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in ("static_assert", "assume"):
            self.take_assertion(node.args[0])
            return NOTHING
        if isinstance(node.func, ast.Name) and name in self.functions:
            followed = self.call(self.functions[name], node)
            if followed is not None:
                return followed
        if name in ACCESSES and not self._is_method(node):
            return self._access(name, node)
        if name == "to" and isinstance(node.func, ast.Attribute):
            return self._cast(node.func.value, node)
        given = [*node.args, *(each.value for each in node.keywords)]
        if isinstance(node.func, ast.Attribute):
            given.insert(0, node.func.value)
        made = merged(map(self.flow, given))
        if name in SHAPES:
            self.note(made, Use.SIZE)
        if name == "static_range":
            self.note(made, Use.UNROLLED)
        return made if name in KEEPS else NOTHING

    def _is_method(self, node: ast.Call) -> bool:
        """Whether a call is a descriptor's ``desc.load([...])``, and not the language's ``tl.load(...)``."""
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        return owner is not None and not (isinstance(owner, ast.Name) and owner.id not in self.env)

    def _access(self, name: str, node: ast.Call) -> Flow:
        given = [*node.args, *(each.value for each in node.keywords)]
        made = [self.flow(each) for each in given]
        if not made:
            return NOTHING
        address = made[0]
        self._start(address)
        if name in DESCRIBED:
            self.note(merged(made[1:]), Use.INTEGER, Use.INTEGER_ELEMENTS)
        mask = _argument(node, 1 if name == "load" else 2, "mask")
        if mask is not None:
            self.note(Flow(elements=self.flow(mask).elements), Use.NONE, Use.BOOLEAN_ELEMENTS)
        return Flow(elements=frozenset(address.starts)) if name == "load" else NOTHING

    def _start(self, address: Flow) -> None:
        for name in address.starts:
            self.found.of[name] |= Use.POINTER
        self.note(
            Flow((), address.values - {*address.starts}, address.elements), Use.INTEGER, Use.INTEGER_ELEMENTS
        )

    def _cast(self, value: ast.expr, node: ast.Call) -> Flow:
        made = self.flow(value)
        wanted = ast.unparse(node.args[0]) if node.args else ""
        if "pointer_type" in wanted:
            self.note(Flow(elements=made.elements), Use.NONE, Use.ADDRESS_ELEMENTS)
            return NOTHING
        if wanted.endswith("int1"):
            self.note(Flow(elements=made.elements), Use.NONE, Use.BOOLEAN_ELEMENTS)
        elif wanted.endswith(("int32", "int64")) and isinstance(value, ast.Call):
            self.note(Flow(elements=made.elements), Use.NONE, Use.INTEGER_ELEMENTS)
        return made

    def take_assertion(self, test: ast.expr) -> None:
        """Take the literals that an assertion wants; of alternatives the first."""
        self.flow(test)
        if isinstance(test, ast.BoolOp):
            for each in test.values if isinstance(test.op, ast.And) else test.values[:1]:
                self.take_assertion(each)
        elif (
            isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq | ast.In)
        ):
            for literal in _literals(test.comparators[0]):
                if name := self._parameter(test.left):
                    self.found.asserted.setdefault(name, literal)

    def note(self, flow: Flow, of_values: Use, of_elements: Use = Use.NONE) -> None:
        """Note what happens to everything that an expression may be made of."""
        for name in flow.values:
            self.found.of[name] |= of_values
        for name in flow.elements:
            self.found.of[name] |= of_elements


def _argument(node: ast.Call, position: int, name: str) -> ast.expr | None:
    named = next((each.value for each in node.keywords if each.arg == name), None)
    return named if named is not None else node.args[position] if len(node.args) > position else None


def _is_index(node: ast.expr) -> bool:
    """Whether an expression can be nothing but an integer: -1, a program's number, a range."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        return type(node.operand.value) is int
    name = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
    return name in ("program_id", "arange", "num_programs")


def _literals(node: ast.expr) -> Iterator[Any]:
    parts = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    yield from (each.value for each in parts if isinstance(each, ast.Constant))
