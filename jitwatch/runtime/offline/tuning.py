"""Autotuners and benchmarks, where nothing can be measured."""

from __future__ import annotations

from .patches import Patches


def choose_first(patches: Patches) -> None:
    """Make autotuners take their first configuration."""
