"""Whether kernels can be compiled here at all, found out without initialising a GPU (a later fork would fail)."""

from __future__ import annotations

import importlib
from typing import Any


def missing() -> str | None:
    """What is missing, with the way out; None when a launch would work."""
    try:
        driver = importlib.import_module("triton.runtime.driver")
    except ImportError as error:
        return f"Triton cannot be imported ({error}): install it to watch its kernels"
    if _chosen(driver.driver) or any(_is_active(backend) for backend in _backends()):
        return None
    return "no GPU that Triton can use: run with --jitwatch-offline, which needs none"


def _chosen(driver: Any) -> bool:
    """Whether a driver is in place: a program's own, or the offline one. ``active`` may be a proxy not asked yet."""
    active = vars(driver).get("_active", vars(driver).get("active"))
    return active is not None and getattr(active, "_obj", active) is not None


def _backends() -> list[Any]:
    return list(importlib.import_module("triton.backends").backends.values())


def _is_active(backend: Any) -> bool:
    try:
        return bool(backend.driver.is_active())
    except ImportError:  # it asks torch, which is not installed
        return False
