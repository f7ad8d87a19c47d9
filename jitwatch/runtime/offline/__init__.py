"""Runs an unmodified GPU program on a machine without a GPU, with its true recompile profile."""

from __future__ import annotations

import os
from typing import Any, Callable

from ...events import OFFLINE_ENV
from .notices import notices
from .patches import Patches
from .target import Target, parse_target

__all__ = ["Target", "activate", "attach_torch", "deactivate", "parse_target"]

_patches = Patches()
_active: Target | None = None


def _no_notice(text: str) -> None:
    pass


def activate(target: str, execute: bool = True, notice: Callable[[str], None] = _no_notice) -> None:
    """Stand in for `target` from now on. Call it when ``import triton`` has finished; again is harmless.

    `execute`: run launches in Triton's interpreter; False only compiles. `notice` is called once with each
    sentence that a reader of the measurements must know. Raises ValueError for an unknown target.
    """
    global _active
    wanted = parse_target(target)
    notices.listen(notice)
    if _active is not None:
        return
    from triton.runtime import driver

    from .driver import OfflineDriver
    from .execution import Executor
    from .tuning import choose_first

    run: Any = Executor(_patches) if execute else (lambda *_: None)
    stand_in = OfflineDriver(wanted, run)
    _patches.set(driver, "_active" if hasattr(driver, "_active") else "active", stand_in)
    choose_first(_patches)
    _active = wanted


def attach_torch() -> None:
    """Teach torch to answer as a GPU. Call it when ``import torch`` has finished; again is harmless."""


def deactivate() -> None:
    """Put back what was replaced. Tensors keep their values; compiled kernels stay cached."""
    global _active
    _patches.restore()
    notices.forget()
    notices.listen(None)
    _active = None
