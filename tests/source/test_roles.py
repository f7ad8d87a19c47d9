"""What a kernel does with each parameter."""

from __future__ import annotations

import pytest

from jitwatch.source.lengths import is_dead
from jitwatch.source.model import Role
from tests.source.reading import kernel, parameter

ADDRESSED = "tl.store(x + tl.program_id(0), 0.0)"


@pytest.mark.parametrize(
    "use",
    [
        "if tl.program_id(0) < n: tl.store(x, 0.0)",
        "for i in range(n): tl.store(x + i, 0.0)",
        "while i < n: i += 1",
        "tl.store(x + n, 0.0)",
        "tl.store(x, n)",
        "tl.store(x, 0.0, mask=tl.arange(0, 16) < n)",
        "tl.store(x, tl.where(n > 1, 1, 2))",
        "y = n * 2\n    tl.store(x, y)",
        "tl.device_print('n', n)",
        "unknown(x, n)",
        "f = lambda: n",
        "for i in range(4):\n        m = n\n        n = m + 1",
        "if tl.load(x) > 0: n = 1\n    tl.store(x, n)",
        "n += 1\n    tl.store(x, n)",
    ],
)
def test_a_parameter_that_is_used_is_not_dead(use: str) -> None:
    assert not is_dead(parameter(f"@triton.jit\ndef f(x, n):\n    {use}\n", "n"))


@pytest.mark.parametrize(
    "use",
    [
        ADDRESSED,
        f"tl.assume(n > 0)\n    {ADDRESSED}",
        f"tl.static_assert(n > 0)\n    {ADDRESSED}",
        "n = tl.load(x)\n    for i in range(n): tl.store(x + i, 0.0)",
    ],
)
def test_a_parameter_that_nothing_reads_is_dead(use: str) -> None:
    assert is_dead(parameter(f"@triton.jit\ndef f(x, n):\n    {use}\n", "n"))


def test_an_overwrite_on_some_paths_only_leaves_the_parameter_alive() -> None:
    found = parameter(
        """
        @triton.jit
        def f(x, T, IS_VARLEN: tl.constexpr):
            if IS_VARLEN:
                T = tl.load(x)
            for i in range(T):
                tl.store(x + i, 0.0)
        """,
        "T",
    )
    assert Role.REASSIGNED in found.roles
    assert Role.LOOP in found.roles
    assert not is_dead(found)


def test_a_parameter_handed_to_a_function_that_ignores_it_is_dead() -> None:
    found = kernel(
        """
        @triton.jit
        def inner(x, unused):
            tl.store(x, 0.0)
        @triton.jit
        def middle(x, m):
            inner(x, unused=m)
        @triton.jit
        def outer(x, n):
            middle(x, n)
        """,
        "outer",
    ).parameter("n")
    assert found is not None
    assert is_dead(found)


def test_roles_come_up_from_jitted_helpers() -> None:
    found = kernel(
        """
        @triton.jit
        def rows(x, count, stride):
            for i in range(count):
                tl.store(x + i * stride, 0.0)
        @triton.jit
        def outer(x, n, m):
            rows(x, n, stride=m)
        """,
        "outer",
    )
    n, m = found.parameter("n"), found.parameter("m")
    assert n is not None
    assert m is not None
    assert Role.LOOP in n.roles
    assert Role.STRIDE in m.roles


@pytest.mark.parametrize(
    ("use", "role"),
    [
        ("tl.store(x + tl.program_id(0), 0.0, mask=tl.program_id(0) < n)", Role.COMPARED),
        ("for i in range(0, n, 16): tl.store(x + i, 0.0)", Role.LOOP),
        ("for i in tl.static_range(n): tl.store(x + i, 0.0)", Role.SHAPE),
        ("tl.store(x + tl.arange(0, n), 0.0)", Role.SHAPE),
        ("tl.store(x, tl.zeros((n, 4), tl.float32))", Role.SHAPE),
        ("tl.store(x + tl.program_id(0) * n, 0.0)", Role.STRIDE),
        ("tl.store(x + tl.program_id(0) // n, 0.0)", Role.DIVISOR),
        ("tl.store(x + tl.cdiv(tl.program_id(0), n), 0.0)", Role.DIVISOR),
        (
            "p = tl.make_block_ptr(x, (n, 4), (4, 1), (0, 0), (16, 4), (1, 0))\n    tl.load(p)",
            Role.DESCRIPTOR,
        ),
        ("d = tl.make_tensor_descriptor(x, [n, 4], [4, 1], [16, 4])\n    d.load([0, 0])", Role.DESCRIPTOR),
        ("tl.store(x, n)", Role.VALUE),
        ("if n is not None: tl.store(x, 0.0)", Role.BRANCH),
        ("tl.store(n + tl.program_id(0), 0.0)", Role.POINTER),
    ],
)
def test_each_use_gives_its_role(use: str, role: Role) -> None:
    assert role in parameter(f"@triton.jit\ndef f(x, n):\n    {use}\n", "n").roles


def test_a_pointer_advanced_in_a_loop_stays_the_pointer() -> None:
    found = kernel(
        """
        @triton.jit
        def f(x, stride, n):
            at = x + tl.arange(0, 16)
            for i in range(n):
                tl.store(at, 0.0)
                at += stride
        """
    )
    assert Role.POINTER in found.parameters[0].roles
    assert Role.ADDRESS in found.parameters[1].roles
    assert Role.POINTER not in found.parameters[1].roles


@pytest.mark.parametrize(
    ("address", "steps"),
    [
        ("x + tl.program_id(0) * n", False),
        ("x + tl.program_id(0) * n + m", False),
        ("x + (tl.program_id(0) + tl.arange(0, 16)) * n", False),
        ("x + tl.program_id(0) * n + tl.arange(0, 16)", True),
        ("x + tl.program_id(0) * n + tl.load(y)", True),
        ("x + tl.program_id(0) * n + tl.program_id(1) * m", True),
    ],
)
def test_a_stride_steps_from_row_to_row_if_something_moves_along_the_row(address: str, steps: bool) -> None:
    found = parameter(f"@triton.jit\ndef f(x, y, n, m):\n    tl.store({address}, 0.0)\n", "n")
    assert Role.STRIDE in found.roles
    assert (Role.ROW in found.roles) == steps
