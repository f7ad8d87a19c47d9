"""Host dataflow: where the arguments of a launch come from, followed back through the code around it.

Names are followed through the assignments of their function (all of them, in any order), through the
arguments of the function to its callers in the module, and into the functions of the module that compute them.
"""

from __future__ import annotations

import ast

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
from jitwatch.source.following import caller_facts, element_of
from jitwatch.source.host_calls import call_fact
from jitwatch.source.model import Cardinality, Origin
from jitwatch.source.scopes import Binding, Function, Scope, collect, definitions, open_scope
from jitwatch.source.tensor_names import is_choice, is_index
from jitwatch.source.text import SourceText, dotted

DEPTH = 12
"""Steps a value is followed back. Public fixes needed two; recursion through loops must end somewhere."""


_FIXED: dict[type[ast.expr], Fact] = {ast.Constant: LITERAL, ast.JoinedStr: CONSTANT, ast.Compare: FLAG}
"""Expressions that tell themselves what they are."""


class Host:
    """The launching side of one module."""

    def __init__(self, text: SourceText) -> None:
        self.text = text
        self.module = Scope(None, None)
        self.functions: dict[str, Function] = {}
        self._scopes: dict[int, Scope] = {}
        self.calls: dict[str, list[tuple[ast.Call, Function]]] = {}
        """Calls of the module's functions by name, as far as something has asked for them."""
        self._busy: set[tuple[int, str]] = set()
        collect(text.tree.body, self.module)
        for node in definitions(text.tree.body):
            self.functions.setdefault(node.name, node)

    def scope(self, function: Function, parent: Scope) -> Scope:
        """Return the scope of a function."""
        if id(function) not in self._scopes:
            self._scopes[id(function)] = open_scope(function, parent)
        return self._scopes[id(function)]

    # Values

    def value(self, node: ast.expr, scope: Scope, depth: int = DEPTH) -> Fact:
        """Say where the value of an expression comes from."""
        if depth <= 0:
            return UNKNOWN
        handler = getattr(self, f"_value_{type(node).__name__}", None)
        if handler is None:
            return _FIXED.get(type(node), UNKNOWN)
        found: Fact = handler(node, scope, depth - 1)
        return found

    def _value_BoolOp(self, node: ast.BoolOp, scope: Scope, depth: int) -> Fact:
        return join(*(self.value(each, scope, depth) for each in node.values))

    def _value_Starred(self, node: ast.Starred | ast.NamedExpr, scope: Scope, depth: int) -> Fact:
        return self.value(node.value, scope, depth)

    _value_NamedExpr = _value_Starred

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
        flat = (sizes is not None and len(sizes) == 1) or any(
            is_index(name) and not is_choice(name) for name in names
        )
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
            found, written = element_of(self, binding, binding.value, scope, depth)
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
            found = join(*(caller_facts(self, name, scope, depth)), found)
        return found.via(f"argument {name} of {owner}") if found.is_length else found

    # Tensors

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


def _integer(node: ast.expr) -> int | None:
    if (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and isinstance(node.operand, ast.Constant)
    ):
        return -node.operand.value if type(node.operand.value) is int else None
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None
