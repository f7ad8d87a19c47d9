"""What ``torch.cuda`` and ``torch.accelerator`` answer about a device that is not there."""

from __future__ import annotations

import os
from collections import defaultdict
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Callable, Iterator

import torch

from . import graphs, streams
from .driver import Device
from .patches import Patches
from .target import Target


class Devices:
    """Answers for one target. A launcher's ``LOCAL_WORLD_SIZE`` says how many devices there are."""

    def __init__(self, target: Target, state: Device) -> None:
        self.target = target
        self.state = state
        streams.current_device = self.current

    def count(self) -> int:
        """``device_count``."""
        return max(1, int(os.environ.get("LOCAL_WORLD_SIZE", "1")))

    def current(self) -> int:
        """``current_device``."""
        return self.state.current

    def index(self, device: Any) -> int:
        """Index of a device given in any of torch's ways."""
        if device is None:
            return self.state.current
        if isinstance(device, int):
            return device if device >= 0 else self.state.current
        if hasattr(device, "idx"):  # a torch.cuda.device
            return int(device.idx)
        index = torch.device(device).index
        return self.state.current if index is None else index

    def select(self, device: Any) -> None:
        """``set_device``. Raises RuntimeError for one that does not exist."""
        index = self.index(device)
        if index >= self.count():
            raise RuntimeError("CUDA error: invalid device ordinal")
        self.state.current = index

    def properties(self, device: Any = None) -> Any:
        """``get_device_properties``."""
        target = self.target
        major, minor = target.capability
        return SimpleNamespace(
            name=target.name,
            major=major,
            minor=minor,
            total_memory=target.memory,
            multi_processor_count=target.multiprocessors,
            warp_size=target.warp_size,
            max_threads_per_multi_processor=target.threads_per_multiprocessor,
            max_threads_per_block=1024,
            regs_per_multiprocessor=65536,
            shared_memory_per_block=min(49152, target.max_shared_mem),
            shared_memory_per_block_optin=target.max_shared_mem,
            shared_memory_per_multiprocessor=target.max_shared_mem + 1024,
            L2_cache_size=target.l2_size,
            clock_rate=target.sm_clock,
            memory_clock_rate=target.memory_clock,
            memory_bus_width=target.memory_bus,
            gcnArchName=str(target.properties().get("arch", f"sm_{target.arch}")),
            is_integrated=0,
            is_multi_gpu_board=0,
            pci_bus_id=self.index(device),
            pci_device_id=0,
            pci_domain_id=0,
            uuid=f"00000000-0000-0000-0000-{self.index(device):012d}",
        )

    @contextmanager
    def selected(self, device: Any) -> Iterator[None]:
        """``torch.cuda.device(i)``."""
        outer = self.state.current
        index = self.index(device)
        if index >= 0:
            self.select(index)
        try:
            yield
        finally:
            self.state.current = outer

    def memory(self, device: Any = None) -> Any:
        """``mem_get_info``: all of it is free."""
        return self.target.memory - 512 * 1024**2, self.target.memory


def _context_class(devices: Devices) -> type:
    class device:
        """``torch.cuda.device``."""

        def __init__(self, device: Any) -> None:
            self.idx = devices.index(device)

        def __enter__(self) -> None:
            self._context = devices.selected(self.idx)
            self._context.__enter__()

        def __exit__(self, *error: Any) -> None:
            self._context.__exit__(*error)

    return device


def _nothing(*args: Any, **kwargs: Any) -> None:
    return None


def _zero(*args: Any, **kwargs: Any) -> int:
    return 0


class _AnswersZero:
    """A C library whose every function succeeds: the CUDA runtime, NVTX."""

    cudaError = SimpleNamespace(success=0)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _zero


