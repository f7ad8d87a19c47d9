"""What depends on where a tensor is: its device, its text, and every way of moving it."""

from __future__ import annotations

from typing import Any

import torch
from torch._tensor_str import _str

from . import tensors
from .mode import OfflineMode
from .tensors import copy_to, place_of


class Moves:
    """Handlers for tensor methods and properties, installed into a mode."""

    def __init__(self, mode: OfflineMode) -> None:
        self.mode = mode
        tensor = torch.Tensor
        mode.handlers.update(
            {
                tensor.device.__get__: self.device,
                tensor.is_cuda.__get__: self.is_cuda,
                tensor.is_cpu.__get__: self.is_cpu,
                tensor.get_device: self.get_device,
                tensor.type: self.type,
                tensor.__repr__: self.text,
                tensor.__format__: self.format,
                tensor.to: self.to,
                tensor.cuda: self.cuda,
                tensor.cpu: self.cpu,
                tensor.pin_memory: self.pin_memory,
                tensor.is_pinned: self.is_pinned,
                tensor.numpy: self.numpy,
                tensor.__array__: self.numpy,
                torch.device: self.make_device,
                torch.as_tensor: self.convert,
                torch.asarray: self.convert,
            }
        )

    def device(self, func: Any, args: Any, kwargs: Any) -> Any:
        """``x.device``."""
        return place_of(args[0]) or func(*args)

    def is_cuda(self, func: Any, args: Any, kwargs: Any) -> bool:
        """``x.is_cuda``."""
        return place_of(args[0]) is not None or func(*args)

    def is_cpu(self, func: Any, args: Any, kwargs: Any) -> bool:
        """``x.is_cpu``."""
        return place_of(args[0]) is None and func(*args)

    def get_device(self, func: Any, args: Any, kwargs: Any) -> int:
        """``x.get_device()``: the index, -1 for the CPU."""
        place = place_of(args[0])
        return func(*args) if place is None else place.index  # type: ignore[no-any-return]

    def type(self, func: Any, args: Any, kwargs: Any) -> Any:
        """``x.type()`` and ``x.type("torch.cuda.HalfTensor")``."""
        if len(args) == 1 and not kwargs:
            text = func(*args)
            return text if place_of(args[0]) is None else text.replace("torch.", "torch.cuda.", 1)
        if isinstance(args[1], str) and args[1].startswith("torch.cuda."):
            plain = func(args[0], args[1].replace("torch.cuda.", "torch.", 1), *args[2:], **kwargs)
            return self._moved(args[0], plain, self.mode.device("cuda"))
        return self.mode.call(func, args, kwargs)

    def text(self, func: Any, args: Any, kwargs: Any) -> str:
        """``repr(x)``: torch's own, made while the mode answers its questions."""
        if place_of(args[0]) is None:
            return func(*args, **kwargs)  # type: ignore[no-any-return]
        with self.mode.active():
            return _str(args[0], **kwargs)  # type: ignore[no-any-return]

    def format(self, func: Any, args: Any, kwargs: Any) -> str:
        """``f"{x}"``."""
        if args[0].dim() == 0 or args[1]:
            return func(*args)  # type: ignore[no-any-return]
        return self.text(torch.Tensor.__repr__, args[:1], {})

    def to(self, func: Any, args: Any, kwargs: Any) -> Any:
        """``x.to(...)`` in its three forms: a device, a dtype, another tensor."""
        args, kwargs, wanted = self._destination(args, kwargs)
        return self._moved(args[0], func(*args, **kwargs), place_of(args[0]) if wanted is None else wanted)

    def _destination(self, args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
        """Arguments without a GPU in them, and the device asked for (None: stay)."""
        given = args[1] if len(args) > 1 else kwargs.get("device", kwargs.get("other"))
        if isinstance(given, torch.Tensor):
            return args, kwargs, place_of(given) or given.device
        wanted = self.mode.device(given)
        if wanted is None or wanted.type != "cuda":
            return args, kwargs, wanted
        if len(args) > 1:
            return (args[0], torch.device("cpu"), *args[2:]), kwargs, wanted
        return args, {**kwargs, "device": torch.device("cpu")}, wanted

    def cuda(self, func: Any, args: Any, kwargs: Any) -> Any:
        """``x.cuda()``."""
        given = args[1] if len(args) > 1 else kwargs.get("device")
        return self._moved(args[0], args[0], self.mode.device("cuda" if given is None else given))

    def cpu(self, func: Any, args: Any, kwargs: Any) -> Any:
        """``x.cpu()``."""
        return self._moved(args[0], func(*args, **kwargs), torch.device("cpu"))

    @staticmethod
    def _moved(before: Any, after: Any, wanted: Any) -> Any:
        """`after`, which torch made of `before` without moving it, on the device `wanted`."""
        place = wanted if wanted is not None and wanted.type == "cuda" else None
        source = place_of(before)
        if after is before or tensors.share_storage(after, before):
            return after if place == source else copy_to(after, place)
        if place is not None:
            tensors.put(after, place)
        return after

    def pin_memory(self, func: Any, args: Any, kwargs: Any) -> Any:
        """``x.pin_memory()``: a copy, as on a GPU."""
        if tensors.is_pinned(args[0]):
            return args[0]
        copy = copy_to(args[0], None)
        tensors.pin(copy)
        return copy

    def is_pinned(self, func: Any, args: Any, kwargs: Any) -> bool:
        """``x.is_pinned()``."""
        return tensors.is_pinned(args[0])

    def numpy(self, func: Any, args: Any, kwargs: Any) -> Any:
        """``x.numpy()``. Raises what a GPU tensor raises."""
        place = place_of(args[0])
        if place is not None:
            raise TypeError(
                f"can't convert {place} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host"
                " memory first."
            )
        return func(*args, **kwargs)

    def make_device(self, func: Any, args: Any, kwargs: Any) -> Any:
        """``torch.device(0)``, which asks for an accelerator."""
        if len(args) == 1 and isinstance(args[0], int) and not kwargs:
            return torch.device("cuda", args[0])
        return func(*args, **kwargs)

    def convert(self, func: Any, args: Any, kwargs: Any) -> Any:
        """``torch.as_tensor(data, device="cuda")``: on a GPU never shares memory with `data`."""
        result = self.mode.call(func, args, kwargs)
        data = args[0] if args else kwargs.get("data", kwargs.get("obj"))
        if (
            place_of(result) is not None
            and hasattr(data, "__array_interface__")
            and not isinstance(data, torch.Tensor)
        ):
            return copy_to(result, place_of(result))
        return result
