"""What the source says: kernels, launches, the role of each parameter."""

from __future__ import annotations

from jitwatch.source.analyse import analyse_module
from jitwatch.source.link import link

__all__ = ["analyse_module", "link"]
