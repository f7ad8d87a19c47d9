"""What the functions of Triton's language mean to the abstract run of a kernel's body."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from jitwatch.source.model import Role
from jitwatch.source.polynomial import NOTHING, Value, either, loaded, multiply, opaque, symbol

if TYPE_CHECKING:
    from jitwatch.source.expressions import Evaluator

Handler = Callable[["Evaluator", ast.Call], Value]


def argument(node: ast.Call, position: int, name: str) -> ast.expr | None:
    """Return the argument at a position or under a name."""
    for keyword in node.keywords:
        if keyword.arg == name:
            return keyword.value
    return node.args[position] if len(node.args) > position else None


def _others(run: Evaluator, node: ast.Call, *seen: ast.expr | None) -> None:
    for each in (*node.args, *(keyword.value for keyword in node.keywords)):
        if not any(each is other for other in seen):
            run.evaluate(each)


def _load(run: Evaluator, node: ast.Call) -> Value:
    address, mask = argument(node, 0, "pointer"), argument(node, 1, "mask")
    receiver = run.receiver(node)
    if receiver is not None:
        run.evaluate(receiver)
        for each in node.args:
            run.give(run.evaluate(each), Role.ADDRESS)
        run.touches_memory = True
        return symbol("opaque", run.key(node))
    if address is None:
        return run.generic_call(node)
    place = run.evaluate(address)
    mask_value = run.evaluate(mask) if mask is not None else None
    run.access(place, mask_value, _checked(node))
    _others(run, node, address, mask)
    return loaded(run.key(node), place)


def _store(run: Evaluator, node: ast.Call) -> Value:
    receiver = run.receiver(node)
    if receiver is not None:
        run.evaluate(receiver)
        for index, each in enumerate(node.args):
            run.give(run.evaluate(each), Role.ADDRESS if index == 0 else Role.VALUE)
        run.touches_memory = True
        return NOTHING
    address, value, mask = argument(node, 0, "pointer"), argument(node, 1, "value"), argument(node, 2, "mask")
    if address is None:
        return run.generic_call(node)
    place = run.evaluate(address)
    if value is not None:
        run.give(run.evaluate(value), Role.VALUE)
    mask_value = run.evaluate(mask) if mask is not None else None
    run.access(place, mask_value, _checked(node))
    _others(run, node, address, value, mask)
    return NOTHING


def _atomic(run: Evaluator, node: ast.Call) -> Value:
    place = run.evaluate(node.args[0]) if node.args else NOTHING
    run.access(place)
    for each in (*node.args[1:], *(keyword.value for keyword in node.keywords)):
        run.give(run.evaluate(each), Role.VALUE)
    return symbol("opaque", run.key(node))


def _checked(node: ast.Call) -> frozenset[int]:
    """Dimensions that a block pointer's access checks."""
    given = next((each.value for each in node.keywords if each.arg == "boundary_check"), None)
    elements = given.elts if isinstance(given, ast.Tuple | ast.List) else []
    return frozenset(
        each.value for each in elements if isinstance(each, ast.Constant) and type(each.value) is int
    )


def _block_pointer(run: Evaluator, node: ast.Call) -> Value:
    names = ("base", "shape", "strides", "offsets")
    given = [argument(node, position, name) for position, name in enumerate(names)]
    base, shape, strides, offsets = (run.evaluate(each) if each is not None else NOTHING for each in given)
    run.give(base, Role.ADDRESS)
    run.give(offsets, Role.ADDRESS)
    run.give(shape, Role.DESCRIPTOR)
    run.give(strides, Role.DESCRIPTOR)
    _others(run, node, *given)
    whole = opaque(run.key(node), base, shape, strides, offsets)
    return Value(whole.terms, whole.depends, items=(base, shape, strides, offsets), block=True)


def _descriptor(run: Evaluator, node: ast.Call) -> Value:
    for index, each in enumerate((*node.args, *(keyword.value for keyword in node.keywords))):
        run.give(run.evaluate(each), Role.DESCRIPTOR if index else Role.ADDRESS)
    return symbol("opaque", run.key(node))


def _arange(run: Evaluator, node: ast.Call) -> Value:
    for each in node.args:
        run.give(run.evaluate(each), Role.SHAPE)
    return symbol("arange", run.key(node))


def _shaped(run: Evaluator, node: ast.Call) -> Value:
    """``zeros((BLOCK, D))``: the first argument is a shape."""
    shape = argument(node, 0, "shape")
    if shape is not None:
        run.give(run.evaluate(shape), Role.SHAPE)
    rest = [each for each in (*node.args, *(k.value for k in node.keywords)) if each is not shape]
    return opaque(run.key(node), symbol("opaque", run.key(node)), *(run.evaluate(each) for each in rest))


def _reshaped(run: Evaluator, node: ast.Call) -> Value:
    receiver = run.receiver(node)
    given = [*([receiver] if receiver is not None else []), *node.args, *(k.value for k in node.keywords)]
    if not given:
        return NOTHING
    for each in given[1:]:
        run.give(run.evaluate(each), Role.SHAPE)
    return opaque(run.key(node), run.evaluate(given[0]))


