"""Faults of Triton's interpreter, mended in place. Unless said otherwise releases 3.2 to 3.9 have them."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np

from . import floats
from .patches import Patches


def repair_interpreter(interpreter: Any, assertion: type[Exception], patches: Patches) -> None:
    """Mend the module and the class of its builder, whose methods are the interpreter's instructions."""
    patches.set(interpreter, "_convert_float", floats.convert)
    builder = interpreter.InterpreterBuilder
    _compute_bits_as_floats(interpreter, builder, patches)
    _cast_through_floats(interpreter, builder, patches)
    _multiply_matrices(interpreter, builder, patches)
    _sum_floats(interpreter, patches)
    _add_bf16_atomically(interpreter, builder, patches)
    _assert_and_assume(builder, assertion, patches)
    if hasattr(interpreter, "TensorDescHandle"):  # from 3.4 on
        patches.set(interpreter.TensorDescHandle, "validate", _validate_descriptor)
    if not hasattr(builder, "get_bf16"):  # up to 3.8
        bf16 = interpreter.tl.bfloat16
        patches.set(builder, "get_bf16", lambda self, value: self.create_fp_trunc(self.get_fp32(value), bf16))
    # A GPU's fmin and fmax give the number when one side is NaN; numpy's minimum gives NaN (up to 3.7).
    patches.set(builder, "create_minnumf", lambda self, lhs, rhs: self.binary_op(lhs, rhs, np.fmin))
    patches.set(builder, "create_maxnumf", lambda self, lhs, rhs: self.binary_op(lhs, rhs, np.fmax))


def _as_floats(interpreter: Any, handle: Any) -> Any:
    """A bf16 or fp8 handle as an fp32 one; others as they are."""
    dtype = handle.dtype.scalar
    if not floats.is_held_as_bits(dtype):
        return handle
    return interpreter.TensorHandle(floats.decode(handle.data, dtype), interpreter.tl.float32)


def _compute_bits_as_floats(interpreter: Any, builder: Any, patches: Patches) -> None:
    """Arithmetic on bf16 works on the bits as if they were integers; compute in fp32 and round instead."""

    def wrapped(original: Callable[..., Any], typed_by: int) -> Callable[..., Any]:
        def operate(self: Any, *arguments: Any) -> Any:
            handles, rest = arguments[: typed_by + 1], arguments[typed_by + 1 :]
            dtype = handles[typed_by].dtype.scalar
            if not floats.is_held_as_bits(dtype):
                return original(self, *arguments)
            result = original(self, *(_as_floats(interpreter, handle) for handle in handles), *rest)
            if result.data.dtype == np.bool_:
                return result
            return interpreter.TensorHandle(floats.encode(result.data, dtype), dtype)

        return operate

    for name, typed_by in (("unary_op", 0), ("binary_op", 1), ("ternary_op", 2), ("create_fma", 2)):
        patches.set(builder, name, wrapped(getattr(builder, name), typed_by))


def _cast_through_floats(interpreter: Any, builder: Any, patches: Patches) -> None:
    """Casts between bf16 and anything but fp32 take the bits for a number."""
    original = builder.cast_impl

    def cast_impl(self: Any, source: Any, target: Any) -> Any:
        dtype = target.scalar
        source = _as_floats(interpreter, source)
        if not floats.is_held_as_bits(dtype):
            return original(self, source, target)
        return interpreter.TensorHandle(floats.encode(source.data.astype(np.float64), dtype), dtype)

    patches.set(builder, "cast_impl", cast_impl)


def _multiply_matrices(interpreter: Any, builder: Any, patches: Patches) -> None:
    """``tl.dot`` of bf16 multiplies bits; of fp8 it goes through fp16."""
    original = builder.create_dot

    def create_dot(self: Any, a: Any, b: Any, *rest: Any) -> Any:
        return original(self, _as_floats(interpreter, a), _as_floats(interpreter, b), *rest)

    patches.set(builder, "create_dot", create_dot)


def _sum_floats(interpreter: Any, patches: Patches) -> None:
    """``tl.sum`` of bf16 adds bits. (``tl.max`` and the scans convert to fp32 first.)"""
    original = interpreter.ReduceOps.sum

    def total(self: Any, tensor: Any) -> Any:
        dtype = tensor.dtype.scalar
        if not floats.is_held_as_bits(dtype):
            return original(self, tensor)
        added = np.sum(floats.decode(tensor.handle.data, dtype), axis=self.axis, keepdims=self.keep_dims)
        return self.to_tensor(floats.encode(added, dtype), tensor.dtype)

    patches.set(interpreter.ReduceOps, "sum", total)


def _add_bf16_atomically(interpreter: Any, builder: Any, patches: Patches) -> None:
    """``tl.atomic_add`` of bf16 is refused. Programs run one at a time, so reading and writing will do."""
    original = builder.create_atomic_rmw

    def create_atomic_rmw(self: Any, operation: Any, pointer: Any, value: Any, mask: Any, *rest: Any) -> Any:
        dtype = value.dtype.scalar
        if not floats.is_held_as_bits(dtype) or "ADD" not in str(operation):
            return original(self, operation, pointer, value, mask, *rest)
        native, result = interpreter._interpreter, np.zeros_like(value.data)
        pointers, values, masks = np.broadcast_arrays(
            pointer.data, floats.decode(value.data, dtype), mask.data
        )
        for index in zip(*np.nonzero(masks)):  # one by one: an address may come twice
            address: Any = pointers[index].reshape(1)
            yes: Any = np.ones(1, dtype=bool)
            old = native.load(address, yes, np.zeros(1, value.data.dtype), value.data.dtype)
            native.store(address, floats.encode(floats.decode(old, dtype) + values[index], dtype), yes)
            result[index] = old[0]
        return interpreter.TensorHandle(result, dtype)

    patches.set(builder, "create_atomic_rmw", create_atomic_rmw)


def _assert_and_assume(builder: Any, assertion: type[Exception], patches: Patches) -> None:
    """A false ``tl.device_assert`` ends the program, in debug mode as on a GPU; ``tl.assume`` checks nothing."""

    def create_assert(self: Any, condition: Any, message: str, *_: Any) -> None:
        if self.options.debug and not np.all(condition.data):
            raise assertion(f"CUDA error: device-side assert triggered: {message} in program {self.grid_idx}")

    patches.set(builder, "create_assert", create_assert)
    patches.set(builder, "create_assume", lambda self, condition: None)


def _validate_descriptor(self: Any) -> None:
    """Release 3.4 counts a stride's alignment in elements instead of bytes."""
    size = self.base.dtype.element_ty.primitive_bitwidth // 8
    assert self.base.data.item() % 16 == 0, "base must be 16-byte aligned"
    assert all(stride.data.item() * size % 16 == 0 for stride in self.strides[:-1]), (
        "stride must be 16-byte aligned"
    )
    assert self.strides[-1].data.item() == 1, "last dim must be contiguous"
