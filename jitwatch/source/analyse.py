"""Analyses one file."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jitwatch.source.host import Host
from jitwatch.source.kernels import KernelFinder
from jitwatch.source.launches import find_launches
from jitwatch.source.model import Module
from jitwatch.source.text import SourceText


def analyse_module(
    path: str, source: bytes, *, jit: tuple[str, ...] = (), autotune: tuple[str, ...] = ()
) -> Module:
    """Return what one file says; picklable, and a function of its arguments alone.

    ``jit`` and ``autotune`` are further decorators, by dotted name, that jit and tune a kernel. Raises
    SyntaxError, ValueError (NUL bytes), RecursionError or MemoryError for what Python cannot parse.
    """
    text = SourceText(source)
    imports = dict(find_imports(text.tree))
    finder = KernelFinder(path, text, imports, jit, autotune)
    finder.visit(text.tree.body)
    launches = tuple(find_launches(path, text, Host(text)))
    return Module(
        path=path,
        kernels=tuple(finder.kernels),
        launches=launches,
        imports=tuple(imports.items()),
        aliases=tuple(finder.aliases),
        calls=tuple(sorted(finder.calls)),
    )


def find_imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield local names and dotted origins; relative imports keep their leading dots."""
    pending: list[ast.stmt] = list(reversed(tree.body))
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            for each in node.names:
                yield (each.asname, each.name) if each.asname else (each.name.partition(".")[0],) * 2
        elif isinstance(node, ast.ImportFrom):
            origin = "." * node.level + (node.module or "")
            for each in node.names:
                yield each.asname or each.name, f"{origin}.{each.name}"
        else:
            for inner in ("body", "orelse", "finalbody"):
                pending.extend(each for each in getattr(node, inner, ()) if isinstance(each, ast.stmt))
            for block in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                pending.extend(block.body)