def _same(run: Evaluator, node: ast.Call) -> Value:
    """Casts and hints: the value stays what it is."""
    receiver = run.receiver(node)
    value = receiver if receiver is not None else (node.args[0] if node.args else None)
    _others(run, node, value)
    return run.evaluate(value) if value is not None else NOTHING


def _contiguous(run: Evaluator, node: ast.Call) -> Value:
    """The hint that a value runs along memory: a range, whatever it was made of (a selection clamps one)."""
    value = _same(run, node)
    if value.is_static or any(True for _ in value.aranges if not value.rough):
        return value
    return replace(symbol("arange", run.key(node)), depends=value.depends, bounds=value.bounds)


def _where(run: Evaluator, node: ast.Call) -> Value:
    if len(node.args) != 3:
        return run.generic_call(node)
    chosen, one, other = map(run.evaluate, node.args)
    return either(run.key(node), one, other, chosen)


def _extreme(run: Evaluator, node: ast.Call) -> Value:
    """``tl.minimum(a, b)``, ``min(a, b)``: one of two values; ``tl.min(x, 1)``: a reduction."""
    reduces = isinstance(node.func, ast.Attribute) and node.func.attr in ("min", "max")
    if reduces or len(node.args) != 2:
        return _reduced(run, node)
    one, other = map(run.evaluate, node.args)
    along = any(True for each in (one, other) for _ in each.aranges)
    return opaque(run.key(node), one, other) if along else either(run.key(node), one, other)


def _reduced(run: Evaluator, node: ast.Call) -> Value:
    """A reduction leaves no range but those of the dimensions that remain."""
    value = run.generic_call(node)
    axis = argument(node, 0 if run.receiver(node) is not None else 1, "axis")
    number = axis.value if isinstance(axis, ast.Constant) else None
    columns = frozenset(run.columns)
    left = value.axes - columns if number in (1, -1) else value.axes & columns if number == 0 else frozenset()
    return replace(value, axes=left, rough=value.rough & left)


def _expand(run: Evaluator, node: ast.Call) -> Value:
    value = _same(run, node)
    axis = argument(node, 1, "axis")
    if isinstance(axis, ast.Constant) and axis.value == 0:
        run.columns.update(value.aranges, value.axes)
    return value


def _multiple(run: Evaluator, node: ast.Call) -> Value:
    value = _same(run, node)
    if value.parameter:
        return symbol("known", run.key(node), value.depends)
    return value


def _quotient(run: Evaluator, node: ast.Call) -> Value:
    for each in node.args[1:]:
        run.give(run.evaluate(each), Role.DIVISOR)
    return run.generic_call(node)


def _assume(run: Evaluator, node: ast.Call) -> Value:
    run.assume(node.args)
    return NOTHING


def _ignored(run: Evaluator, node: ast.Call) -> Value:
    for each in node.args:
        run.give(run.evaluate(each), Role.VALUE)
    return NOTHING


def _program(run: Evaluator, node: ast.Call) -> Value:
    run.touches_memory = True
    return symbol("opaque", ("program", ast.dump(node.args[0]) if node.args else ""))


def _advance(run: Evaluator, node: ast.Call) -> Value:
    value = _same(run, node)
    for each in node.args:
        given = run.evaluate(each)
        if given is not value:
            run.give(given, Role.ADDRESS)
    return value


def _product(run: Evaluator, node: ast.Call) -> Value:
    if len(node.args) != 2:
        return run.generic_call(node)
    return multiply(run.evaluate(node.args[0]), run.evaluate(node.args[1]), run.key(node))


def _table(*rows: tuple[Handler, str]) -> dict[str, Handler]:
    return {name: handler for handler, names in rows for name in names.split()}


CALLS = _table(
    (_load, "load async_load gather buffer_load"),
    (_store, "store buffer_store scatter scatter_add"),
    (_atomic, "atomic_add atomic_max atomic_min atomic_cas atomic_xchg atomic_and atomic_or atomic_xor"),
    (_block_pointer, "make_block_ptr"),
    (_descriptor, "make_tensor_descriptor make_tensor_desc _experimental_make_tensor_descriptor"),
    (_arange, "arange"),
    (_shaped, "zeros full empty ones"),
    (_reshaped, "reshape view broadcast_to"),
    (_same, "to cast max_constancy broadcast bitcast static_cast"),
    (_contiguous, "max_contiguous"),
    (_where, "where"),
    (_extreme, "min max minimum maximum"),
    (_reduced, "sum argmin argmax xor_sum reduce reduce_or"),
    (_expand, "expand_dims"),
    (_multiple, "multiple_of"),
    (_quotient, "cdiv div_rn fdiv floordiv"),
    (_assume, "assume static_assert"),
    (_ignored, "device_print static_print print device_assert"),
    (_program, "program_id num_programs"),
    (_advance, "advance"),
    (_product, "mul"),
)
"""Handler of each function or method that means more than "some function of its arguments"."""
