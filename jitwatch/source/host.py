"""Host dataflow: where the arguments of a launch come from, followed back through the code around it.

Names are followed through the assignments of their function (all of them, in any order), through the
arguments of the function to its callers in the module, and into the functions of the module that compute them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from jitwatch.source.facts import (
    COARSE,
    CONSTANT,
    FLAG,
    LITERAL,
    UNKNOWN,
    Fact,
    Tensor,
    attribute,
    constant,
    derive,
    guess,
    join,
    named,
)
from jitwatch.source.host_calls import call_fact
from jitwatch.source.model import Cardinality, Origin
from jitwatch.source.names import is_index
from jitwatch.source.text import SourceText, dotted

Function = ast.FunctionDef | ast.AsyncFunctionDef

DEPTH = 12
"""Steps a value is followed back. Public fixes needed two; recursion through loops must end somewhere."""


@dataclass(frozen=True)
class Binding:
    """One assignment of a name: an expression, or one element of what it yields."""

    value: ast.expr
    element: int | None = None
    """Position in a tuple target, counted from the end when negative."""
    of: int | None = None
    """Number of the targets, None with a starred one before it."""
    loop: bool = False


@dataclass
class Scope:
    """The names of one function, or of the module."""

    function: Function | None
    parent: Scope | None
    name: str = ""
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    arguments: dict[str, ast.arg] = field(default_factory=dict)
    defaults: dict[str, ast.expr] = field(default_factory=dict)
    passed: dict[str, Fact] = field(default_factory=dict)
    """Arguments of the call being followed."""


class Host:
    """The launching side of one module."""

    def __init__(self, text: SourceText) -> None:
        self.text = text
        self.module = Scope(None, None)
        self.functions: dict[str, Function] = {}
        self._scopes: dict[int, Scope] = {}
        self._calls: dict[str, list[tuple[ast.Call, Function]]] | None = None
        self._busy: set[tuple[int, str]] = set()
        _collect(text.tree.body, self.module)
        for node in _definitions(text.tree.body):
            self.functions.setdefault(node.name, node)

    def scope(self, function: Function, parent: Scope) -> Scope:
        """Return the scope of a function."""
        known = self._scopes.get(id(function))
        if known is None:
            known = Scope(function, parent, f"{parent.name}.{function.name}".lstrip("."))
            given = function.args
            every = [*given.posonlyargs, *given.args, *given.kwonlyargs]
            known.arguments = {each.arg: each for each in every}
            positional = [*given.posonlyargs, *given.args]
            known.defaults = {
                each.arg: value
                for each, value in zip(
                    positional[len(positional) - len(given.defaults) :], given.defaults, strict=True
                )
            }
            known.defaults |= {
                a.arg: v for a, v in zip(given.kwonlyargs, given.kw_defaults, strict=True) if v
            }
            _collect(function.body, known)
            self._scopes[id(function)] = known
        return known

    # Values

    def value(self, node: ast.expr, scope: Scope, depth: int = DEPTH) -> Fact:
        """Say where the value of an expression comes from."""
        if depth <= 0:
            return UNKNOWN
        handler = getattr(self, f"_value_{type(node).__name__}", None)
        if handler is None:
            return UNKNOWN
        found: Fact = handler(node, scope, depth - 1)
        return found

    def _value_Constant(self, node: ast.Constant, scope: Scope, depth: int) -> Fact:
        return LITERAL

    def _value_JoinedStr(self, node: ast.JoinedStr, scope: Scope, depth: int) -> Fact:
        return CONSTANT

    def _value_Compare(self, node: ast.Compare, scope: Scope, depth: int) -> Fact:
        return FLAG

    def _value_BoolOp(self, node: ast.BoolOp, scope: Scope, depth: int) -> Fact:
        return join(*(self.value(each, scope, depth) for each in node.values))

    def _value_NamedExpr(self, node: ast.NamedExpr, scope: Scope, depth: int) -> Fact:
        return self.value(node.value, scope, depth)

    def _value_Starred(self, node: ast.Starred, scope: Scope, depth: int) -> Fact:
        return self.value(node.value, scope, depth)

    def _value_IfExp(self, node: ast.IfExp, scope: Scope, depth: int) -> Fact:
        return join(self.value(node.body, scope, depth), self.value(node.orelse, scope, depth))

    def _value_UnaryOp(self, node: ast.UnaryOp, scope: Scope, depth: int) -> Fact:
        return FLAG if isinstance(node.op, ast.Not) else self.value(node.operand, scope, depth)

    def _value_BinOp(self, node: ast.BinOp, scope: Scope, depth: int) -> Fact:
        left, right = self.value(node.left, scope, depth), self.value(node.right, scope, depth)
        whole = derive(left, right)
        if isinstance(node.op, ast.FloorDiv) and left.is_length and right.is_length:
            return Fact(Origin.UNKNOWN, soft=True)  # `x.numel() // rows` is a width
        if isinstance(node.op, ast.FloorDiv) and whole.is_length and constant(node.right) >= COARSE:
            return Fact(Origin.DERIVED, Cardinality.FEW, whole.hops)
        if isinstance(node.op, ast.Mod) and whole.is_length and not right.is_length:
            return Fact(Origin.DERIVED, Cardinality.FEW, whole.hops)
        if isinstance(node.op, ast.Pow | ast.LShift) and whole.is_length and not left.is_length:
            return Fact(Origin.DERIVED, Cardinality.LOG2, whole.hops)
        if (
            isinstance(node.op, ast.Add | ast.Sub)
            and left.is_length != right.is_length
            and Origin.LITERAL
            in (
                left.origin,
                right.origin,
            )
        ):
            return left if left.is_length else right  # `len(cu_seqlens) - 1` is a length still
        return whole

    def _value_Tuple(self, node: ast.Tuple | ast.List, scope: Scope, depth: int) -> Fact:
        items: list[Fact] = []
        for each in node.elts:
            found = self.value(each, scope, depth)
            items.extend(found.items or [found]) if isinstance(each, ast.Starred) else items.append(found)
        return Fact(Origin.UNKNOWN, items=tuple(items))

    _value_List = _value_Tuple

    def _value_Attribute(self, node: ast.Attribute, scope: Scope, depth: int) -> Fact:
        if node.attr == "shape":
            tensor = self.tensor(node.value, scope, depth)
            return Fact(Origin.UNKNOWN, items=tensor.sizes, tensor=tensor)
        if node.attr in ("T", "mT", "data"):
            return Fact(Origin.TENSOR, tensor=Tensor(self.tensor(node.value, scope, depth).names))
        if node.attr in (
            "dtype",
            "device",
            "ndim",
            "itemsize",
            "is_cuda",
            "element_size",
            "multi_processor_count",
        ):
            return CONSTANT
        return named(attribute(dotted(node.value), node.attr), node.attr)

    def _value_Subscript(self, node: ast.Subscript, scope: Scope, depth: int) -> Fact:
        index = _integer(node.slice)
        owner = node.value
        sized = isinstance(owner, ast.Attribute) and owner.attr == "shape"
        called = (
            isinstance(owner, ast.Call)
            and isinstance(owner.func, ast.Attribute)
            and owner.func.attr == "size"
        )
        if sized or (called and not owner.args):  # type: ignore[attr-defined]
            target = owner.value if isinstance(owner, ast.Attribute) else owner.func.value  # type: ignore[attr-defined]
            return self.tensor(target, scope, depth).size(index)
        found = self.value(owner, scope, depth)
        if (
            found.tensor and found.origin is not Origin.TENSOR and index is not None
        ):  # `shape = x.shape; shape[0]`
            return found.tensor.size(index)
        if found.items and index is not None and -len(found.items) <= index < len(found.items):
            return found.items[index]
        if found.origin is Origin.TENSOR or isinstance(node.slice, ast.Slice | ast.Tuple):
            return self._view(node, found, scope, depth)
        return Fact(Origin.UNKNOWN, soft=True)

    def _view(self, node: ast.Subscript, found: Fact, scope: Scope, depth: int) -> Fact:
        """A slice of a tensor: does it start at a run-time position?"""
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        names = found.tensor.names if found.tensor else (dotted(node.value),)
        sizes = found.tensor.sizes if found.tensor else None
        # A whole row further on is aligned as the first one is; an element further on is not.
        flat = (sizes is not None and len(sizes) == 1) or any(is_index(name) for name in names)
        inner = [each for index, each in enumerate(parts) if index or flat]
        starts = [each.lower for each in inner if isinstance(each, ast.Slice) and each.lower is not None]
        fixed = (Origin.LITERAL, Origin.MODEL_CONSTANT, Origin.STRIDE)
        moving = any(self.value(start, scope, depth).origin not in fixed for start in starts)
        return Fact(
            Origin.TENSOR, tensor=Tensor(names, offset=moving or bool(found.tensor and found.tensor.offset))
        )

    def _value_Call(self, node: ast.Call, scope: Scope, depth: int) -> Fact:
        return call_fact(self, node, scope, depth)

    def _value_Name(self, node: ast.Name, scope: Scope, depth: int) -> Fact:
        return self.name(node.id, scope, depth)

    def name(self, name: str, scope: Scope, depth: int) -> Fact:
        """Follow a name through its assignments and, for an argument, to the callers."""
        holder: Scope | None = scope
        while holder and name not in holder.bindings and name not in holder.arguments:
            holder = holder.parent
        key = (id(holder), name)
        if holder is None or key in self._busy:
            return guess(name) if holder is None else UNKNOWN
        self._busy.add(key)
        try:
            found = [self._bound(binding, name, holder, depth) for binding in holder.bindings.get(name, ())]
            if name in holder.arguments:
                found.append(self._argument(name, holder, depth))
        finally:
            self._busy.discard(key)
        known = [fact for fact in found if fact.origin is not Origin.UNKNOWN] or found
        tensors = [fact.tensor for fact in known if fact.tensor and fact.origin is Origin.TENSOR]
        merged = named(join(*known), name)
        if merged.origin is Origin.TENSOR and tensors:
            names = (name, *(each for tensor in tensors for each in tensor.names))
            first = tensors[0]
            offset = any(tensor.offset for tensor in tensors)
            return Fact(Origin.TENSOR, tensor=Tensor(names[:6], first.sizes, first.strides, offset))
        return merged

    def _bound(self, binding: Binding, name: str, scope: Scope, depth: int) -> Fact:
        if binding.loop:
            whole = self.value(binding.value, scope, depth)
            constant = whole.origin in (Origin.LITERAL, Origin.MODEL_CONSTANT)
            follows = Fact(Origin.DERIVED if whole.is_length else Origin.UNKNOWN, hops=whole.hops, soft=True)
            return CONSTANT if constant else named(follows, name)
        hop = f"{name} = {self.text.segment(binding.value)}"
        if binding.element is not None and isinstance(binding.value, ast.Tuple | ast.List):
            found, written = self._element(binding, binding.value, scope, depth)
            return named(found, name).via(f"{name} = {written}")
        whole = self.value(binding.value, scope, depth)
        if binding.element is None:
            return named(whole, name).via(hop)
        hop += f"[{binding.element}]"
        if whole.items and -len(whole.items) <= binding.element < len(whole.items):
            return named(whole.items[binding.element], name).via(hop)
        if whole.tensor:  # a shape unpacked
            return named(whole.tensor.size(binding.element, binding.of), name).via(hop)
        return named(Fact(whole.origin, whole.cardinality, whole.hops, soft=True), name).via(hop)

    def _element(
        self, binding: Binding, value: ast.Tuple | ast.List, scope: Scope, depth: int
    ) -> tuple[Fact, str]:
        """One element of ``B, T, H, K, V = *k.shape, v.shape[-1]``, and how it could have been written."""
        assert binding.element is not None
        starred = [index for index, each in enumerate(value.elts) if isinstance(each, ast.Starred)]
        if len(starred) != 1 or binding.of is None:
            return UNKNOWN, self.text.segment(value)
        rank, first = binding.of - len(value.elts) + 1, starred[0]
        if first <= binding.element < first + rank:
            inner = value.elts[first]
            assert isinstance(inner, ast.Starred)
            whole = self.value(inner.value, scope, depth)
            place = binding.element - first
            found = whole.tensor.size(place, rank) if whole.tensor else UNKNOWN
            return found, f"{self.text.segment(inner.value)}[{place}]"
        after = binding.element if binding.element < first else binding.element - rank + 1
        return self.value(value.elts[after], scope, depth), self.text.segment(value.elts[after])

    def _argument(self, name: str, scope: Scope, depth: int) -> Fact:
        if name in scope.passed:
            return named(scope.passed[name], name)
        argument = scope.arguments[name]
        if argument.annotation and "Tensor" in self.text.segment(argument.annotation):
            return Fact(Origin.TENSOR, tensor=Tensor((name,)))
        if name in ("self", "cls"):
            return UNKNOWN
        owner = scope.function.name if scope.function else ""
        found = guess(name)
        if found.origin is Origin.UNKNOWN:
            found = join(*(self._caller_facts(name, scope, depth)), found)
        return found.via(f"argument {name} of {owner}") if found.is_length else found

    def _caller_facts(self, name: str, scope: Scope, depth: int) -> Iterator[Fact]:
        """What the module's own callers pass for an argument."""
        assert scope.function is not None
        if self._calls is None:
            self._calls = {}
            for function in self.functions.values():
                for each in ast.walk(function):
                    if isinstance(each, ast.Call) and isinstance(each.func, ast.Name):
                        self._calls.setdefault(each.func.id, []).append((each, function))
        order = list(scope.arguments)
        for call, caller in self._calls.get(scope.function.name, ())[:4]:
            outer = self.scope(caller, self.module)
            value = next((k.value for k in call.keywords if k.arg == name), None)
            index = order.index(name)
            if (
                value is None
                and index < len(call.args)
                and not any(isinstance(a, ast.Starred) for a in call.args)
            ):
                value = call.args[index]
            if value is not None:
                yield self.value(value, outer, depth - 2)

    # Tensors and functions

    def tensor(self, node: ast.expr, scope: Scope, depth: int) -> Tensor:
        """Return what is known of a tensor expression; by its name if nothing else."""
        found = self.value(node, scope, depth)
        name = dotted(node) or (dotted(node.value) if isinstance(node, ast.Subscript) else "")
        if found.tensor and found.origin is Origin.TENSOR:
            names = (
                (name, *found.tensor.names) if name and name not in found.tensor.names else found.tensor.names
            )
            return Tensor(names, found.tensor.sizes, found.tensor.strides, found.tensor.offset)
        return Tensor((name,) if name else ())

    def follow(self, function: Function, call: ast.Call, scope: Scope, depth: int) -> Fact:
        """What a function of this module returns for one call."""
        template = self.scope(function, self.module)
        inner = Scope(
            function, self.module, template.name, template.bindings, template.arguments, template.defaults
        )
        for name, argument in zip(inner.arguments, call.args, strict=False):
            inner.passed[name] = self.value(argument, scope, depth)
        for keyword in call.keywords:
            if keyword.arg:
                inner.passed[keyword.arg] = self.value(keyword.value, scope, depth)
        for name, default in inner.defaults.items():
            inner.passed.setdefault(name, self.value(default, self.module, depth))
        returned = [
            self.value(each.value, inner, depth) for each in _returns(function) if each.value is not None
        ]
        widths = {len(fact.items) if fact.items else 0 for fact in returned}
        if returned and len(widths) == 1 and 0 not in widths:
            columns = zip(*(fact.items or () for fact in returned), strict=True)
            return Fact(Origin.UNKNOWN, items=tuple(join(*column) for column in columns))
        return join(*returned)


