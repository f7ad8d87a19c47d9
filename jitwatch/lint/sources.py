"""Read files, and tell by their bytes which are worth parsing.

Of the 3,231 Python files in a vLLM wheel 346 hold or launch a kernel. Searching the bytes of all of them takes
0.1 s; parsing them would take ten.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from jitwatch.lint.config import Configuration
from jitwatch.lint.discovery import Problem, explain

_SUBSCRIPTED = re.compile(rb"(\w+)\[")

_GRID_LENGTH = 300
"""Bytes looked back from ``](`` for the name before the grid."""


@dataclass
class Sources:
    """What was read."""

    screened: dict[str, bytes] = field(default_factory=dict)
    """Files that hold a kernel or a launch by the look of their bytes, and those named on the command line."""
    others: dict[str, bytes] = field(default_factory=dict)
    """Files without a word of Triton that call something subscripted: a kernel of another file, maybe."""
    problems: list[Problem] = field(default_factory=list)
    read: set[str] = field(default_factory=set)

    def add(self, path: str, source: bytes, *, named: bool, decorators: Iterable[Iterable[str]]) -> None:
        """Put a file where it belongs, in the place of an earlier one of that name."""
        self.read.add(path)
        self.others.pop(path, None)
        if named or mentions_kernels(source, decorators):
            self.screened[path] = source
        elif b"](" in source:
            self.others[path] = source


def read_sources(files: Mapping[str, bool], configuration: Configuration) -> Sources:
    """Read files (path -> named on the command line)."""
    sources = Sources()
    for path, named in files.items():
        data = read_file(path)
        if isinstance(data, Problem):
            sources.problems.append(data)
        else:
            sources.add(path, data, named=named, decorators=configuration.decorators(path))
    return sources


def read_file(path: str) -> bytes | Problem:
    """Read a regular file."""
    try:
        with open(path, "rb", buffering=0, opener=_open_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                message = "not a regular file; pipe it in: `... | jitwatch lint -`"
                return Problem(path, None, None, message)
            return file.readall()
    except (OSError, ValueError) as error:
        return Problem(path, None, None, explain(error))


def _open_without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe without a writer would hold a plain ``open`` for ever."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def mentions_kernels(source: bytes, decorators: Iterable[Iterable[str]] = ()) -> bool:
    """Whether the bytes can belong to a file with kernels or launches.

    ``decorators`` are names of the project's own, which hide Triton's.
    """
    if b"triton" in source and (b"jit" in source or b"](" in source):
        return True
    return any(name.rpartition(".")[2].encode() in source for names in decorators for name in names)


def launched_names(source: bytes) -> frozenset[bytes]:
    """Names that may be launched in a file: those subscripted shortly before a ``](``."""
    names: set[bytes] = set()
    position = source.find(b"](")
    while position >= 0:
        names.update(_SUBSCRIPTED.findall(source, max(0, position - _GRID_LENGTH), position))
        position = source.find(b"](", position + 2)
    return frozenset(names)
