"""Teaches torch to answer as a GPU: puts together what the modules beside it do."""

from __future__ import annotations

from typing import Any, Callable

import torch

from .autocast import Autocast
from .devices import Devices, replace_cuda_functions
from .driver import Device, Launch
from .entries import keep_mode
from .mode import OfflineMode
from .moves import Moves
from .notices import notices
from .patches import Patches
from .target import Target
from .tensors import is_pinned, place_of, place_of_storage, put_storage


class OfflineCuda:
    """torch as a GPU's, from construction until ``detach``."""

    def __init__(self, target: Target, state: Device, patches: Patches) -> None:
        devices = Devices(target, state)
        self.mode = OfflineMode(devices.current)
        Moves(self.mode)
        Autocast(self.mode, patches)
        keep_mode(self.mode, patches)
        replace_cuda_functions(devices, patches)
        _accept_gpu_generators(devices, patches)
        _accept_gpu_indices(patches)
        _load_gpu_storages(self.mode, patches)
        _compile_nothing(patches)
        _profile_the_host_only(patches)
        patches.set(torch.Tensor, "record_stream", lambda self, stream: None)
        self.mode.__enter__()

    def check_places(self, launch: Launch) -> None:
        """Say when a kernel was given a CPU tensor, which a GPU cannot read."""
        if getattr(launch.source, "fn", None) is None:
            return
        with torch._C.DisableTorchFunction():
            for name, value in launch.arguments().items():
                if isinstance(value, torch.Tensor) and place_of(value) is None and not is_pinned(value):
                    fault = f"kernel {launch.name} was given a CPU tensor for {name}"
                    notices.say(f"{fault}: on a GPU that launch raises ValueError")

    def detach(self) -> None:
        """Switch the mode of this thread off; the patches are restored by their owner."""
        stack = torch.overrides._get_current_function_mode_stack()
        if stack and stack[-1] is self.mode:
            self.mode.__exit__(None, None, None)


def _accept_gpu_generators(devices: Devices, patches: Patches) -> None:
    """``torch.Generator(device="cuda")`` draws on the CPU."""
    plain: Any = torch.Generator

    def make(cls: Any, device: Any = "cpu") -> Any:
        asked = torch.device(device)
        made = plain.__new__(cls, "cpu" if asked.type == "cuda" else asked)
        made._jitwatch_place = torch.device("cuda", devices.index(asked)) if asked.type == "cuda" else asked
        return made

    # torch's own generators stay instances of what is now called torch.Generator.
    meta = type("Meta", (type(plain),), {"__instancecheck__": lambda cls, value: isinstance(value, plain)})
    members = {
        "__new__": make,
        "__init__": lambda self, device="cpu": None,
        "device": property(lambda self: self._jitwatch_place),
    }
    patches.set(torch, "Generator", meta("Generator", (plain,), members))


def _accept_gpu_indices(patches: Patches) -> None:
    """``module.to(0)``: torch reads the 0 as an accelerator's index, and there is none."""
    parse: Callable[..., Any] = torch._C._nn._parse_to

    def parse_to(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], int) and not isinstance(args[0], bool):
            args = (torch.device("cuda", args[0]), *args[1:])
        return parse(*args, **kwargs)

    patches.set(torch._C._nn, "_parse_to", parse_to)


def _load_gpu_storages(mode: OfflineMode, patches: Patches) -> None:
    """``torch.load`` of a file with GPU tensors, or to a GPU; ``torch.save`` writes where they were."""

    def tag(storage: Any) -> Any:
        place = place_of_storage(getattr(storage, "_untyped_storage", storage))
        return None if place is None else str(place)

    def restore(storage: Any, location: str) -> Any:
        if not location.startswith("cuda"):
            return None
        put_storage(storage, mode.device(location))
        return storage

    # Before torch's own entry for cuda (priority 20), which asks the real runtime. Not by register_package, which
    # could not be undone.
    registry = torch.serialization._package_registry
    patches.set(torch.serialization, "_package_registry", [(1, tag, restore), *registry])


def _compile_nothing(patches: Patches) -> None:
    """``torch.compile`` returns its argument: the compiler would generate code for the CPU."""

    def compile_nothing(model: Any = None, **options: Any) -> Any:
        notices.say(
            "torch.compile ran eagerly offline: the kernels it would generate for a GPU are not in the profile"
        )
        return (lambda function: function) if model is None else model

    patches.set(torch, "compile", compile_nothing)


def _profile_the_host_only(patches: Patches) -> None:
    """``torch.profiler`` with CUDA activities: torch would complain at every operation that it has no events."""
    profile = torch.autograd.profiler.profile
    construct = profile.__init__

    def construct_without_device(self: Any, *args: Any, **kwargs: Any) -> None:
        if kwargs.get("use_device") == "cuda":
            kwargs["use_device"] = None
        construct(self, *args, **kwargs)

    patches.set(profile, "__init__", construct_without_device)
