"""The kernel's parameter at a place of a file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jitwatch.lint.lines import Lines
from jitwatch.source.model import BoundLaunch, Kernel, Key, Parameter, Project

WORD = re.compile(r"\w+")


def parameter_at(
    project: Project, path: str, lines: Lines, line: int, column: int
) -> tuple[Kernel, Parameter] | None:
    """Find the parameter that is declared, used or listed at a place (from 1), or fed by a launch there."""
    offset = lines.offset(line, column - 1)
    text = lines.text(line)
    name = next(
        (m[0] for m in WORD.finditer(text) if m.start() < column <= m.end() and not _dotted(text, m)), ""
    )
    for kernel in _kernels_around(project, path, offset):
        if parameter := kernel.parameter(name):
            return kernel, parameter
    return next(_fed(project, path, offset), None)


def _dotted(text: str, word: re.Match[str]) -> bool:
    """Whether it is the name of an attribute: ``tl.x`` is no ``x``."""
    return text[: word.start()].endswith(".")


def _kernels_around(project: Project, path: str, offset: int) -> list[Kernel]:
    """Kernels whose definition holds a place, innermost first."""
    around = [
        kernel
        for kernel in project.kernels.get(path, ())
        if kernel.definition.start <= offset < kernel.definition.end
    ]
    return sorted(around, key=lambda kernel: -kernel.definition.start)


def _fed(project: Project, path: str, offset: int) -> Iterator[tuple[Kernel, Parameter]]:
    for key, launches in project.launches.items():
        for name in (each for launch in launches for each in _arguments_at(launch, path, offset)):
            kernel = _kernel(project, key)
            if kernel and (parameter := kernel.parameter(name)):
                yield kernel, parameter


def _arguments_at(bound: BoundLaunch, path: str, offset: int) -> Iterator[str]:
    if bound.launch.path == path:
        for name, value in bound.arguments.items():
            if value.span.start <= offset < value.span.end:
                yield name


def _kernel(project: Project, key: Key) -> Kernel | None:
    return next((kernel for kernel in project.kernels.get(key[0], ()) if kernel.key == key), None)
