"""What cannot be interpreted is said and ends no program; what is not wanted is not run. Whole programs."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tests.conftest import Profiled
from tests.offline import device_code

Write = Callable[..., Path]
Profile = Callable[..., Profiled]


def test_a_kernel_the_interpreter_cannot_run_is_named_and_leaves_its_outputs(said: list[str]) -> None:
    x, out = torch.ones(64, device="cuda"), torch.zeros(64, device="cuda")
    for _ in range(2):
        kernel = device_code.inline_assembly[(1,)](x, out, BLOCK=64)
    assert kernel.asm["cubin"].startswith(b"\x7fELF")
    assert out.sum().item() == 0
    (sentence,) = [sentence for sentence in said if "inline_assembly" in sentence]
    assert "outputs are unwritten" in sentence
    device_code.add[(1,)](x, x, out, 64, BLOCK=64)
    assert out.sum().item() == 128


def test_a_failed_device_assertion_ends_the_program_in_debug_mode_only(said: list[str]) -> None:
    x = torch.ones(64, device="cuda")
    device_code.refuse[(1,)](x, BLOCK=64)
    with pytest.raises(RuntimeError, match=r"device-side assert triggered: .*too small"):
        device_code.refuse[(1,)](x, BLOCK=64, debug=True)


KERNEL = """
@triton.jit
def fill(out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, at * n, mask=at < n)
"""


def test_without_execution_kernels_compile_and_do_not_run(write: Write, profile: Profile) -> None:
    program = """
        import torch
        out = torch.zeros(64, device="cuda")
        kernel = fill[(1,)](out, 64, BLOCK=64)
        print(out.sum().item(), len(kernel.asm["cubin"]) > 0)
    """
    got = profile(write(KERNEL + textwrap.dedent(program)), options=("--offline", "--no-execute"))
    assert got.stdout.startswith("0.0 True"), got.stderr


def test_a_program_that_asks_torch_before_it_imports_triton_is_told_of_a_gpu(
    write: Write, profile: Profile
) -> None:
    write(KERNEL, "its_kernels.py")
    program = """
        import torch
        assert torch.cuda.is_available()
        x = torch.ones(64, device="cuda")
        import its_kernels
        its_kernels.fill[(1,)](x, 64, BLOCK=64)
        assert x.is_cuda
        print(x.sum().item())
    """
    got = profile(write(program, preamble=""), options=("--offline=cuda:80",))
    assert got.stdout.startswith(f"{64.0 * 63 * 64 / 2}\n"), got.stderr
    assert [line["offline"] for line in got.events("process")] == ["cuda:80"]


def test_a_program_that_never_mentions_torch_runs(write: Write, profile: Profile) -> None:
    program = """
        @triton.jit
        def shout(n):
            if n > 3:
                tl.device_print("n is", n)
        shout[(2,)](5)
    """
    got = profile(write(program), options=("--offline",))
    assert [line[:9] for line in got.stdout.splitlines()[:2]] == ["(0, 0, 0)", "(1, 0, 0)"], got.stderr


def test_a_forked_child_launches_too(write: Write, profile: Profile) -> None:
    program = """
        import os, torch
        out = torch.zeros(64, device="cuda")
        fill[(1,)](out, 64, BLOCK=64)
        child = os.fork()
        fresh = torch.zeros(64, device="cuda")
        fill[(1,)](fresh, 63, BLOCK=64)
        assert fresh.is_cuda and fresh.sum().item() == 63 * 62 * 63 / 2
        if child == 0:
            os._exit(0)
        print(os.waitpid(child, 0)[1])
    """
    got = profile(write(KERNEL + textwrap.dedent(program)), options=("--offline",))
    assert got.stdout.startswith("0\n"), got.stderr


def test_what_was_said_is_in_the_run(write: Write, profile: Profile) -> None:
    program = """
        import torch
        out = torch.zeros(64)
        fill[(1,)](out, 64, BLOCK=64)
        fill[(1,)](out, 64, BLOCK=64)
    """
    got = profile(write(KERNEL + textwrap.dedent(program)), options=("--offline",))
    (notice,) = got.events("notice")
    assert "kernel fill was given a CPU tensor for out" in notice["text"]
