"""Who launched: Triton's own frames below a hook, and the user's frames above them."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Iterator

HIDDEN = frozenset(
    ["triton", "torch", "_jitwatch", "importlib", "concurrent", "threading", "contextlib", "functools"]
)
"""Top packages whose frames never are the launch site."""

STACK_DEPTH = 8


class Launch:
    """What the stack at a cache miss tells. Reads each frame once and holds none of them.

    ``via`` as in ``jitwatch.events.Miss``; ``arguments`` the bound arguments by name (empty when Triton's ``run``
    was not found); ``specialization`` the list of (type, spec), None before 3.3; ``passed`` the keywords of the
    launch as they were spelled; ``options`` Triton's parsed options object; ``grid`` the grid as it was spelled, a
    function or integers; ``stack`` ``[path, line, function]`` outward.
    """

    def __init__(self, frame: FrameType) -> None:
        self.via = "launch"
        self.arguments: dict[str, Any] = {}
        self.specialization: Any = None
        self.passed: dict[str, Any] = {}
        self.options: Any = None
        self.grid: Any = None
        self.stack: list[list[Any]] = []
        for each in _outward(frame):
            code, top = each.f_code, _top_package(each)
            if _is_triton(each):
                self._read_triton(code.co_name, each)
            elif top in HIDDEN or each.f_globals.get("__name__", "").startswith("jitwatch.runtime"):
                continue
            elif len(self.stack) < STACK_DEPTH:
                self.stack.append(
                    [code.co_filename, each.f_lineno, getattr(code, "co_qualname", code.co_name)]
                )

    def _read_triton(self, name: str, frame: FrameType) -> None:
        if name == "_call_hook":
            # What ran between Triton and this hook was another tool's hook that chains to it, not the launch.
            self.stack.clear()
            self.options = self.options or frame.f_locals.get("options")
        elif name == "run" and not self.arguments and "bound_args" in frame.f_locals:
            local = frame.f_locals
            self.arguments = dict(local["bound_args"])
            self.specialization = local.get("specialization")
            self.grid = local.get("grid")
            self.passed = {k: v for k, v in local.get("kwargs", {}).items() if k not in self.arguments}
        elif name == "preload":
            self.via = "preload"
        elif name == "_bench":
            self.via = "tune"


def launched_grid(frame: FrameType) -> Any:
    """The grid of the launch that a frame is part of: integers, once Triton has called what it was spelled as."""
    for each in _outward(frame):
        if each.f_code.co_name == "run" and _is_triton(each) and "bound_args" in each.f_locals:
            return each.f_locals.get("grid")
    return None


def _is_triton(frame: FrameType) -> bool:
    top = _top_package(frame)
    return top == "triton" or top.startswith("triton_")


def _outward(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _top_package(frame: FrameType) -> str:
    name: str = frame.f_globals.get("__name__") or ""
    return name.partition(".")[0]


def caller(depth: int) -> FrameType:
    """Frame `depth` calls out from the caller."""
    return sys._getframe(depth + 1)
