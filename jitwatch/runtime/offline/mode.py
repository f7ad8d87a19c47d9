"""The mode that every torch call goes through: requests for a GPU become CPU memory with a mark.

torch hands each function, method and property of a tensor to the innermost ``TorchFunctionMode`` of the thread,
and switches that mode off for as long as it handles the call. So inside a handler torch is itself.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Callable, Iterator

import torch
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack
from torch.utils import _device

from .tensors import copy_to, place_of, put, share_storage, tensors_in

Handler = Callable[[Any, Any, Any], Any]
"""Answers one function itself: ``handler(func, args, kwargs)``."""

CPU = torch.device("cpu")


class OfflineMode(TorchFunctionMode):  # type: ignore[misc]  # torch is Any where it is not installed
    """Translates device arguments, answers what depends on a device, and marks results."""

    def __init__(self, current_device: Callable[[], int]) -> None:
        super().__init__()
        self._current_device = current_device
        self.handlers: dict[Any, Handler] = {}
        """By function; ``torch.Tensor.device.__get__`` for a property."""
        self.before: Callable[[Any, Any, Any], Any] = lambda func, args, kwargs: (args, kwargs)
        """Last change of the arguments of an ordinary function (autocast)."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Entry from torch."""
        kwargs = kwargs or {}
        if torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE) is not None:
            return func(*args, **kwargs)  # fake tensors have fake devices, a GPU among them
        handler = self.handlers.get(func)
        if handler is not None:
            return handler(func, args, kwargs)
        return self.call(func, args, kwargs)

    def call(self, func: Any, args: Any, kwargs: Any) -> Any:
        """An ordinary function: as torch does it, on CPU memory, its result marked."""
        args, kwargs, wanted = self._translate(func, args, kwargs)
        args, kwargs = self.before(func, args, kwargs)
        return self.settle(func(*args, **kwargs), wanted, (*args, *kwargs.values()))

    def device(self, value: Any) -> Any:
        """What ``cuda``, ``cuda:1``, 1 or a ``torch.device`` asks for; the CPU and others as they are."""
        if isinstance(value, bool) or not isinstance(value, (int, str, torch.device)):
            return None
        device = torch.device("cuda", value) if isinstance(value, int) else torch.device(value)
        if device.type == "cuda" and device.index is None:
            return torch.device("cuda", self._current_device())
        return device

    def _translate(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Take a GPU out of the arguments: the arguments without it, and the device that was asked for."""
        wanted = self.device(kwargs["device"]) if kwargs.get("device") is not None else self._default(func)
        if wanted is None:
            positions = [i for i, value in enumerate(args) if isinstance(value, torch.device)]
            if positions:
                wanted = self.device(args[positions[0]])
                args = tuple(
                    CPU if i in positions and wanted.type == "cuda" else v for i, v in enumerate(args)
                )
        elif wanted.type == "cuda":
            kwargs = {**kwargs, "device": CPU}
        if kwargs.get("pin_memory"):  # needs a real accelerator
            kwargs = {key: value for key, value in kwargs.items() if key != "pin_memory"}
        return args, kwargs, wanted

    def _default(self, func: Any) -> Any:
        """The GPU that ``torch.set_default_device`` or ``with torch.device(...)`` names for a constructor."""
        if not torch._C._len_torch_function_stack():
            return None
        context = torch._C._get_function_stack_at(0)  # torch keeps it at the bottom
        if not isinstance(context, _device.DeviceContext) or context.device.type != "cuda":
            return None
        return self.device(context.device) if func in _device._device_constructors() else None

    def settle(self, result: Any, wanted: Any, inputs: Any) -> Any:
        """Mark what a call returned: on the device asked for, else where its inputs are."""
        if result is None or isinstance(result, (int, float, str, torch.dtype, torch.Size)):
            return result
        if isinstance(result, torch.Tensor):
            return self._settle_one(result, wanted, inputs)
        if type(result) in (list, tuple):
            return type(result)([self.settle(item, wanted, inputs) for item in result])
        if isinstance(
            result, tuple
        ):  # a named one: torch.return_types cannot be rebuilt, and never needs a copy
            for tensor in tensors_in(result):
                self._settle_one(tensor, wanted, inputs)
        return result

    def _settle_one(self, tensor: Any, wanted: Any, inputs: Any) -> Any:
        place = place_of(tensor)
        sources = list(tensors_in(inputs))
        shared = any(share_storage(tensor, source) for source in sources)
        if wanted is None:
            if place is None and not shared:
                wanted = next((found for found in map(place_of, sources) if found is not None), None)
        elif wanted.type != "cuda":
            return copy_to(tensor, None) if place is not None and shared else tensor
        elif place is None and shared:  # as_tensor(cpu_tensor, device="cuda") copies on a GPU
            return copy_to(tensor, wanted)
        if wanted is not None and place is None:
            put(tensor, wanted)
        return tensor

    @contextmanager
    def active(self) -> Iterator[None]:
        """On inside: for new threads, and Python code that torch calls while it handles something else."""
        if any(mode is self for mode in _get_current_function_mode_stack()):
            yield
        else:
            with self:
                yield
