"""Targets: their spelling, and a binary for each, on whatever Triton is imported."""

from __future__ import annotations

import threading

import pytest
import torch
import triton.language as tl
from triton.runtime.jit import JITFunction

from jitwatch.runtime import offline
from jitwatch.runtime.offline.target import TARGETS
from tests.offline import device_code


@pytest.mark.parametrize("text", ["", "cuda", "90", "cuda:91", "hip:90", "cpu", "cuda:90:1"])
def test_an_unknown_target_is_refused_in_one_line_that_lists_the_valid_ones(text: str) -> None:
    with pytest.raises(ValueError, match=r"cuda:80, cuda:89, cuda:90, cuda:100, hip:gfx942") as caught:
        offline.parse_target(text)
    assert "\n" not in str(caught.value)


def test_an_unknown_target_activates_nothing() -> None:
    with pytest.raises(ValueError, match=r"cuda:75"):
        offline.activate("cuda:75")
    assert not torch.cuda.is_available()


@pytest.mark.parametrize(
    ("text", "capability"),
    [("cuda:80", (8, 0)), ("cuda:89", (8, 9)), ("CUDA:100", (10, 0)), ("hip:gfx942", (9, 4))],
)
def test_a_target_knows_its_capability(text: str, capability: tuple[int, int]) -> None:
    assert offline.parse_target(text).capability == capability


@pytest.mark.parametrize("text", list(TARGETS))
def test_each_target_gets_a_binary_and_right_results(text: str) -> None:
    said: list[str] = []
    offline.activate(text, notice=said.append)
    try:
        add = device_code.make_add()
        x = torch.randn(100, device="cuda")
        out = torch.empty_like(x)
        kernel = add[(2,)](x, x, out, 100, BLOCK=64)
        torch.testing.assert_close(out, x + x)
        assert kernel.metadata.target.backend == text.split(":")[0]
        assert str(kernel.metadata.target.arch) == text.split(":")[1]
        assert torch.cuda.get_device_capability() == offline.parse_target(text).capability
    finally:
        offline.deactivate()
    binary = kernel.asm["hsaco" if text.startswith("hip") else "cubin"]
    if not any("kernels are compiled down to PTX" in sentence for sentence in said):
        assert binary.startswith(b"\x7fELF")
    assert not torch.cuda.is_available()


def test_everything_is_put_back() -> None:
    watched = (torch, torch.cuda, torch.Tensor, tl, tl.core, tl.tensor, JITFunction, threading.Thread)
    before = [dict(vars(owner)) for owner in watched]
    offline.activate("cuda:90")
    x = torch.ones(64, device="cuda")
    device_code.make_add()[(1,)](x, x, x, 64, BLOCK=64)
    offline.deactivate()
    for owner, members in zip(watched, before, strict=True):
        now = dict(vars(owner))
        assert [name for name in {*now, *members} if now.get(name) is not members.get(name)] == []
    with pytest.raises((AssertionError, RuntimeError)):
        torch.ones(1, device="cuda")