def _integer(node: ast.expr) -> int | None:
    if (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and isinstance(node.operand, ast.Constant)
    ):
        return -node.operand.value if type(node.operand.value) is int else None
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def _definitions(body: list[ast.stmt]) -> Iterator[Function]:
    for node in body:
        if isinstance(node, Function):
            yield node
        elif isinstance(node, ast.ClassDef | ast.If | ast.Try):
            yield from _definitions(node.body)


def _returns(function: Function) -> Iterator[ast.Return]:
    for each in ast.walk(function):
        if isinstance(each, ast.Return):
            yield each


def _collect(body: list[ast.stmt], scope: Scope) -> None:
    """Gather the assignments of a scope, nested blocks included, nested definitions not."""
    for node in body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                _bind(target, node.value, scope)
        elif isinstance(node, ast.AnnAssign) and node.value:
            _bind(node.target, node.value, scope)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            scope.bindings.setdefault(node.target.id, []).append(Binding(node.value))
        elif isinstance(node, ast.For | ast.AsyncFor):
            for each in ast.walk(node.target):
                if isinstance(each, ast.Name):
                    scope.bindings.setdefault(each.id, []).append(Binding(node.iter, loop=True))
        if not isinstance(node, Function | ast.ClassDef):
            for inner in ("body", "orelse", "finalbody"):
                _collect(getattr(node, inner, None) or [], scope)
            for handler in getattr(node, "handlers", ()):
                _collect(handler.body, scope)


def _bind(target: ast.expr, value: ast.expr, scope: Scope) -> None:
    if isinstance(target, ast.Name):
        scope.bindings.setdefault(target.id, []).append(Binding(value))
    elif isinstance(target, ast.Tuple | ast.List):
        elements = value.elts if isinstance(value, ast.Tuple | ast.List) else []
        starred_somewhere = any(isinstance(each, ast.Starred) for each in (*elements, *target.elts))
        if len(elements) == len(target.elts) and not starred_somewhere:
            for one, other in zip(target.elts, elements, strict=True):
                _bind(one, other, scope)
            return
        starred = next((i for i, each in enumerate(target.elts) if isinstance(each, ast.Starred)), None)
        count = len(target.elts)
        for index, each in enumerate(target.elts):
            if isinstance(each, ast.Name):
                place = index if starred is None or index < starred else index - count
                binding = Binding(value, place, count if starred is None else None)
                scope.bindings.setdefault(each.id, []).append(binding)
