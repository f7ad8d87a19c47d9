"""Faults of Triton's interpreter, mended in place. Each says which releases have it."""

from __future__ import annotations

from typing import Any

from .language import InterpretedLanguage


def repair_builder(interpreter: Any, assertion: type[Exception]) -> None:
    """Mend the builder, the object whose methods are the interpreter's instructions."""


def repair_libdevice(language: InterpretedLanguage) -> None:
    """Give ``libdevice`` functions numpy bodies."""
