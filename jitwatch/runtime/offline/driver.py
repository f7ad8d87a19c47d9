"""The driver object that stands in for a device: what Triton asks, and what it launches through."""

from __future__ import annotations

import sys
import weakref
from dataclasses import dataclass
from typing import Any, Callable, Sequence

from .patches import Patches
from .target import Target


@dataclass(frozen=True)
class Launch:
    """A launch of a compiled kernel."""

    source: Any
    """Triton's ASTSource, which it was compiled from."""
    name: str
    grid: tuple[int, int, int]
    debug: bool
    """Compiled with assertions on."""
    values: Sequence[Any]
    """What the launcher was given: every argument, up to Triton 3.2 without the constexprs."""

    def arguments(self) -> dict[str, Any]:
        """Every argument by the name of its parameter."""
        params = self.source.fn.params
        if len(self.values) == len(params):
            return {param.name: value for param, value in zip(params, self.values)}
        rest = iter(self.values)
        return {p.name: self.source.constants[p.name] if p.is_constexpr else next(rest) for p in params}


Run = Callable[[Launch], None]


class Device:
    """State that a real driver library would keep: the current device, and the kernels loaded onto it."""

    def __init__(self) -> None:
        self.current = 0
        self.modules = 0
        self.loaded: Any = weakref.WeakSet()

    def watch_loads(self, patches: Patches) -> None:
        """Know the kernels that are loaded, to unload them at the end."""
        from triton.compiler.compiler import CompiledKernel

        original = CompiledKernel._init_handles

        def init_handles(kernel: Any) -> None:
            original(kernel)
            self.loaded.add(kernel)

        patches.set(CompiledKernel, "_init_handles", init_handles)

    def unload_all(self) -> None:
        """Let whichever driver comes next load them anew; Triton 3.8 and later would unload through it."""
        for kernel in list(self.loaded):
            kernel.module = kernel.function = None
            if hasattr(kernel, "_run"):
                kernel._run = None
        self.loaded.clear()

    def stream(self, index: int) -> int:
        """Handle of the current stream: torch's, when torch has been taught; else the default one."""
        torch = sys.modules.get("torch")
        answer = getattr(getattr(torch, "cuda", None), "_jitwatch_stream", None)
        return int(answer(index)) if answer is not None else 0


class Utils:
    """``driver.active.utils``: the C module of a real driver."""

    def __init__(self, target: Target, device: Device) -> None:
        from triton.compiler.compiler import CompiledKernel

        self._target = target
        self._device = device
        self._expects_threads = "n_max_threads" in CompiledKernel._init_handles.__code__.co_names

    def get_device_properties(self, index: int = 0) -> dict[str, Any]:
        """Of the target, by its data sheet."""
        return self._target.properties()

    def load_binary(self, name: str, kernel: bytes, shared: int, device: int) -> tuple[int, ...]:
        """Handles of a module and its function, then registers, spills and (from 3.4) the most threads."""
        self._device.modules += 1
        answer = (self._device.modules, self._device.modules, 0, 0, 1024)
        return answer if self._expects_threads else answer[:4]

    def unload_module(self, module: int) -> None:
        """Nothing is loaded."""

    def set_printf_fifo_size(self, size: int) -> None:
        """Nothing is printed from a device."""

    def get_current_device(self) -> int:
        """Index of the current device."""
        return self._device.current

    def set_current_device(self, index: int) -> None:
        """Make it current."""
        self._device.current = index

    def get_device_capability(self, index: int = 0) -> tuple[int, int]:
        """Of the target."""
        return self._target.capability

    def cuOccupancyMaxActiveClusters(self, *args: Any) -> int:
        """As many as one for each group of multiprocessors."""
        return self._target.multiprocessors

    def __getattr__(self, name: str) -> Any:
        # Tensor maps and the like: what they return goes nowhere but into a launch.
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: None


class OfflineLauncher:
    """Launches one compiled kernel; Triton builds and keeps it. Hooks are called as a real launcher calls them."""

    def __init__(self, source: Any, metadata: Any) -> None:
        self.source = source
        self.name = getattr(metadata, "name", "?")
        self.debug = bool(getattr(metadata, "debug", False))

    def __call__(self, x: int, y: int, z: int, *rest: Any) -> None:
        """Launch a grid."""
        from triton.runtime import driver

        _stream, _function, _packed, metadata, enter, leave, *args = rest
        if enter is not None:
            enter(metadata)
        # The driver of now: a kernel, and this launcher with it, outlives a deactivation.
        if x * y * z > 0 and isinstance(driver.active, OfflineDriver):
            driver.active.run(Launch(self.source, self.name, (x, y, z), self.debug, args))
        if leave is not None:
            leave(metadata)


class OfflineDriver:
    """What ``triton.runtime.driver.set_active`` is given."""

    def __init__(self, target: Target, device: Device, run: Run) -> None:
        from triton.backends.compiler import GPUTarget

        self.target = target
        self.device = device
        self.utils = Utils(target, self.device)
        self.launcher_cls = OfflineLauncher
        self.run = run
        self._gpu_target = GPUTarget(target.backend, target.arch, target.warp_size)

    def get_current_target(self) -> Any:
        """Triton's name for the target."""
        return self._gpu_target

    def get_current_device(self) -> int:
        """Index of the current device."""
        return self.device.current

    def set_current_device(self, index: int) -> None:
        """Make it current."""
        self.device.current = index

    def get_current_stream(self, index: int | None = None) -> int:
        """Handle of the current stream."""
        return self.device.stream(self.device.current if index is None else index)

    def get_device_capability(self, index: Any = None) -> tuple[int, int]:
        """Of the target."""
        return self.target.capability

    def get_active_torch_device(self) -> Any:
        """``torch.device("cuda", 0)``, under HIP as well."""
        import torch

        return torch.device("cuda", self.device.current)

    def get_device_interface(self) -> Any:
        """``torch.cuda``."""
        import torch

        return torch.cuda

    def get_benchmarker(self) -> Callable[..., Any]:
        """``triton.testing.do_bench``, which does not measure here."""
        from triton.testing import do_bench

        benchmarker: Callable[..., Any] = do_bench
        return benchmarker

    def get_empty_cache_for_benchmark(self) -> Any:
        """A buffer to flush a cache with; there is none, so a small one will do."""
        import torch

        return torch.empty(16, dtype=torch.int, device="cuda")

    def clear_cache(self, cache: Any) -> None:
        """Nothing to flush."""

    def map_python_to_cpp_type(self, type_: str) -> str:
        """C type of a Triton type, as Triton's own backend says."""
        import importlib

        module = importlib.import_module(
            "triton.backends.amd.driver" if self.target.backend == "hip" else "triton.backends.nvidia.driver"
        )
        text: str = module.ty_to_cpp(type_)
        return text

    def assemble_tensormap_to_arg(self, infos: Any, args: list[Any]) -> list[Any]:
        """Part of old drivers: no tensor maps to add."""
        return args

    def allocate_default_profile_scratch(self, size: int, alignment: int, stream: Any) -> None:
        """No kernel writes a profile here."""

    @classmethod
    def is_active(cls) -> bool:
        """It is."""
        return True
