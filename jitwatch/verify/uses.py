"""What a kernel does with its arguments, as far as it tells of their types: evidence for a guessed signature.

A value that indexes memory, bounds a loop or meets a bit operation is an integer, and so is the element that was
loaded to be it; what an access starts from is a pointer; a constexpr that an assertion or a branch compares with a
literal may be that literal. The body is read twice, without regard to its order: the first time fills in what each
variable may hold, which the second needs where a loop carries it.
"""

from __future__ import annotations

import ast
import enum
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jitwatch.source.model import Kernel
from jitwatch.source.names import names_pointer
from jitwatch.source.text import SourceText

DEEPEST = 3
"""Calls within calls that are followed."""

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


class Use(enum.Flag):
    """What was seen to happen to a parameter, or to the elements behind it."""

    NONE = 0
    POINTER = enum.auto()
    """An access starts from it."""
    INTEGER = enum.auto()
    """It indexes, counts, bounds a loop, or meets a bit operation."""
    INTEGER_ELEMENTS = enum.auto()
    PACKED_ELEMENTS = enum.auto()
    """They meet bit operations."""
    BOOLEAN_ELEMENTS = enum.auto()
    """They mask an access, decide a branch, or become ``tl.int1``."""
    ADDRESS_ELEMENTS = enum.auto()
    """They are cast to pointers."""
    SIZE = enum.auto()
    """It is part of a shape."""
    UNROLLED = enum.auto()
    """It bounds an unrolled loop."""


@dataclass(frozen=True)
class Flow:
    """What an expression may be: of which parameters it is made, and which of them it can start from as a pointer."""

    starts: tuple[str, ...] = ()
    values: frozenset[str] = frozenset()
    """Parameters that are added up in it."""
    elements: frozenset[str] = frozenset()
    """Parameters whose elements are."""

    def __or__(self, other: Flow) -> Flow:
        starts = tuple(dict.fromkeys((*self.starts, *other.starts)))
        return Flow(starts, self.values | other.values, self.elements | other.elements)


NOTHING = Flow()


@dataclass
class Uses:
    """What was found out about the parameters of one kernel."""

    of: defaultdict[str, Use] = field(default_factory=lambda: defaultdict(lambda: Use.NONE))
    asserted: dict[str, Any] = field(default_factory=dict)
    """Literals that a static assertion wants of a constexpr."""
    compared: defaultdict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    """Literals that a constexpr is compared with for equality, in order."""


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
    reader = _Reader(found, functions, {name: Flow((name,), frozenset([name])) for name in names}, 0)
    for _ in range(2):
        reader.read(function.body)
    return found


def _parameters(function: ast.FunctionDef) -> list[ast.arg]:
    arguments = function.args
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


class _Reader(ast.NodeVisitor):
    """Reads the statements of one function; ``env`` is what each variable may hold, whenever it does."""

    def __init__(
        self, found: Uses, functions: Mapping[str, ast.FunctionDef], env: dict[str, Flow], depth: int
    ) -> None:
        self.found, self.functions, self.env, self.depth = found, functions, env, depth
        self.returned = NOTHING

    def read(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.visit(statement)

    # -- statements -----------------------------------------------------------------------------------------------

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._bind(target, node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._bind(node.target, node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        as_load = ast.Name(node.target.id, ast.Load()) if isinstance(node.target, ast.Name) else node.target
        self._hold(node.target, self.flow(ast.BinOp(as_load, node.op, node.value)))

    def visit_For(self, node: ast.For) -> None:
        if isinstance(node.iter, ast.Call):
            for each in node.iter.args:
                self.note(self.flow(each), Use.INTEGER, Use.INTEGER_ELEMENTS)
            self.flow(node.iter)
        self.read(node.body)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            self.returned |= self.flow(node.value)

    def visit_Expr(self, node: ast.Expr) -> None:
        self.flow(node.value)

    def visit_If(self, node: ast.If) -> None:
        self._test(node.test)
        self.read([*node.body, *node.orelse])

    def visit_While(self, node: ast.While) -> None:
        self.flow(node.test)
        self.read(node.body)

    def visit_Assert(self, node: ast.Assert) -> None:
        self._assert(node.test)

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

    # -- expressions ----------------------------------------------------------------------------------------------

    def flow(self, node: ast.expr) -> Flow:
        """What an expression may be; notes what it does on the way."""
        handler = getattr(self, f"_flow_{type(node).__name__}", None)
        if handler is not None:
            made: Flow = handler(node)
            return made
        inner = (self.flow(each) for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr))
        return _merged(inner)

    def _flow_Name(self, node: ast.Name) -> Flow:
        return self.env.get(node.id, NOTHING)

    def _flow_Attribute(self, node: ast.Attribute) -> Flow:
        made = self.flow(node.value)
        return NOTHING if node.attr in MEMBERS else made

    def _flow_BoolOp(self, node: ast.BoolOp) -> Flow:
        for each in node.values:
            self._test(each)
        return NOTHING

    def _flow_UnaryOp(self, node: ast.UnaryOp) -> Flow:
        if isinstance(node.op, ast.Not):
            self._test(node.operand)
            return NOTHING
        return self.flow(node.operand)

    def _test(self, node: ast.expr) -> None:
        self.note(Flow(elements=self.flow(node).elements), Use.NONE, Use.BOOLEAN_ELEMENTS)

    def _flow_IfExp(self, node: ast.IfExp) -> Flow:
        self._test(node.test)
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
            self.note(_merged(flows), Use.INTEGER, Use.INTEGER_ELEMENTS)
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
            self._assert(node.args[0])
            return NOTHING
        if isinstance(node.func, ast.Name) and name in self.functions and self.depth < DEEPEST:
            return self._call(self.functions[name], node)
        if name in ACCESSES and not self._is_method(node):
            return self._access(name, node)
        if name == "to" and isinstance(node.func, ast.Attribute):
            return self._cast(node.func.value, node)
        given = [*node.args, *(each.value for each in node.keywords)]
        if isinstance(node.func, ast.Attribute):
            given.insert(0, node.func.value)
        made = _merged(map(self.flow, given))
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
            self.note(_merged(made[1:]), Use.INTEGER, Use.INTEGER_ELEMENTS)
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

    def _call(self, function: ast.FunctionDef, node: ast.Call) -> Flow:
        """Follow a call of a function of the module."""
        names = [each.arg for each in _parameters(function)]
        env = {name: self.flow(each) for name, each in zip(names, node.args, strict=False)}
        env |= {each.arg: self.flow(each.value) for each in node.keywords if each.arg}
        inner = _Reader(self.found, self.functions, env, self.depth + 1)
        for _ in range(2):
            inner.read(function.body)
        return inner.returned

    def _assert(self, test: ast.expr) -> None:
        """Take the literals that an assertion wants; of alternatives the first."""
        self.flow(test)
        if isinstance(test, ast.BoolOp):
            for each in test.values if isinstance(test.op, ast.And) else test.values[:1]:
                self._assert(each)
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


def _merged(flows: Iterator[Flow] | list[Flow]) -> Flow:
    made = NOTHING
    for each in flows:
        made |= each
    return made


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
