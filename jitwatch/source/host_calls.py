"""What the calls in launching code return: sizes, roundings, new tensors, views."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jitwatch.source.facts import COARSE, CONSTANT, FLAG, UNKNOWN, Fact, Tensor, constant, derive, guess, join
from jitwatch.source.following import follow
from jitwatch.source.model import Cardinality, Origin
from jitwatch.source.names import NameHint, hint
from jitwatch.source.tensor_names import is_pool, is_weight
from jitwatch.source.text import dotted

if TYPE_CHECKING:
    from jitwatch.source.host import Host
    from jitwatch.source.scopes import Scope

_POWERS = (
    "next_power_of_2",
    "next_power_of_two",
    "next_pow2",
    "next_pow_2",
    "bit_length",
    "log2",
    "next_p2",
    "prev_power_of_2",
)
_ROUNDINGS = frozenset(
    """cdiv ceil_div ceildiv ceil floor round int abs sum pow prod float round_up round_down align align_up div
    next_multiple div_ceil divide exact_div SymInt len32""".split()  # noqa: SIM905
)
_CREATES = frozenset("empty zeros ones full rand randn new_empty new_zeros new_ones new_full".split())  # noqa: SIM905
_LIKE = frozenset("empty_like zeros_like ones_like full_like rand_like randn_like".split())  # noqa: SIM905
_SAME = frozenset(
    """contiguous to float half bfloat16 detach clone cuda cpu long int requires_grad_ type_as zero_ fill_
    input_guard""".split()  # noqa: SIM905
)
_VIEWS = frozenset("view reshape flatten squeeze unsqueeze expand narrow".split())  # noqa: SIM905
_READS = frozenset("item tolist max min sum amax".split())  # noqa: SIM905
_DEVICE = (
    "multi_processor",
    "num_sm",
    "sm_count",
    "device_prop",
    "core_num",
    "num_core",
    "vectorcore",
    "cu_count",
    "_cores",
)


def call_fact(host: Host, node: ast.Call, scope: Scope, depth: int) -> Fact:
    """Say where the result of a call comes from."""
    called = dotted(node.func) or (node.func.attr if isinstance(node.func, ast.Attribute) else "")
    last = called.rpartition(".")[2]
    if any(part in called.lower() for part in _DEVICE):
        return CONSTANT
    if last == "len" and node.args:
        weight = is_weight(dotted(node.args[0]))
        inner = host.value(node.args[0], scope, depth)
        fixed = isinstance(node.args[0], ast.Tuple | ast.List) or (inner.items and not inner.tensor)
        return CONSTANT if weight or fixed else Fact(Origin.LENGTH)
    if last in _POWERS:
        return _rounded_to_powers(host, node, scope, depth)
    if last in ("min", "max") and "." not in called and len(node.args) > 1:
        return _bounded(host, node, scope, depth)
    if last in host.functions and "." not in called:
        found = follow(host, host.functions[last], node, scope, depth)
        if found.origin is not Origin.UNKNOWN or found.items:
            return found
    if isinstance(node.func, ast.Attribute):
        method = _method(host, node, node.func, scope, depth)
        if method is not None:
            return method
    return _function(host, node, last, scope, depth)


def _rounded_to_powers(host: Host, node: ast.Call, scope: Scope, depth: int) -> Fact:
    operands = [host.value(each, scope, depth) for each in node.args]
    if isinstance(node.func, ast.Attribute) and not node.args:
        operands = [host.value(node.func.value, scope, depth)]
    whole = derive(*operands)
    return Fact(whole.origin, Cardinality.LOG2, whole.hops) if whole.is_length else whole


def _bounded(host: Host, node: ast.Call, scope: Scope, depth: int) -> Fact:
    facts = [host.value(each, scope, depth) for each in node.args]
    varying = [fact for fact in facts if fact.is_length]
    capped = 0 < len(varying) < len(facts) and dotted(node.func) == "min"
    if capped and varying[0].cardinality is Cardinality.LOG2:  # the powers of two below a bound
        return Fact(Origin.DERIVED, Cardinality.FEW, varying[0].hops)
    return varying[0] if varying else join(*facts)


def _method(host: Host, node: ast.Call, func: ast.Attribute, scope: Scope, depth: int) -> Fact | None:
    """Fact of a tensor's method; None for the function of a module and for methods of other things."""
    name, first = func.attr, node.args[0] if node.args else None
    if name in ("size", "stride", "numel", "nelement", "dim", "element_size", "data_ptr", "get_device"):
        tensor = host.tensor(func.value, scope, depth)
        if isinstance(func.value, ast.Subscript) and any(is_pool(each) for each in tensor.names):
            return CONSTANT  # one element of a pool
        return _measure(host, name, first, tensor)
    if name in _CREATES or name in _LIKE or name in ("as_strided", "empty_strided"):
        return _created(host, node, func, scope, depth)
    if name in _SAME and not (isinstance(func.value, ast.Name) and func.value.id in ("torch", "np", "math")):
        found = host.value(func.value, scope, depth)
        return (
            found
            if found.origin is Origin.TENSOR
            else Fact(Origin.TENSOR, tensor=host.tensor(func.value, scope, depth))
        )
    if name in _VIEWS:
        return _viewed(host, node, func, scope, depth)
    if name in ("transpose", "permute", "t", "swapaxes", "movedim"):
        return _reordered(host, node, func, scope, depth)
    if name in _READS and not node.args and not isinstance(func.value, ast.Attribute):
        return Fact(Origin.UNKNOWN, soft=True)
    return None


