"""Finds the kernels of a module: decorated functions, and functions jitted by a call."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from jitwatch.source.body import BodyAnalysis
from jitwatch.source.decorators import JIT_KINDS, kind_of, read_decorator
from jitwatch.source.model import Contiguity, Decorator, Kernel, Memo, Parameter, Role
from jitwatch.source.text import SourceText, dotted

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class KernelFinder:
    """Walks the statements of a module; ``kernels``, ``aliases`` and ``calls`` are what it found."""

    path: str
    text: SourceText
    imports: Mapping[str, str]
    jit_names: tuple[str, ...] = ()
    autotune_names: tuple[str, ...] = ()
    kernels: list[Kernel] = field(default_factory=list)
    aliases: list[tuple[str, str]] = field(default_factory=list)
    calls: set[tuple[str, str]] = field(default_factory=set)
    _functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    _plain: dict[str, tuple[Function, tuple[str, ...], Function | None]] = field(default_factory=dict)

    def visit(
        self, body: list[ast.stmt], owners: tuple[str, ...] = (), outer: Function | None = None
    ) -> None:
        """Look for kernels in statements, nested ones included."""
        if not owners:
            self._functions |= {each.name: each for each in body if isinstance(each, ast.FunctionDef)}
        for node in body:
            if isinstance(node, Function):
                self._function(node, owners, outer)
            elif isinstance(node, ast.ClassDef):
                self.visit(node.body, (*owners, node.name), outer)
            elif isinstance(node, ast.Assign):
                self._wrapped(node, owners, outer)
            else:
                for inner in ("body", "orelse", "finalbody"):
                    self.visit(getattr(node, inner, None) or [], owners, outer)
                for block in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                    self.visit(block.body, owners, outer)

    def _function(self, node: Function, owners: tuple[str, ...], outer: Function | None) -> None:
        decorators = tuple(self._read(each) for each in node.decorator_list)
        if any(each.kind in JIT_KINDS for each in decorators):
            self._add(node, decorators, owners, outer)
        else:
            self._plain[node.name] = (node, owners, outer)
            self.visit(node.body, (*owners, node.name, "<locals>"), node)

    def _wrapped(self, node: ast.Assign, owners: tuple[str, ...], outer: Function | None) -> None:
        """Read ``run = triton.heuristics({...})(triton.jit(kernel))`` and its parts."""
        decorators: list[Decorator] = []
        value: ast.expr = node.value
        while isinstance(value, ast.Call):
            wrapper = value.func
            if (
                not value.args
                or self._kind(dotted(wrapper.func if isinstance(wrapper, ast.Call) else wrapper)) is None
            ):
                return
            # triton.jit(kernel, do_not_specialize=[...]): the list is the wrapping call's own.
            own = value.keywords and not isinstance(wrapper, ast.Call)
            decorators.append(self._read(value if own else wrapper))
            value = value.args[0]
        name = dotted(value)
        if not decorators or not name or "." in name:
            return
        existing = next((index for index, each in enumerate(self.kernels) if each.name == name), None)
        if existing is not None:
            found = self.kernels[existing]
            self.kernels[existing] = replace(found, decorators=(*decorators, *found.decorators), by_call=True)
        elif name in self._plain and any(each.kind in JIT_KINDS for each in decorators):
            function, owners, outer = self._plain.pop(name)
            self._add(function, tuple(decorators), owners, outer, by_call=True)
        else:
            return
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id != name:
                self.aliases.append((target.id, name))

    def _kind(self, name: str) -> str | None:
        """Name of the kind when a call by this name wraps a kernel."""
        kind = kind_of(name, self.imports, self.jit_names, self.autotune_names)
        return None if kind.value == "other" else kind.value

    def _read(self, node: ast.expr) -> Decorator:
        return read_decorator(node, self.text, self.imports, self.jit_names, self.autotune_names)

    def _add(
        self,
        node: Function,
        decorators: tuple[Decorator, ...],
        owners: tuple[str, ...],
        outer: Function | None,
        *,
        by_call: bool = False,
    ) -> None:
        parameters = tuple(read_parameters(node.args, self.text))
        constexprs = {each.name: each.is_constexpr for each in parameters}
        run = BodyAnalysis(constexprs, self.imports, self._functions)
        run.run(node.body)
        parameters = tuple(
            replace(
                each,
                roles=run.roles.get(each.name, Role.NONE),
                contiguity=run.contiguity.get(each.name, Contiguity.NONE),
                passes=tuple(dict.fromkeys(run.passes.get(each.name, ()))),
            )
            for each in parameters
        )
        qualname = ".".join((*owners, node.name))
        definition = self.text.span(node)
        if node.decorator_list:
            definition = self.text.join(self.text.span(node.decorator_list[0]), definition)
        self.kernels.append(
            Kernel(
                name=node.name,
                qualname=qualname,
                path=self.path,
                span=self.text.name_span(node),
                definition=definition,
                parameters=parameters,
                decorators=decorators,
                memo=how_often_created(outer) if outer else Memo.NOT_NESTED,
                enclosing=outer.name if outer else None,
                by_call=by_call,
                is_entry=run.touches_memory,
                streams=tuple(sorted(run.streams)),
            )
        )
        self.calls |= {(qualname, called) for called in run.called if called}


def read_parameters(arguments: ast.arguments, text: SourceText) -> Iterator[Parameter]:
    """Yield the parameters of a kernel's signature."""
    positional = [*arguments.posonlyargs, *arguments.args]
    padding: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    defaults = [*padding, *arguments.defaults, *arguments.kw_defaults]
    for index, (each, default) in enumerate(zip([*positional, *arguments.kwonlyargs], defaults, strict=True)):
        declaration = text.span(each)
        if default is not None:
            declaration = text.join(declaration, text.span(default))
        annotation = text.segment(each.annotation) if each.annotation else None
        yield Parameter(
            name=each.arg,
            index=index,
            span=text.name_span(each),
            declaration=declaration,
            annotation=annotation,
            annotation_span=text.span(each.annotation) if each.annotation else None,
            is_constexpr=bool(annotation and "constexpr" in annotation),
            default=text.segment(default) if default is not None else None,
        )


def how_often_created(outer: Function) -> Memo:
    """Say whether the function around a kernel keeps what it builds.

    A caching decorator, a module global or an outer variable that it fills, an attribute or an element that it
    stores into, and ``__init__`` all do.
    """
    decorators = [
        dotted(each.func if isinstance(each, ast.Call) else each).lower() for each in outer.decorator_list
    ]
    if outer.name == "__init__" or any("cache" in each or "memo" in each for each in decorators):
        return Memo.MEMOISED
    for node in ast.walk(outer):
        if isinstance(node, ast.Global | ast.Nonlocal):
            return Memo.MEMOISED
        if isinstance(node, ast.Assign) and any(
            isinstance(each, ast.Subscript | ast.Attribute) for each in node.targets
        ):
            return Memo.MEMOISED
    return Memo.PER_CALL
