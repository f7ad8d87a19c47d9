"""Where a tensor is: what a program is told, how it moves, and that CPU tensors stay CPU tensors."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.offline import device_code

pytestmark = pytest.mark.usefixtures("said")

MAKERS: dict[str, Callable[[], torch.Tensor]] = {
    "zeros": lambda: torch.zeros(3, device="cuda"),
    "tensor": lambda: torch.tensor([1.0, 2.0, 3.0], device=torch.device("cuda")),
    "index": lambda: torch.zeros(3, device=0),
    "cuda": lambda: torch.zeros(3).cuda(),
    "cuda of an index": lambda: torch.zeros(3).cuda(0),
    "to a name": lambda: torch.zeros(3).to("cuda:0"),
    "to an index": lambda: torch.zeros(3).to(0),
    "to a device and dtype": lambda: torch.zeros(3).to("cuda", torch.float16),
    "to by keyword": lambda: torch.zeros(3).to(device="cuda", dtype=torch.float16),
    "to another tensor": lambda: torch.zeros(3).to(torch.zeros(1, device="cuda")),
    "type": lambda: torch.zeros(3).type("torch.cuda.HalfTensor"),
    "as_tensor": lambda: torch.as_tensor(np.zeros(3), device="cuda"),
    "new_empty": lambda: torch.zeros(1).new_empty(3, device="cuda"),
    "like": lambda: torch.zeros_like(torch.zeros(3), device="cuda"),
    "like a GPU tensor": lambda: torch.zeros_like(torch.zeros(3, device="cuda")),
    "randperm": lambda: torch.randperm(3, device="cuda"),
    "pinned": lambda: torch.zeros(3).pin_memory().to("cuda", non_blocking=True),
    "parameter": lambda: torch.nn.Parameter(torch.zeros(3, device="cuda")),
    "deep copy": lambda: copy.deepcopy(torch.zeros(3, device="cuda")),
    "sum of two places": lambda: torch.zeros(3, device="cuda") + torch.tensor(1.0),
    "view": lambda: torch.zeros(6, device="cuda").view(2, 3)[1],
    "chunk": lambda: torch.zeros(6, device="cuda").chunk(2)[1],
    "named result": lambda: torch.zeros(3, 2, device="cuda").max(dim=1).indices,
}


@pytest.mark.parametrize("name", list(MAKERS))
def test_a_tensor_asked_for_on_the_gpu_says_it_is_there(name: str) -> None:
    x = MAKERS[name]()
    assert (x.is_cuda, x.is_cpu, x.get_device()) == (True, False, 0)
    assert x.device == torch.device("cuda", 0)
    assert "device='cuda:0'" in repr(x)
    assert x.type().startswith("torch.cuda.")


STAYERS: dict[str, Callable[[], torch.Tensor]] = {
    "zeros": lambda: torch.zeros(3),
    "cpu": lambda: torch.zeros(3, device="cuda").cpu(),
    "to": lambda: torch.zeros(3, device="cuda").to("cpu"),
    "to another tensor": lambda: torch.zeros(3, device="cuda").to(torch.zeros(1)),
    "like": lambda: torch.zeros_like(torch.zeros(3, device="cuda"), device="cpu"),
    "as_tensor": lambda: torch.as_tensor(torch.zeros(3, device="cuda"), device="cpu"),
    "copied into": lambda: torch.zeros(3).copy_(torch.ones(3, device="cuda")),
    "out": lambda: torch.add(torch.zeros(3), 1, out=torch.zeros(3)),
    "from numpy": lambda: torch.from_numpy(np.zeros(3)),
    "pinned": lambda: torch.zeros(3, pin_memory=True),
}


@pytest.mark.parametrize("name", list(STAYERS))
def test_a_cpu_tensor_says_it_is_one(name: str) -> None:
    x = STAYERS[name]()
    assert (x.is_cuda, x.is_cpu, x.get_device(), x.device.type) == (False, True, -1, "cpu")
    assert "device" not in repr(x)
    assert isinstance(x.numpy(), np.ndarray)


@pytest.mark.parametrize(
    "move", [lambda x: x.cuda(), lambda x: x.to("cuda"), lambda x: torch.as_tensor(x, device="cuda")]
)
def test_moving_copies(move: Callable[[torch.Tensor], torch.Tensor]) -> None:
    x = torch.zeros(3)
    there = move(x)
    there += 1
    back = there.cpu()
    back += 1
    assert (x.sum().item(), there.sum().item(), back.sum().item()) == (0, 3, 6)


def test_moving_to_where_it_is_does_not_copy() -> None:
    x = torch.zeros(3, device="cuda")
    assert x.cuda() is x
    assert x.to("cuda:0") is x
    assert x.to(x.device, x.dtype) is x


def test_gradients_flow_through_a_move() -> None:
    x = torch.ones(3, requires_grad=True)
    (x.cuda() * 2).sum().backward()
    assert x.grad is not None
    assert not x.grad.is_cuda
    assert torch.equal(x.grad, torch.full((3,), 2.0))


def test_numpy_of_a_gpu_tensor_is_refused_as_on_a_gpu() -> None:
    x = torch.zeros(3, device="cuda")
    with pytest.raises(TypeError, match=r"can't convert cuda:0 device type tensor to numpy"):
        x.numpy()
    with pytest.raises(TypeError, match=r"can't convert cuda:0"):
        np.asarray(x)
    assert x.tolist() == [0.0, 0.0, 0.0]


def test_default_devices() -> None:
    with torch.device("cuda"):
        assert torch.zeros(2).is_cuda
        assert torch.nn.Linear(2, 2).weight.is_cuda
        assert not torch.zeros(2, device="cpu").is_cuda
    assert not torch.zeros(2).is_cuda
    torch.set_default_device("cuda")
    try:
        assert torch.arange(3).is_cuda
        assert torch.get_default_device() == torch.device("cuda", 0)
    finally:
        torch.set_default_device(None)
    assert not torch.arange(3).is_cuda


def test_a_module_moves_with_its_buffers_and_back() -> None:
    module = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    for there in (module.cuda(), module.to(0), module.to("cuda:0", torch.float16)):
        assert all(x.is_cuda for x in [*there.parameters(), *there.buffers()])
    assert not any(x.is_cuda for x in [*module.cpu().parameters(), *module.buffers()])


def test_saved_tensors_come_back_to_where_they_are_wanted(tmp_path: Path) -> None:
    torch.save({"x": torch.ones(3, device="cuda"), "y": torch.ones(3)}, tmp_path / "saved.pt")
    as_saved = torch.load(tmp_path / "saved.pt")
    assert (as_saved["x"].is_cuda, as_saved["y"].is_cuda) == (True, False)
    for place, expected in (("cpu", False), ("cuda", True), (torch.device("cuda", 0), True)):
        loaded = torch.load(tmp_path / "saved.pt", map_location=place)
        assert (loaded["x"].is_cuda, loaded["y"].is_cuda) == (expected, expected)


def test_generators_of_the_gpu_repeat_themselves() -> None:
    draws = []
    for _ in range(2):
        generator = torch.Generator(device="cuda").manual_seed(7)
        assert generator.device.type == "cuda"
        draws.append(torch.randn(4, device="cuda", generator=generator))
    assert torch.equal(*draws)
    assert isinstance(torch.default_generator, torch.Generator)
    torch.cuda.manual_seed(3)
    first = torch.rand(4, device="cuda")
    torch.cuda.manual_seed_all(3)
    assert torch.equal(first, torch.rand(4, device="cuda"))


def test_a_cpu_tensor_given_to_a_kernel_is_pointed_out(said: list[str]) -> None:
    x = torch.zeros(64, device="cuda")
    add = device_code.make_add()
    add[(1,)](x, x.cpu(), x, 64, BLOCK=64)
    assert "kernel add_anew was given a CPU tensor for y: on a GPU that launch raises ValueError" in said
    add[(1,)](x, x.cpu().pin_memory(), x, 64, BLOCK=64)
    assert not any("for x" in sentence or "for out" in sentence for sentence in said)