def _measure(host: Host, name: str, first: ast.expr | None, tensor: Tensor) -> Fact:
    index = None
    if isinstance(first, ast.Constant) and type(first.value) is int:
        index = first.value
    elif isinstance(first, ast.UnaryOp) and isinstance(first.operand, ast.Constant):
        index = -int(first.operand.value) if type(first.operand.value) is int else None
    if name == "size":
        return (
            tensor.size(index)
            if first is not None
            else Fact(Origin.UNKNOWN, items=tensor.sizes, tensor=tensor)
        )
    if name == "stride":
        return tensor.stride(index) if first is not None else Fact(Origin.UNKNOWN, items=tensor.strides)
    if name in ("numel", "nelement"):
        if tensor.sizes is not None:
            return derive(*tensor.sizes)
        if any(is_pool(each) for each in tensor.names):
            return Fact(Origin.POOL, Cardinality.ONE)
        return CONSTANT if any(is_weight(each) for each in tensor.names) else Fact(Origin.LENGTH)
    return CONSTANT


def _created(host: Host, node: ast.Call, func: ast.Attribute, scope: Scope, depth: int) -> Fact:
    """A new tensor: its sizes are spelled out, its strides follow."""
    if func.attr in _LIKE and node.args:
        return Fact(Origin.TENSOR, tensor=host.tensor(node.args[0], scope, depth))
    given = node.args
    sizes = _sizes(host, given, scope, depth) if func.attr in _CREATES else None
    if func.attr in ("as_strided", "empty_strided") and len(given) >= 2:
        spelled = [host.value(each, scope, depth).items for each in given[:2]]
        return Fact(Origin.TENSOR, tensor=Tensor((), spelled[0], spelled[1]))
    return Fact(Origin.TENSOR, tensor=Tensor((), sizes, contiguous_strides(sizes)))


def _sizes(host: Host, given: list[ast.expr], scope: Scope, depth: int) -> tuple[Fact, ...] | None:
    if not given:
        return None
    facts = [host.value(each, scope, depth) for each in given]
    if facts[0].tensor:  # torch.empty(x.shape)
        return None
    if facts[0].items is not None:
        return facts[0].items
    return tuple(facts) if not any(isinstance(each, ast.Starred) for each in given) else None


