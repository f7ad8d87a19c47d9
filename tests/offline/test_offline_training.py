"""Modules, autograd and autocast on the stand-in device, and the threads and callbacks they run in."""

from __future__ import annotations

import ast
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch

from tests.offline import device_code

pytestmark = pytest.mark.usefixtures("said")


def small_model() -> torch.nn.Module:
    """Two layers."""
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4))


def train(device: str) -> list[float]:
    """Losses of a few steps."""
    model = small_model().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    torch.manual_seed(1)
    x, y = torch.randn(32, 8).to(device), torch.randint(0, 4, (32,)).to(device)
    losses = []
    for _ in range(4):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        assert all(p.grad is not None and p.grad.device == p.device for p in model.parameters())
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_training_on_the_gpu_gives_what_it_gives_on_the_cpu() -> None:
    assert train("cuda") == pytest.approx(train("cpu"))


class Double(torch.autograd.Function):  # type: ignore[misc]
    """Doubles by a kernel, and looks where its gradient is."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        device_code.add[(1,)](x, x, out, x.numel(), BLOCK=64)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        assert gradient.is_cuda
        assert torch.empty(1, device="cuda").is_cuda
        out = torch.empty_like(gradient)
        device_code.add[(1,)](gradient.contiguous(), gradient.contiguous(), out, out.numel(), BLOCK=64)
        return out


def test_a_custom_backward_runs_on_the_gpu(said: list[str]) -> None:
    x = torch.randn(64, device="cuda", requires_grad=True)
    Double.apply(x).square().sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad, 8 * x.detach())
    assert not any("CPU tensor" in sentence for sentence in said)


def test_hooks_are_given_gpu_gradients() -> None:
    seen = []
    x = torch.ones(3, device="cuda", requires_grad=True)
    x.register_hook(lambda gradient: seen.append((gradient.is_cuda, torch.zeros(1, device="cuda").is_cuda)))
    x.sum().backward()
    assert seen == [(True, True)]


def test_module_hooks_are_given_gpu_gradients() -> None:
    seen = []

    def look(module: Any, inputs: Any, outputs: Any) -> None:
        seen.append((outputs[0].is_cuda, torch.zeros(1, device="cuda").is_cuda))

    layer = torch.nn.Linear(2, 2).cuda()
    layer.register_full_backward_hook(look)
    layer(torch.ones(1, 2, device="cuda", requires_grad=True)).sum().backward()
    assert seen == [(True, True)]


def test_function_transforms_keep_the_place() -> None:
    x = torch.ones(3, 2, device="cuda")
    assert torch.vmap(lambda row: row * 2)(x).is_cuda
    assert torch.func.grad(lambda value: (value**2).sum())(x).is_cuda


def test_fake_tensors_have_their_own_fake_gpu() -> None:
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        assert torch.ones(3, device="cuda").device.type == "cuda"


def test_the_body_of_a_custom_operator_sees_the_gpu() -> None:
    @torch.library.custom_op("offline_tests::three_more", mutates_args=())  # type: ignore[untyped-decorator]
    def three_more(x: torch.Tensor) -> torch.Tensor:
        assert x.is_cuda
        return torch.full_like(x, 3.0, device="cuda") + x

    assert three_more(torch.ones(2, device="cuda")).is_cuda


def test_autocast_gives_the_dtypes_of_a_gpu() -> None:
    x = torch.randn(4, 8, device="cuda")
    model = small_model().cuda()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert torch.is_autocast_enabled("cuda")
        y = model(x)
        assert y.dtype == torch.bfloat16
        assert y.softmax(-1).dtype == torch.float32
        assert (y.float() @ x[:, :4].T).dtype == torch.bfloat16
        with torch.autocast("cuda", enabled=False):
            assert model(x).dtype == torch.float32
        y.float().sum().backward()
    assert not torch.is_autocast_enabled("cuda")
    weight = next(model.parameters())
    assert weight.grad is not None
    assert weight.grad.dtype == torch.float32
    with torch.autocast("cuda"):
        assert model(x).dtype == torch.float16
    assert model(x).dtype == torch.float32


def test_gradient_scaling_works() -> None:
    model = small_model().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    scaler.scale(model(torch.randn(2, 8, device="cuda")).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.is_enabled()


def test_checkpointed_modules_recompute_on_the_gpu() -> None:
    from torch.utils.checkpoint import checkpoint

    model = small_model().cuda()
    places = []
    model[1].register_forward_hook(lambda module, arguments, output: places.append(output.is_cuda))
    checkpoint(model, torch.randn(2, 8, device="cuda"), use_reentrant=False).sum().backward()
    assert places == [True, True]


def test_torch_compile_runs_eagerly_and_says_so(said: list[str]) -> None:
    model = torch.compile(small_model().cuda())
    assert model(torch.randn(2, 8, device="cuda")).is_cuda

    @torch.compile(dynamic=True)  # type: ignore[untyped-decorator]
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    assert double(torch.ones(1, device="cuda")).item() == 2
    assert any("torch.compile ran eagerly" in sentence for sentence in said)


def test_threads_see_the_gpu() -> None:
    seen = []
    thread = threading.Thread(target=lambda: seen.append(torch.ones(3, device="cuda").is_cuda))
    thread.start()
    thread.join()
    with ThreadPoolExecutor(2) as pool:
        seen += pool.map(lambda size: torch.ones(size, device="cuda").is_cuda, range(4))
    assert seen == [True] * 5


def test_threads_launch_at_the_same_time_with_right_results(monkeypatch: pytest.MonkeyPatch) -> None:
    # CPython 3.11 counts the depth of every thread's ast.parse together and now and then raises SystemError
    # (python/cpython#106905); Triton parses in the launching thread.
    parse, alone = ast.parse, threading.Lock()

    def parse_alone(*args: Any, **kwargs: Any) -> Any:
        with alone:
            return parse(*args, **kwargs)

    monkeypatch.setattr(ast, "parse", parse_alone)

    def work(number: int) -> bool:
        add = device_code.make_add()
        x = torch.full((64,), float(number), device="cuda")
        out = torch.empty_like(x)
        for n in (64, 63):
            add[(1,)](x, x, out, n, BLOCK=64)
        return bool((out == 2 * number).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))
