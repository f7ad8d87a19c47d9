"""Kernels as tests name them: the decorated object, or its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from jitwatch.rundir import Kernel
from jitwatch.runtime.kernels import jit_function

KernelLike: TypeAlias = Any
"""A ``@triton.jit`` function, wrapped in an autotuner or not, or its name (``norm`` or ``package.module.norm``)."""


def selector(kernel: KernelLike) -> Callable[[Kernel], bool]:
    """Whether a recorded kernel is this one. Raises TypeError for what is neither a kernel nor a name."""
    if isinstance(kernel, str):
        return lambda each: kernel in (each.name, each.name.rpartition(".")[2], f"{each.module}.{each.name}")
    function = _function(kernel)
    wanted = (function.__module__, function.__qualname__, function.__code__.co_filename)
    return lambda each: (each.module, each.name, each.path) == wanted


def _function(kernel: Any) -> Any:
    function = getattr(jit_function(kernel), "fn", None)
    if not hasattr(function, "__code__"):
        raise TypeError(f"{kernel!r} is neither a @triton.jit function nor the name of one")
    return function
