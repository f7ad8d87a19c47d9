"""Names that a kernel calls without their being jitted functions of its own."""

from __future__ import annotations

from collections.abc import Mapping

_MODULES = frozenset(
    {"tl", "triton", "gl", "ttgl", "tle", "libdevice", "tldevice", "math", "tl_math", "language"}
)
_PYTHON = frozenset(
    """range min max len abs int float bool print tuple list isinstance getattr hasattr sum static_range str
    super type zip enumerate""".split()  # noqa: SIM905
)


def is_builtin(name: str, imports: Mapping[str, str]) -> bool:
    """Whether a call's dotted name belongs to Triton's language or to Python."""
    root, _, rest = name.partition(".")
    if not rest:
        origin = imports.get(name, "")
        return name in _PYTHON or origin.startswith(("triton.", "math.")) or ".language." in origin
    return root in _MODULES or imports.get(root, "").startswith(("triton", "math"))
