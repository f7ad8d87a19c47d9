"""`classify` against the binder of the Triton that is imported: put another release first on PYTHONPATH to hold
its row of the table to account."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from hypothesis import given, settings
from hypothesis import strategies as st
from triton.backends.compiler import GPUTarget

from jitwatch.runtime.values import describe
from jitwatch.specialization import ArgumentClass, Parameter, classify, read_class, traits_of

TRAITS = traits_of(triton.__version__)
TARGETS = {"cuda": GPUTarget("cuda", 90, 32), "hip": GPUTarget("hip", "gfx942", 64)}


class Device:
    """Enough of a driver for a binder: the target decides which backend classifies."""

    def __init__(self, backend: str) -> None:
        self.target = TARGETS[backend]

    def get_current_target(self) -> GPUTarget:
        return self.target

    def get_current_device(self) -> int:
        return 0


def declare(annotation: Any = None) -> Callable[..., None]:
    """A kernel of one argument; the annotation as Triton reads it, where PEP 563 leaves text."""

    def kernel(a: Any) -> None: ...

    kernel.__annotations__ = {} if annotation is None else {"a": annotation}
    return kernel


UNSPECIALIZED = {"do_not_specialize": ["a"]}
UNALIGNED = {"do_not_specialize_on_alignment": ["a"]}

DECLARATIONS: dict[str, tuple[Callable[..., None], dict[str, list[str]]]] = {
    "plain": (declare(), {}),
    "unspecialized": (declare(), UNSPECIALIZED),
    "unaligned": (declare(), UNALIGNED),
    "int32": (declare(tl.int32), {}),
    "int64": (declare(tl.int64), {}),
    "int32 unspecialized": (declare(tl.int32), UNSPECIALIZED),
    "int32 unaligned": (declare(tl.int32), UNALIGNED),
    "float32": (declare(tl.float32), {}),
    "text": (declare("i32"), {}),
    "builtin": (declare(int), {}),
    "constexpr": (declare(tl.constexpr), {}),
}

integers = st.one_of(
    st.sampled_from([0, 1, -1, 15, 16, 17, -16, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63 - 1, 2**63]),
    st.integers(-(2**63), 2**64 - 1),
    st.integers(-4, 8).map(lambda n: n * 16),
)
scalars = st.one_of(integers, st.booleans(), st.floats(allow_nan=False, allow_infinity=False), st.none())
dtypes = st.sampled_from([torch.int8, torch.uint8, torch.float16, torch.bfloat16, torch.float32, torch.int64])
tensors = st.builds(lambda dtype, skip: torch.zeros(64, dtype=dtype)[skip:], dtypes, st.integers(0, 17))
tuples = st.recursive(
    st.lists(st.one_of(scalars, tensors), max_size=3).map(tuple),
    lambda inner: st.lists(st.one_of(integers, inner), min_size=1, max_size=2).map(tuple),
    max_leaves=4,
)


def bind(declaration: str, backend: str, value: Any) -> tuple[ArgumentClass, Parameter]:
    """The class that Triton's own binder gives, and the parameter as a recorder describes it."""
    function, lists = DECLARATIONS[declaration]
    triton.runtime.driver.set_active(Device(backend))
    kernel = triton.jit(**lists)(function) if lists else triton.jit(function)
    (param,) = kernel.params
    parameter = Parameter(
        param.name,
        bool(param.is_constexpr),
        bool(param.do_not_specialize),
        bool(getattr(param, "do_not_specialize_on_alignment", False)),
        param.annotation_type or None,
    )
    return _read(kernel, param, value), parameter


def _read(kernel: Any, param: Any, value: Any) -> ArgumentClass:
    if TRAITS.tuples:
        _, specialization, _ = kernel.create_binder()[-1](value)
        type_, spec = specialization[0]
        return read_class(_listed(type_), describe(spec) if type_ == "constexpr" else _listed(spec))
    return _read_before_3_3(kernel, param, value)


def _listed(part: Any) -> Any:
    return [_listed(each) for each in part] if isinstance(part, tuple) else part


def _read_before_3_3(kernel: Any, param: Any, value: Any) -> ArgumentClass:
    """One list: the types, then the specs of what is specialised; a folded 1 is ``i32`` and ``1``."""
    target = triton.runtime.driver.active.get_current_target()
    backend = triton.compiler.make_backend(target)
    if hasattr(kernel, "create_binder") and kernel.create_binder.__code__.co_argcount == 2:
        kernel.create_binder(backend)
    else:
        kernel.create_binder()
    _, keys, constants, *_ = kernel.binder(value)
    if param.is_constexpr:
        return read_class("constexpr", describe(constants[0]))
    type_, spec = keys[0], (keys[1] if len(keys) > 1 else None)
    if type_ == "none":
        return read_class("constexpr", None)
    if isinstance(value, float):
        return read_class(type_, None)
    folded = spec == "1" and not isinstance(value, bool) and not param.annotation_type
    return read_class("constexpr", 1) if folded else read_class(type_, "" if spec == "N" else spec)


def check(declaration: str, backend: str, value: Any) -> None:
    real, parameter = bind(declaration, backend, value)
    assert classify(describe(value), parameter, TRAITS, backend) == real


declared = pytest.mark.parametrize(
    "declaration",
    [name for name in DECLARATIONS if TRAITS.alignment_list or "unaligned" not in name],
)


@declared
@settings(deadline=None, max_examples=60)
@given(value=scalars)
def test_scalars_fall_into_the_class_that_triton_gives_them(declaration: str, value: Any) -> None:
    if value is None and declaration not in ("plain", "unspecialized", "unaligned", "constexpr"):
        return  # no kernel compiles that way
    check(declaration, "cuda", value)


@pytest.mark.parametrize("declaration", ["plain", "unspecialized"] + ["unaligned"] * TRAITS.alignment_list)
@pytest.mark.parametrize("backend", TARGETS)
@settings(deadline=None, max_examples=40)
@given(value=tensors)
def test_tensors_fall_into_the_class_that_triton_gives_them(
    declaration: str, backend: str, value: torch.Tensor
) -> None:
    check(declaration, backend, value)


@pytest.mark.skipif(not TRAITS.tuples, reason="tuples came with 3.3")
@pytest.mark.parametrize("declaration", ["plain", "unspecialized", "unaligned"])
@settings(deadline=None, max_examples=60)
@given(value=tuples)
def test_opt_outs_do_not_reach_the_elements_of_a_tuple(declaration: str, value: tuple[Any, ...]) -> None:
    check(declaration, "cuda", value)


@pytest.mark.skipif(not TRAITS.descriptors, reason="descriptors as arguments came with 3.4")
@pytest.mark.parametrize("rows", [16, 48])
def test_of_a_descriptor_only_dtype_and_block_matter(rows: int) -> None:
    from triton.tools.tensor_descriptor import TensorDescriptor

    base = torch.zeros(rows, 32, dtype=torch.float16)
    check("plain", "cuda", TensorDescriptor(base, [rows, 32], [32, 1], [16, 16]))


@pytest.mark.parametrize("value", [True, False])
def test_bools_split_where_the_table_says_so(value: bool) -> None:
    check("plain", "cuda", value)
    split = bind("plain", "cuda", True)[0] != bind("plain", "cuda", False)[0]
    assert split is TRAITS.bool_splits


def test_an_annotation_that_fixes_the_type_is_seen() -> None:
    assert bind("int32", "cuda", 5)[1].annotation == "i32"
    assert (bind("text", "cuda", 5)[1].annotation == "i32") is TRAITS.annotation_text
