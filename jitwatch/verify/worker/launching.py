"""Launches both forms of a kernel on the device, with fresh arguments of the sizes that the run recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jitwatch.verify.timing import Timing, launcher, time_interleaved

NOISE = 2**22
"""Random numbers that are made; a larger tensor repeats them."""

ADDRESSES = 16
"""What an address is taken modulo in an argument's class."""


class Unrepeatable(Exception):
    """The launch cannot be made again from what was recorded; the message says why."""


def find_device() -> str | None:
    """Spelling of the device's target, such as ``cuda:90``; None without one."""
    import torch

    if not torch.cuda.is_available():
        return None
    if torch.version.hip:
        return f"hip:{torch.cuda.get_device_properties(0).gcnArchName.partition(':')[0]}"
    major, minor = torch.cuda.get_device_capability()
    return f"cuda:{10 * major + minor}"


def time_forms(before: Any, after: Any, launch: Mapping[str, Any]) -> Timing:
    """Time two compiled forms in turns. Raises Unrepeatable, and what torch and the driver raise."""
    import torch

    _check_memory(launch["values"], torch.cuda.mem_get_info()[0])
    arguments = [make_argument(value, "cuda") for value in launch["values"]]
    grid = (*launch["grid"], 1, 1)[:3]
    old, new = (launcher(form, grid, arguments) for form in (before, after))
    return time_interleaved(old, new)


def make_argument(value: Any, device: str) -> Any:
    """An argument like the one that an event describes. Raises Unrepeatable."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(make_argument(each, device) for each in value)
    if not isinstance(value, Mapping):
        return value
    if "repr" in value:
        return None  # a compile-time value, which the code holds already
    if "tensor" not in value:
        raise Unrepeatable("it has a tensor descriptor among its arguments")
    return _tensor(value, device)


def _tensor(described: Mapping[str, Any], device: str) -> Any:
    """A tensor with the recorded size of storage and address modulo 16: random numbers, or zeros for integers."""
    import torch

    size, dtype = described.get("bytes"), getattr(torch, str(described["tensor"]), None)
    if not isinstance(size, int) or not isinstance(dtype, torch.dtype):
        raise Unrepeatable("the run did not record the size of its tensors; record it again")
    width = dtype.itemsize
    skipped = described.get("mod16", 0) // width
    whole = torch.zeros(size // width + skipped + ADDRESSES, dtype=dtype, device=device)
    if dtype.is_floating_point:
        noise = torch.randn(min(len(whole), NOISE), device=device).to(dtype)
        for start in range(0, len(whole), NOISE):
            part = whole[start : start + NOISE]
            part.copy_(noise[: len(part)])
    return whole[skipped:]


def _check_memory(values: Any, free: int) -> None:
    needed = sum(_bytes(value) for value in values)
    if needed > 0.8 * free:
        raise Unrepeatable(f"its tensors need {needed / 2**30:.1f} GiB, and {free / 2**30:.1f} GiB are free")


def _bytes(value: Any) -> int:
    if isinstance(value, Mapping):
        size = value.get("bytes", 0)
        return size if isinstance(size, int) else 0
    return sum(map(_bytes, value)) if isinstance(value, list) else 0
