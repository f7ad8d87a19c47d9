"""Cuts the kernels of a package's file out of it, with what they use, so that they compile without the package.

The packages themselves (vLLM, SGLang, fla, ...) cannot be imported without their dependencies and a device. What a
kernel uses is little of them: jitted functions and constants, of its own file and of the files that it imports them
from, which are cut out the same way.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

HEADER = (
    "import math\nimport triton\nimport triton.language as tl\nfrom triton.language.extra import libdevice\n"
)

OUTSIDE = frozenset(sys.stdlib_module_names) | {"triton", "torch", "packaging"}
"""Packages that are there."""

ANNOTATIONS = ("tl", "triton", "int", "float", "bool")
"""What the annotation of a kernel's parameter may be made of; anything else is another package's."""

BLANK = "0"
"""Stands in for a default that cannot be computed; the guess of a signature does not take it either."""


def cut_out(path: Path, folder: Path) -> Path | None:
    """Write what a file's kernels need to compile alone into a file of `folder`; None where it has none."""
    tree = ast.parse(path.read_text(encoding="utf-8", errors="replace"))
    wanted = {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef) and is_jitted(each)}
    return _Cut(path, tree, folder).write(wanted) if wanted else None


def is_jitted(function: ast.FunctionDef) -> bool:
    """Whether a function has ``@triton.jit``."""
    return any(_is_jit(each) for each in function.decorator_list)


def _is_jit(node: ast.expr) -> bool:
    return ast.unparse(node.func if isinstance(node, ast.Call) else node) in ("triton.jit", "jit")


class _Cut:
    """One file, being cut."""

    def __init__(self, path: Path, tree: ast.Module, folder: Path) -> None:
        self.path, self.tree, self.folder = path, tree, folder
        self.bound: dict[str, list[ast.stmt]] = {}
        for node in tree.body:
            for name in _names_bound(node):
                self.bound.setdefault(name, []).append(node)

    def write(self, wanted: Iterable[str]) -> Path:
        """Write the statements that bind the wanted names, and those that these need."""
        names = sorted(wanted)
        file = self.folder / f"{self.path.stem}_{abs(hash((str(self.path), *names)))}.py"
        if not file.exists():
            file.write_text("")  # files that import each other end here
            file.write_text(HEADER + "".join(self._pieces(self._needed(names))), encoding="utf-8")
        return file

    def _needed(self, names: Iterable[str]) -> dict[ast.stmt, set[str]]:
        """The statements that bind the names and all that they use, each with the names that it is for."""
        kept: dict[ast.stmt, set[str]] = {}
        seen, todo = set(), list(names)
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            for node in self.bound.get(name, ()):
                kept.setdefault(node, set()).add(name)
                if not isinstance(node, ast.Import | ast.ImportFrom | ast.ClassDef):
                    todo += _names_used(node)
        return kept

    def _pieces(self, kept: dict[ast.stmt, set[str]]) -> Iterator[str]:
        for node in self.tree.body:
            if node in kept:
                piece = self._piece(node, kept[node])
                yield piece if isinstance(node, ast.FunctionDef) else _tried(piece)

    def _piece(self, node: ast.stmt, names: set[str]) -> str:
        if isinstance(node, ast.ImportFrom) and (node.level or _top(node.module) not in OUTSIDE):
            return "".join(self._imported(node, names))
        for each in ast.walk(node):
            if isinstance(each, ast.FunctionDef) and is_jitted(each):
                self._simplify(each)
        return ast.unparse(node) + "\n"

    def _imported(self, node: ast.ImportFrom, names: set[str]) -> Iterator[str]:
        """Statements that import the names from cut-out files instead."""
        for alias in node.names:
            target = alias.asname or alias.name
            if target not in names:
                continue
            module = self._find(node, alias.name)
            whole = self._find(node)
            if module is not None:
                file = cut_out(module, self.folder)
                if file is not None:
                    yield f"import {file.stem} as {target}\n"
            elif whole is not None:
                tree = ast.parse(whole.read_text(encoding="utf-8", errors="replace"))
                file = _Cut(whole, tree, self.folder).write([alias.name])
                yield f"from {file.stem} import {alias.name} as {target}\n"

    def _find(self, node: ast.ImportFrom, inner: str = "") -> Path | None:
        """File of the module that a statement imports from, or of the module `inner` in it."""
        parts = [*(node.module or "").split("."), inner]
        inside = Path(*filter(None, parts))
        starts = [self.path.parents[node.level - 1]] if node.level else list(self.path.parents)
        found = (start / inside for start in starts)
        candidates = (file for each in found for file in (each.with_suffix(".py"), each / "__init__.py"))
        return next((file for file in candidates if file.is_file()), None)

    def _simplify(self, function: ast.FunctionDef) -> None:
        """Leave the jit decorator alone, without what only a launch uses, and annotations that Triton reads."""
        function.decorator_list = [each for each in function.decorator_list if _is_jit(each)]
        for decorator in function.decorator_list:
            if isinstance(decorator, ast.Call):
                decorator.keywords = [
                    each
                    for each in decorator.keywords
                    if each.arg in ("debug", "noinline") or (each.arg and "do_not_specialize" in each.arg)
                    if not _names_used(each.value) - {"True", "False"}
                ]
        arguments = function.args
        for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            if each.annotation is not None and not _names_used(each.annotation) <= set(ANNOTATIONS):
                each.annotation = None
        arguments.defaults = [_default(each) for each in arguments.defaults]
        arguments.kw_defaults = [each and _default(each) for each in arguments.kw_defaults]
        function.returns = None


def _default(node: ast.expr) -> ast.expr:
    return node if _names_used(node) <= {"tl", "triton"} else ast.parse(BLANK, mode="eval").body


def _tried(piece: str) -> str:
    """A statement that may need what is not there."""
    if not piece.strip():
        return ""
    body = "".join(f"    {line}\n" for line in piece.splitlines())
    return f"try:\n{body}except Exception: pass\n"


def _top(module: str | None) -> str:
    return (module or "").partition(".")[0]


def _names_bound(node: ast.stmt) -> Iterator[str]:
    """Names that a statement at module level binds, inside its blocks too."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from (each.asname or _top(each.name) for each in node.names)
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from (each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name))
    elif isinstance(node, ast.If | ast.Try | ast.With):
        inner = (
            each for each in ast.iter_child_nodes(node) if isinstance(each, ast.stmt | ast.ExceptHandler)
        )
        for each in inner:
            blocks = each.body if isinstance(each, ast.ExceptHandler) else [each]
            yield from (name for block in blocks for name in _names_bound(block))


def _names_used(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
