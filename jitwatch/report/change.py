"""The lines of a kernel's source that a plan changes, as a reader of diffs expects them."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from jitwatch.analysis.plan import Edit, declarations, decorator
from jitwatch.rundir import Kernel
from jitwatch.specialization import Remedy


class _Splice(NamedTuple):
    """Replace the bytes ``start:end`` of a line."""

    line: int
    start: int
    end: int
    text: str


def change_lines(kernel: Kernel, edits: Sequence[Edit]) -> list[str]:
    """``- old`` and ``+ new`` of each line that `edits` change.

    Without the source (generated code, a file changed since) only what to write: the decorator and declarations.
    """
    source = _read(kernel.path)
    function = _find(source, kernel)
    jit = next(filter(_is_jit, function.decorator_list), None) if function else None
    if function is None or jit is None:
        written = [decorator(kernel.parameters, edits), *declarations(edits)]
        return [f"+ {line}" for line in written]
    return _differences(source, [*_in_decorator(jit, edits), *_in_signature(function, edits)])


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def _find(source: bytes, kernel: Kernel) -> ast.FunctionDef | None:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    name = kernel.name.rpartition(".")[2]
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return next((each for each in functions if each.name == name and each.lineno == kernel.line), None)


def _is_jit(node: ast.expr) -> bool:
    target = node.func if isinstance(node, ast.Call) else node
    return (isinstance(target, ast.Attribute) and target.attr == "jit") or (
        isinstance(target, ast.Name) and target.id == "jit"
    )


def _in_decorator(jit: ast.expr, edits: Sequence[Edit]) -> Iterator[_Splice]:
    """Names added to the lists that are there; lists that are not, added after what is passed."""
    wanted: dict[str, list[str]] = {}
    for edit in edits:
        remedy = Remedy.ALIGNMENT if edit.remedy is Remedy.ALIGNMENT else Remedy.SPECIALIZE
        wanted.setdefault(remedy.value, []).append(edit.parameter.name)
    keywords = {word.arg: word.value for word in jit.keywords} if isinstance(jit, ast.Call) else {}
    for name, value in keywords.items():
        if name in wanted and isinstance(value, (ast.List, ast.Tuple)):
            yield _added(value, wanted.pop(name))
    lists = ", ".join(f"{name}={json.dumps(names)}" for name, names in wanted.items())
    if not lists:
        return
    if not isinstance(jit, ast.Call):
        yield _after(jit, f"({lists})")
    elif passed := [*jit.args, *(word.value for word in jit.keywords)]:
        yield _after(passed[-1], f", {lists}")
    else:
        yield _after(jit, lists, back=1)


def _added(value: ast.List | ast.Tuple, names: Sequence[str]) -> _Splice:
    text = ", ".join(map(json.dumps, names))
    if value.elts:
        return _after(value.elts[-1], f", {text}")
    return _Splice(value.lineno, value.col_offset + 1, value.col_offset + 1, text)


def _after(node: ast.expr, text: str, back: int = 0) -> _Splice:
    line, column = node.end_lineno, node.end_col_offset
    assert line is not None
    assert column is not None
    return _Splice(line, column - back, column - back, text)


def _in_signature(function: ast.FunctionDef, edits: Sequence[Edit]) -> Iterator[_Splice]:
    """Types fixed, and ``tl.constexpr`` taken off what becomes a run-time argument."""
    parameters = {each.arg: each for each in [*function.args.args, *function.args.kwonlyargs]}
    for edit in edits:
        node = parameters.get(edit.parameter.name)
        if node is None or edit.remedy not in (Remedy.ANNOTATE, Remedy.RUNTIME):
            continue
        start = node.col_offset + len(node.arg.encode())
        declared = edit.declaration() or ""
        written = declared[len(node.arg) :] if edit.remedy is Remedy.ANNOTATE else ""
        yield _Splice(node.lineno, start, node.end_col_offset or start, written)


def _differences(source: bytes, splices: Sequence[_Splice]) -> list[str]:
    lines = source.split(b"\n")
    shown: list[str] = []
    for number in sorted({splice.line for splice in splices}):
        old = new = lines[number - 1].rstrip(b"\r")
        for _, start, end, text in sorted((each for each in splices if each.line == number), reverse=True):
            new = new[:start] + text.encode() + new[end:]
        shown += [f"- {old.decode(errors='replace')}", f"+ {new.decode(errors='replace')}"]
    return shown
