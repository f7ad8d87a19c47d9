"""Finds the launches of a module and says what each passes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from jitwatch.source.dictionaries import spelled_out
from jitwatch.source.facts import Fact
from jitwatch.source.host import Host
from jitwatch.source.model import Launch, LaunchValue
from jitwatch.source.scopes import Function, Scope
from jitwatch.source.text import SourceText, dotted

_LAUNCH = re.compile(rb"\]\s*\(|\.(run|warmup)\s*\(|\]\s*,")
"""Bytes that every launch has: ``k[grid](``, ``k.run(``, ``partial(k[grid], ``."""

_METHODS = ("run", "warmup")


def find_launches(path: str, text: SourceText, host: Host) -> Iterator[Launch]:
    """Yield every call that may be a launch; linking drops those whose target is no kernel."""
    finder = LaunchFinder(path, text, host)
    yield from finder.block(text.tree.body, host.module)


@dataclass
class LaunchFinder:
    """Walks statements with the scope they run in."""

    path: str
    text: SourceText
    host: Host

    def block(self, body: list[ast.stmt], scope: Scope) -> Iterator[Launch]:
        """Yield the launches of some statements, nested functions and classes included."""
        for node in body:
            if not self._may_launch(node):
                continue
            if isinstance(node, Function):
                yield from self.block(node.body, self.host.scope(node, scope))
            elif isinstance(node, ast.ClassDef):
                yield from self.block(node.body, self._class_scope(node, scope))
            else:
                yield from self._statement(node, scope)

    def _may_launch(self, node: ast.stmt) -> bool:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self.text.offset(node.lineno, node.col_offset)
        end = self.text.offset(node.end_lineno, node.end_col_offset)
        return _LAUNCH.search(self.text.data, start, end) is not None

    def _class_scope(self, node: ast.ClassDef, scope: Scope) -> Scope:
        return Scope(None, scope, f"{scope.name}.{node.name}".lstrip("."))

    def _statement(self, node: ast.stmt, scope: Scope) -> Iterator[Launch]:
        nested: list[list[ast.stmt]] = [
            block for name in ("body", "orelse", "finalbody") if (block := getattr(node, name, None))
        ]
        nested += [handler.body for handler in getattr(node, "handlers", ())]
        nested += [case.body for case in getattr(node, "cases", ())]
        for block in nested:
            yield from self.block(block, scope)
        for expression in ast.iter_child_nodes(node):
            if isinstance(expression, ast.expr | ast.withitem):
                for each in ast.walk(expression):
                    if isinstance(each, ast.Call):
                        yield from self._call(each, scope)

    def _call(self, node: ast.Call, scope: Scope) -> Iterator[Launch]:
        target, how, arguments = launched(node)
        if target is None:
            return
        positional: list[LaunchValue] = []
        starred = any(each.arg is None for each in node.keywords)
        for each in arguments:
            if isinstance(each, ast.Starred):
                starred = True
                break
            positional.append(self._value(each, scope))
        keywords = [
            (name, self._value(value, scope))
            for name, value in _keywords(node, scope)
            if not (how in _METHODS and name in ("grid", "warmup"))
        ]
        for name in dict.fromkeys(self._kernel_names(target, scope)):
            yield Launch(
                target=name,
                path=self.path,
                span=self.text.span(node),
                how=how,
                function=scope.name,
                positional=tuple(positional),
                keywords=tuple(keywords),
                starred=starred,
            )

    def _kernel_names(self, target: ast.expr, scope: Scope, depth: int = 3) -> Iterator[str]:
        """Names of the kernels that a launched expression can be."""
        if isinstance(target, ast.IfExp):
            yield from self._kernel_names(target.body, scope, depth)
            yield from self._kernel_names(target.orelse, scope, depth)
        elif isinstance(target, ast.Call) and target.args:  # wrap_triton(kernel)[grid](...)
            yield from self._kernel_names(target.args[0], scope, depth)
        elif name := dotted(target):
            bindings = scope.bindings.get(name, ()) if depth else ()
            for binding in bindings:
                if binding.element is None and not binding.loop:
                    yield from self._kernel_names(binding.value, scope, depth - 1)
            if not bindings:
                yield name

    def _value(self, node: ast.expr, scope: Scope) -> LaunchValue:
        fact = self.host.value(node, scope)
        return launch_value(fact, self.text.segment(node), self.text, node)


def _keywords(node: ast.Call, scope: Scope) -> Iterator[tuple[str, ast.expr]]:
    """Yield the keywords of a call, with those of the dictionaries that it spreads."""
    for each in node.keywords:
        if each.arg:
            yield each.arg, each.value
        else:
            yield from spelled_out(each.value, scope).items()


def launch_value(fact: Fact, written: str, text: SourceText, node: ast.expr) -> LaunchValue:
    """Keep of a fact what the rules need."""
    offset = bool(fact.tensor and fact.tensor.offset)
    return LaunchValue(
        fact.origin, fact.cardinality, written, text.span(node), fact.hops[::-1], offset, fact.soft
    )


def launched(node: ast.Call) -> tuple[ast.expr | None, str, list[ast.expr]]:
    """Take a call apart when it has the form of a launch: target, how, positional arguments."""
    func = node.func
    if isinstance(func, ast.Subscript) and not isinstance(func.slice, ast.Slice):
        return func.value, "launch", node.args
    has_grid = any(each.arg == "grid" for each in node.keywords)
    if has_grid and isinstance(func, ast.Attribute) and func.attr in _METHODS and dotted(func.value):
        return func.value, func.attr, node.args
    if dotted(func).rpartition(".")[2] == "partial" and node.args and isinstance(node.args[0], ast.Subscript):
        return node.args[0].value, "launch", node.args[1:]
    return None, "", []