def contiguous_strides(sizes: tuple[Fact, ...] | None) -> tuple[Fact, ...] | None:
    """Strides of a dense tensor: products of the sizes after each dimension."""
    if sizes is None:
        return None
    return tuple(
        derive(*sizes[index + 1 :]) if index + 1 < len(sizes) else CONSTANT for index in range(len(sizes))
    )


def _viewed(host: Host, node: ast.Call, func: ast.Attribute, scope: Scope, depth: int) -> Fact:
    tensor = host.tensor(func.value, scope, depth)
    sizes = _sizes(host, node.args, scope, depth) if func.attr in ("view", "reshape") else None
    if sizes is not None:
        minus = [isinstance(each, ast.UnaryOp) for each in node.args]
        fixed = any(is_weight(name) for name in tensor.names)
        whole = CONSTANT if fixed else Fact(Origin.LENGTH, soft=True)
        if len(minus) == len(sizes):
            last = len(sizes) - 1
            sizes = tuple(
                (tensor.size(-1) if index == last and last else whole) if minus[index] else size
                for index, size in enumerate(sizes)
            )
    return Fact(Origin.TENSOR, tensor=Tensor(tensor.names, sizes, contiguous_strides(sizes), tensor.offset))


def _reordered(host: Host, node: ast.Call, func: ast.Attribute, scope: Scope, depth: int) -> Fact:
    """Transposed or permuted: sizes and strides move together."""
    on_module = isinstance(func.value, ast.Name) and func.value.id == "torch"
    given = node.args[1:] if on_module else node.args
    tensor = host.tensor(node.args[0] if on_module and node.args else func.value, scope, depth)
    places = [each.value for each in given if isinstance(each, ast.Constant) and type(each.value) is int]
    if tensor.sizes is None or tensor.strides is None or len(tensor.sizes) != len(tensor.strides):
        return Fact(Origin.TENSOR, tensor=Tensor(tensor.names, offset=tensor.offset))
    order = list(range(len(tensor.sizes)))
    if func.attr == "permute" and sorted(places) == order:
        order = places
    elif len(places) == 2 and all(place < len(order) for place in places):
        order[places[0]], order[places[1]] = order[places[1]], order[places[0]]
    elif func.attr == "t":
        order.reverse()
    return Fact(
        Origin.TENSOR,
        tensor=Tensor(
            tensor.names,
            tuple(tensor.sizes[index] for index in order),
            tuple(tensor.strides[index] for index in order),
            tensor.offset,
        ),
    )


def _function(host: Host, node: ast.Call, last: str, scope: Scope, depth: int) -> Fact:
    facts = [host.value(each, scope, depth) for each in (*node.args, *(k.value for k in node.keywords))]
    whole = derive(*facts) if facts else UNKNOWN
    if last in _ROUNDINGS:
        if "div" in last and len(node.args) == 2 and constant(node.args[1]) >= COARSE and whole.is_length:
            return Fact(Origin.DERIVED, Cardinality.FEW, whole.hops)
        if last == "pow" and len(facts) == 2 and facts[1].is_length and not facts[0].is_length:
            return Fact(Origin.DERIVED, Cardinality.LOG2, whole.hops)
        if last in ("int", "float", "round") and len(facts) == 1:
            return facts[0]
        return whole
    if last in ("range", "enumerate", "zip"):
        return whole
    if last in ("bool", "isinstance", "hasattr", "getattr", "any", "all"):
        return FLAG
    if "pow" in last and whole.is_length:
        return Fact(Origin.DERIVED, Cardinality.LOG2, whole.hops)
    if hint(last) in (NameHint.CONSTANT, NameHint.TILE):
        return guess(last)
    if whole.is_length:
        return Fact(Origin.DERIVED, Cardinality.FEW, whole.hops, soft=True)
    return Fact(Origin.UNKNOWN, soft=True)