def answers(devices: Devices) -> dict[str, Any]:
    """Members of ``torch.cuda``, by name."""
    target = devices.target
    one_generator = torch.default_generator
    named: dict[str, Any] = {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "device_count": devices.count,
        "current_device": devices.current,
        "set_device": devices.select,
        "device": _context_class(devices),
        "get_device_name": lambda device=None: target.name,
        "get_device_capability": lambda device=None: target.capability,
        "get_device_properties": devices.properties,
        "get_arch_list": lambda: [f"sm_{target.arch}" if target.backend == "cuda" else str(target.arch)],
        "is_bf16_supported": lambda including_emulation=True: True,
        "is_tf32_supported": lambda: target.backend == "cuda",
        "can_device_access_peer": lambda device, peer_device: device != peer_device,
        "synchronize": lambda device=None: graphs.forbid_while_capturing(),
        "mem_get_info": devices.memory,
        "memory_stats": lambda device=None: defaultdict(int),
        "memory_stats_as_nested_dict": lambda device=None: {},
        "memory_snapshot": lambda *_, **__: [],
        "memory_summary": lambda *_, **__: "no memory is allocated on a device offline",
        "cudart": _AnswersZero,
        "manual_seed": lambda seed: one_generator.manual_seed(int(seed)),
        "manual_seed_all": lambda seed: one_generator.manual_seed(int(seed)),
        "seed": one_generator.seed,
        "seed_all": one_generator.seed,
        "initial_seed": one_generator.initial_seed,
        "get_rng_state": lambda device=None: one_generator.get_state(),
        "get_rng_state_all": lambda: [one_generator.get_state()] * devices.count(),
        "set_rng_state": lambda new_state, device=None: one_generator.set_state(new_state),
        "set_rng_state_all": lambda new_states: one_generator.set_state(new_states[0]),
        "default_generators": (one_generator,) * devices.count(),
        "Stream": streams.Stream,
        "ExternalStream": streams.ExternalStream,
        "Event": streams.Event,
        "StreamContext": streams.using,
        "stream": streams.using,
        "current_stream": streams.current,
        "default_stream": streams.default,
        "set_stream": streams.select,
        "CUDAGraph": graphs.CUDAGraph,
        "graph": graphs.graph,
        "graph_pool_handle": graphs.new_pool,
        "is_current_stream_capturing": graphs.is_capturing,
        "_jitwatch_stream": lambda index: streams.current(index).cuda_stream,
    }
    named.update(dict.fromkeys(_IDLE, _nothing))
    named.update(dict.fromkeys(_NOUGHT, _zero))
    return named


_IDLE = (
    "_lazy_init", "init", "empty_cache", "ipc_collect", "reset_peak_memory_stats", "reset_max_memory_allocated",
    "reset_max_memory_cached", "reset_accumulated_memory_stats", "set_per_process_memory_fraction",
    "set_sync_debug_mode", "check_error", "_sleep",
)  # fmt: skip
_NOUGHT = (
    "memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved", "memory_cached",
    "max_memory_cached", "utilization", "memory_usage", "get_sync_debug_mode", "current_blas_handle",
)  # fmt: skip


_ELSEWHERE = {
    "graphs": ("CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing"),
    "memory": ("memory_allocated", "max_memory_allocated", "mem_get_info", "memory_stats"),
    "streams": ("Stream", "Event", "ExternalStream"),
}
"""Modules of ``torch.cuda`` where the same names are used by torch itself."""


def replace_cuda_functions(devices: Devices, patches: Patches) -> None:
    """Put the answers where programs and torch itself look for them."""
    named = answers(devices)
    for name, answer in named.items():
        patches.set(torch.cuda, name, answer)
    patches.set(torch.cuda.nvtx, "_nvtx", _AnswersZero())
    patches.set(torch._C, "_cuda_getCurrentRawStream", lambda index: streams.current(index).cuda_stream)
    patches.set(torch.backends.cuda, "is_built", lambda: True)
    patches.set(torch.version, devices.target.backend, "12.8" if devices.target.backend == "cuda" else "6.4")
    for module, names in _ELSEWHERE.items():
        for name in names:
            patches.set(getattr(torch.cuda, module), name, named[name])
    _replace_accelerator(devices, patches)


def _replace_accelerator(devices: Devices, patches: Patches) -> None:
    accelerator = getattr(torch, "accelerator", None)  # torch 2.6
    if accelerator is None:
        return
    named: dict[str, Callable[..., Any]] = {
        "is_available": lambda: True,
        "device_count": devices.count,
        "current_accelerator": lambda check_available=False: torch.device("cuda"),
        "current_device_index": devices.current,
        "current_device_idx": devices.current,
        "set_device_index": devices.select,
        "set_device_idx": devices.select,
        "synchronize": lambda device=None: graphs.forbid_while_capturing(),
        "current_stream": streams.current,
        "set_stream": streams.select,
        "empty_cache": _nothing,
        "memory_allocated": _zero,
        "max_memory_allocated": _zero,
    }
    for name, answer in named.items():
        if hasattr(accelerator, name):
            patches.set(accelerator, name, answer)
