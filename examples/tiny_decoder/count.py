"""Counts cache misses with a bare Triton hook: a second opinion that shares no code with any profiler."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import triton


@contextmanager
def counted_misses(report: Path | None) -> Iterator[None]:
    """Write ``{kernel: misses}`` to ``report`` when the block ends; None counts nothing.

    The hook that was there before is still called, and its answer returned: a true one cancels the launch.
    """
    if report is None:
        yield
        return
    misses: Counter[str] = Counter()
    # Triton 3.4 moved the slot from the class to the knobs.
    knobs = getattr(triton, "knobs", None)
    owner, slot = (knobs.runtime, "jit_cache_hook") if knobs else (triton.JITFunction, "cache_hook")
    previous = getattr(owner, slot)

    def count(**miss: Any) -> Any:
        misses[miss["fn"].name] += 1
        return previous(**miss) if previous else None

    setattr(owner, slot, count)
    try:
        yield
    finally:
        report.write_text(json.dumps(misses, indent=2, sort_keys=True) + "\n", encoding="utf-8")
