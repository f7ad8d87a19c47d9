"""JITFunction objects seen so far: a number for each, and one line about each before it is first named."""

from __future__ import annotations

import linecache
import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


class KernelBook:
    """Numbers JITFunction objects by identity; the first time one is asked for, its ``kernel`` line goes to `sink`."""

    def __init__(self, sink: Callable[[dict[str, Any]], None]) -> None:
        self.sink = sink
        self._numbers: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._next = 1

    def number(self, function: Any) -> int:
        """Number of a JITFunction. Identity and not equality: a re-decorated function is the finding, not a repeat."""
        known = self._numbers.get(id(function))
        if known is not None and known[0]() is function:
            return known[1]
        number, self._next = self._next, self._next + 1
        self._numbers[id(function)] = (weakref.ref(function), number)
        self.sink({"event": "kernel", "id": number, **_about(function)})
        return number

    def functions(self) -> Iterator[tuple[int, Any]]:
        """Number and JITFunction of those that still exist."""
        for reference, number in list(self._numbers.values()):
            function = reference()
            if function is not None:
                yield number, function

    def forget(self) -> None:
        """In a forked child: its new file must be told every kernel again."""
        self._numbers.clear()


def jit_function(kernel: Any) -> Any:
    """The JITFunction inside Autotuner and Heuristics wrappers."""
    while not hasattr(kernel, "params") and hasattr(kernel, "fn"):
        kernel = kernel.fn
    return kernel


def _about(function: Any) -> dict[str, Any]:
    code = function.fn.__code__
    return {
        "name": function.fn.__qualname__,
        "module": function.fn.__module__,
        "path": code.co_filename,
        "line": _line_of_def(code.co_filename, code.co_firstlineno),
        "params": [
            {
                "name": param.name,
                "constexpr": bool(param.is_constexpr),
                "no_specialize": bool(param.do_not_specialize),
                "no_alignment": bool(getattr(param, "do_not_specialize_on_alignment", False)),
                "annotation": getattr(param, "annotation_type", None) or None,
            }
            for param in function.params
        ],
    }


def _line_of_def(path: str, first: int) -> int:
    """Line of the ``def``: a code object starts at its first decorator. Triton has just read the same file."""
    lines = linecache.getlines(path)
    for number in range(first, min(first + 60, len(lines)) + 1):
        if lines[number - 1].lstrip().startswith(("def ", "async def ")):
            return number
    return first
