"""Triton's real binder, cache and hooks are at work: a launch here misses where it would on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
import triton

from tests.offline import device_code

pytestmark = pytest.mark.usefixtures("said")


def test_a_repeated_launch_compiles_nothing() -> None:
    add = device_code.make_add()
    x = torch.zeros(64, device="cuda")
    for n in (17, 18, 33, 17):
        add[(1,)](x, x, x, n, BLOCK=64)
    assert len(device_code.variants(add)) == 1


def test_each_specialization_class_is_a_variant() -> None:
    add = device_code.make_add()
    x = torch.zeros(65, device="cuda")
    for n in (17, 16, 1, 32, 5):
        add[(1,)](x, x, x, n, BLOCK=64)
    assert len(device_code.variants(add)) == 3
    add[(1,)](x[1:], x, x, 17, BLOCK=64)  # an address that 16 does not divide
    add[(1,)](x.half(), x, x, 17, BLOCK=64)
    assert len(device_code.variants(add)) == 5


def test_warmup_compiles_and_runs_nothing() -> None:
    add = device_code.make_add()
    out = torch.zeros(64, device="cuda")
    x = torch.ones(64, device="cuda")
    add.warmup(x, x, out, 64, grid=(1,), BLOCK=64)
    assert out.sum().item() == 0
    add[(1,)](x, x, out, 64, BLOCK=64)
    assert len(device_code.variants(add)) == 1
    assert out.sum().item() == 128


def test_an_empty_grid_runs_nothing() -> None:
    add = device_code.make_add()
    x = torch.ones(64, device="cuda")
    out = torch.zeros(64, device="cuda")
    add[(0,)](x, x, out, 64, BLOCK=64)
    assert out.sum().item() == 0


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What Triton's hooks for misses and launches were called for."""
    seen: list[str] = []
    knobs = getattr(triton, "knobs", None)

    def miss(**call: Any) -> None:
        seen.append("miss " + call["fn"].name.split(".")[-1])

    def enter(metadata: Any) -> None:
        seen.append("enter")

    def leave(metadata: Any) -> None:
        seen.append("exit")

    if knobs is None:
        monkeypatch.setattr(triton.runtime.jit.JITFunction, "cache_hook", staticmethod(miss))
        monkeypatch.setattr(triton.compiler.CompiledKernel, "launch_enter_hook", staticmethod(enter))
        monkeypatch.setattr(triton.compiler.CompiledKernel, "launch_exit_hook", staticmethod(leave))
        yield seen
        return
    outer = knobs.runtime.jit_cache_hook
    knobs.runtime.jit_cache_hook = miss
    chained = hasattr(knobs.runtime.launch_enter_hook, "add")
    if chained:
        knobs.runtime.launch_enter_hook.add(enter)
        knobs.runtime.launch_exit_hook.add(leave)
    else:
        knobs.runtime.launch_enter_hook, knobs.runtime.launch_exit_hook = enter, leave
    yield seen
    knobs.runtime.jit_cache_hook = outer
    if chained:
        knobs.runtime.launch_enter_hook.remove(enter)
        knobs.runtime.launch_exit_hook.remove(leave)
    else:
        knobs.runtime.launch_enter_hook = knobs.runtime.launch_exit_hook = None


def test_hooks_see_what_they_see_on_a_gpu(heard: list[str]) -> None:
    add = device_code.make_add()
    x = torch.ones(64, device="cuda")
    add.add_pre_run_hook(lambda *arguments, **options: heard.append("before"))
    for _ in range(2):
        add[(1,)](x, x, x, 64, BLOCK=64)
    assert heard == ["before", "miss add_anew", "enter", "exit", "before", "enter", "exit"]


def test_a_kernel_too_large_for_the_device_is_refused_as_there() -> None:
    from triton.runtime.errors import OutOfResources

    a = torch.zeros(256, 256, device="cuda")
    with pytest.raises(OutOfResources, match="shared memory"):
        device_code.matmul[(1, 1)](a, a, a, 256, 256, 256, 256, 256, 256, TILE=128, num_stages=5)


def test_the_kernels_module_is_left_as_it_was() -> None:
    before = dict(vars(device_code))
    x = torch.ones(64, device="cuda")
    device_code.nested[(1,)](x, x)
    assert vars(device_code) == before
