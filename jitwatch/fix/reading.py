"""A file parsed once more, for what the model of it leaves out: every use of every name."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping
from dataclasses import dataclass

from jitwatch.source.text import SourceText


@dataclass(frozen=True)
class Reading:
    """One file, by what is looked for in it."""

    text: SourceText
    names: Mapping[str, list[ast.expr]]
    """Name to the expressions that it is, or that are an attribute of that name."""
    functions: Mapping[tuple[str, int], ast.FunctionDef]
    """By name and line."""
    lookups: Mapping[str, int]
    """Constant of a subscript (``meta["n"]``) to a line that has it."""


@functools.lru_cache(maxsize=512)
def read(source: bytes) -> Reading:
    """Read a file that was parsed before. Kept: the findings of a file come one after another."""
    text = SourceText(source)
    names: dict[str, list[ast.expr]] = {}
    functions: dict[tuple[str, int], ast.FunctionDef] = {}
    lookups: dict[str, int] = {}
    for node in ast.walk(text.tree):
        if isinstance(node, ast.Name):
            names.setdefault(node.id, []).append(node)
        elif isinstance(node, ast.Attribute):
            names.setdefault(node.attr, []).append(node)
        elif isinstance(node, ast.FunctionDef):
            functions[node.name, node.lineno] = node
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            lookups[str(node.slice.value)] = node.lineno
    return Reading(text, names, functions, lookups)
