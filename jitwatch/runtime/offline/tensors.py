"""Which tensors are "on the GPU", when all of them are in CPU memory.

A mark on a storage says so. torch keeps the Python object of a storage as long as the storage itself, so an
attribute of that object is enough: views share it, and it goes when the memory goes.
"""

from __future__ import annotations

from typing import Any, Iterable, Iterator

import torch

_PLACE = "_jitwatch_place"
_PINNED = "_jitwatch_pinned"


def storage_of(tensor: Any) -> Any:
    """Storage of a tensor, or of what functorch wrapped; None where there is none (sparse tensors)."""
    while torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        tensor = torch._C._functorch.get_unwrapped(tensor)
    try:
        return tensor.untyped_storage()
    except (NotImplementedError, RuntimeError):
        return None


def share_storage(one: Any, other: Any) -> bool:
    """Whether two tensors are views of the same memory."""
    first, second = storage_of(one), storage_of(other)
    return first is not None and second is not None and first._cdata == second._cdata


def place_of(tensor: Any) -> Any:
    """The ``torch.device("cuda", i)`` a tensor pretends to be on, or None for a CPU tensor.

    Only to be asked where the mode is off, as inside its handler; a program asks ``tensor.device``.
    """
    return getattr(storage_of(tensor), _PLACE, None)


def put(tensor: Any, place: Any) -> None:
    """Mark the tensor's memory as being on `place`; meta and fake tensors have none and stay as they are."""
    storage = storage_of(tensor)
    if storage is not None and storage.device.type == "cpu":
        setattr(storage, _PLACE, place)


def put_storage(storage: Any, place: Any) -> None:
    """The same for an ``UntypedStorage``."""
    setattr(storage, _PLACE, place)


def place_of_storage(storage: Any) -> Any:
    """Where an ``UntypedStorage`` pretends to be, or None."""
    return getattr(storage, _PLACE, None)


def pin(tensor: Any) -> None:
    """Mark the tensor's memory as page-locked."""
    storage = storage_of(tensor)
    if storage is not None:
        setattr(storage, _PINNED, True)


def is_pinned(tensor: Any) -> bool:
    """Whether it was marked so."""
    return getattr(storage_of(tensor), _PINNED, False)


def tensors_in(values: Iterable[Any]) -> Iterator[Any]:
    """Tensors among values and inside their lists and tuples."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)


def copy_to(tensor: Any, place: Any) -> Any:
    """A copy in memory of its own, on `place` (None: the CPU); differentiable like ``.to``."""
    copy = tensor.clone()
    if place is not None:
        put(copy, place)
    return copy
