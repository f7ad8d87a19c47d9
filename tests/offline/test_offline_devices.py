"""``torch.cuda`` answers for the target; streams, events and graphs behave."""

from __future__ import annotations

import pytest
import torch
import triton

from tests.offline import device_code

pytestmark = pytest.mark.usefixtures("said")


def test_the_device_answers_for_the_target() -> None:
    assert torch.cuda.is_available()
    assert torch.cuda.device_count() == 1
    assert torch.cuda.get_device_capability() == (9, 0)
    assert "H200" in torch.cuda.get_device_name(0)
    properties = torch.cuda.get_device_properties("cuda:0")
    assert (properties.multi_processor_count, properties.warp_size) == (132, 32)
    assert properties.shared_memory_per_block_optin == 232448
    free, total = torch.cuda.mem_get_info()
    assert 0 < free < total == properties.total_memory
    assert torch.cuda.is_bf16_supported()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.memory_allocated() == 0
    with torch.cuda.nvtx.range("a range"):
        torch.cuda.nvtx.mark("a mark")


def test_triton_answers_for_the_target() -> None:
    active = triton.runtime.driver.active
    assert active.get_current_target().arch == 90
    assert active.get_active_torch_device() == torch.device("cuda", 0)
    assert active.utils.get_device_properties(0)["multiprocessor_count"] == 132


def test_devices_that_are_not_there_cannot_be_chosen() -> None:
    with torch.cuda.device(0):
        assert torch.cuda.current_device() == 0
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.cuda.set_device(1)


def test_as_many_devices_as_the_launcher_started_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    assert torch.cuda.device_count() == 4
    with torch.cuda.device(3):
        assert torch.zeros(1, device="cuda").device.index == 3
    assert torch.zeros(1, device="cuda").device.index == 0


def test_streams_nest_and_reach_triton() -> None:
    stream = torch.cuda.Stream()
    default = torch.cuda.current_stream()
    assert default.cuda_stream == 0
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() == stream
        assert triton.runtime.driver.active.get_current_stream(0) == stream.cuda_stream != 0
    assert torch.cuda.current_stream() == default
    stream.wait_stream(default)
    torch.zeros(1, device="cuda").record_stream(stream)


def test_events_take_time() -> None:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    with pytest.raises(RuntimeError, match="must be recorded"):
        start.elapsed_time(end)
    end.record()
    end.synchronize()
    assert start.elapsed_time(end) > 0
    assert end.query()


def test_a_graph_replays_torch_and_triton_on_new_inputs() -> None:
    x = torch.ones(64, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        assert torch.cuda.is_current_stream_capturing()
        doubled = torch.empty_like(x)
        device_code.add[(1,)](x, x, doubled, 64, BLOCK=64)
        result = doubled * 3
        part = result[:2]
        result += 1
    assert not torch.cuda.is_current_stream_capturing()
    x.copy_(torch.arange(64.0))
    graph.replay()
    torch.testing.assert_close(result, x * 6 + 1)
    assert part.tolist() == [1.0, 7.0]


def test_a_graph_replays_a_training_step() -> None:
    torch.manual_seed(0)
    x = torch.randn(8, 4, device="cuda")
    weight = torch.randn(4, 1, device="cuda", requires_grad=True)
    eager = weight.detach().clone().requires_grad_()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        (gradient,) = torch.autograd.grad((x @ weight).square().mean(), weight)
        with torch.no_grad():
            weight -= 0.1 * gradient
    graph.replay()
    for _ in range(2):  # the capture itself ran once
        (step,) = torch.autograd.grad((x @ eager).square().mean(), eager)
        with torch.no_grad():
            eager -= 0.1 * step
    torch.testing.assert_close(weight, eager)


def test_graphed_callables_work() -> None:
    torch.manual_seed(0)
    module = torch.nn.Linear(4, 4).cuda()
    plain = torch.nn.Linear(4, 4).cuda()
    plain.load_state_dict(module.state_dict())
    graphed = torch.cuda.make_graphed_callables(
        module, (torch.randn(2, 4, device="cuda", requires_grad=True),)
    )
    x = torch.randn(2, 4, device="cuda", requires_grad=True)
    graphed(x).sum().backward()
    plain(x).sum().backward()
    torch.testing.assert_close(module.weight.grad, plain.weight.grad)


def test_waiting_for_the_device_during_a_capture_is_refused_as_on_a_gpu() -> None:
    x = torch.ones(4, device="cuda")
    with (
        pytest.raises(RuntimeError, match="not permitted when stream is capturing"),
        torch.cuda.graph(torch.cuda.CUDAGraph()),
    ):
        x.sum().item()
    assert not torch.cuda.is_current_stream_capturing()
    assert x.sum().item() == 4
