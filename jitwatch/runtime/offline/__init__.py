"""Runs an unmodified GPU program on a machine without a GPU, with its true recompile profile.

Triton's own binder, key, cache, hooks and compiler run in full for the target, down to the binary. Only the launch
differs: the kernel runs in Triton's interpreter, on CPU memory, and torch answers as a GPU.

What holds, and was compared with an H200 (Triton 3.6, torch 2.11): the keys of the variants; the order of hooks;
conversions between fp32, fp16, bf16 and fp8, to the bit; the dtypes autocast gives; what a device says of itself.

What does not hold:

- Times. Events and benchmarks measure nothing of a GPU, stalls are this machine's compile times, and autotuners
  take their first configuration that fits instead of compiling and timing them all.
- Rounding elsewhere. Sums and products may differ in the last bits; fp32 dots are not rounded to tf32.
- Concurrency. The programs of a grid run one after the other, in the order of their ids: races are not seen,
  and a program that waits for a later one waits forever. So do launches, streams and threads.
- Memory. An access outside a tensor reads or writes this process's memory, and may end it. Nothing is counted:
  ``memory_allocated`` is 0, and only the host's memory runs out.
- Kernels the interpreter lacks something for (inline assembly, Gluon, unknown ``libdevice`` functions; before
  Triton 3.2 all of them) compile and do not run; what they would have written is left as it was.
- ``torch.compile`` runs eagerly, and generates no kernels.
- CUDA graphs run their body while capturing, and replay it operation by operation.
- Mixing CPU and GPU tensors in one operation goes unpunished; a CPU tensor given to a kernel is pointed out.
- Several GPUs: each process sees as many as ``LOCAL_WORLD_SIZE`` says, all in its own memory; NCCL is not there.
- Scripted and traced functions, nested and sparse tensors and DLPack lose track of what is "on the GPU".
"""

from __future__ import annotations

import os
import sys
from typing import Any, Callable

from ...events import OFFLINE_ENV
from .driver import Device, Launch, OfflineDriver
from .notices import notices
from .patches import Patches
from .target import Target, parse_target

__all__ = ["Target", "activate", "attach_torch", "deactivate", "parse_target"]


class _State:
    """What is attached in this process."""

    def __init__(self) -> None:
        self.target: Target | None = None
        self.triton: Patches | None = None
        self.torch: Patches | None = None
        self.cuda: Any = None
        self.device = Device()


_state = _State()


def _no_notice(text: str) -> None:
    pass


def activate(target: str, execute: bool = True, notice: Callable[[str], None] = _no_notice) -> None:
    """Stand in for `target` from now on. Call it when ``import triton`` has finished; again is harmless.

    `execute`: run launches in Triton's interpreter; False only compiles. `notice` is called once with each
    sentence that a reader of the measurements must know. Raises ValueError for an unknown target.
    """
    wanted = parse_target(target)
    notices.listen(notice)
    if _state.triton is not None:
        return
    _state.target = _state.target or wanted
    _state.triton = _stand_in(_state.target, execute)
    attach_torch()


def _stand_in(target: Target, execute: bool) -> Patches:
    from triton.runtime import driver

    from .binaries import finish_without_tools
    from .execution import Executor
    from .tuning import choose_first

    patches = Patches()
    execution = Executor(patches) if execute else None

    def run(launch: Launch) -> None:
        if _state.cuda is not None:
            _state.cuda.check_places(launch)
        if execution is not None:
            execution(launch)

    stand_in = OfflineDriver(target, _state.device, run)
    for name in ("_active", "_default", "active", "default"):  # the first two from 3.6 on
        if name in vars(driver):
            patches.set(driver, name, stand_in)
    _state.device.watch_loads(patches)
    choose_first(patches)
    finish_without_tools(target, patches)
    return patches


def attach_torch() -> None:
    """Teach torch, if it is imported, to answer as a GPU. Call it when ``import torch`` has finished.

    Before ``activate`` the target is the one in ``JITWATCH_OFFLINE``; without either nothing happens. Calling
    it again is harmless.
    """
    if _state.torch is not None or "torch" not in sys.modules:
        return
    if _state.target is None:
        named = os.environ.get(OFFLINE_ENV)
        if not named:
            return
        _state.target = parse_target(named)
    from .cuda import OfflineCuda

    _state.torch = Patches()
    _state.cuda = OfflineCuda(_state.target, _state.device, _state.torch)


def deactivate() -> None:
    """Put back what was replaced. Tensors keep their values, and compiled kernels stay cached."""
    if _state.cuda is not None:
        _state.cuda.detach()
    _state.device.unload_all()
    for patches in (_state.torch, _state.triton):
        if patches is not None:
            patches.restore()
    notices.forget()
    notices.listen(None)
    _state.__init__()  # type: ignore[misc]
