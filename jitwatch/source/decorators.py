"""Decorators: which function is a Triton kernel, and what its decorators put into or keep out of the key.

Triton's own ``jit``, ``gluon.jit`` and wrappers whose module names Triton count; ``cute.jit``,
``tilelang.jit``, ``helion.jit``, ``numba.jit`` and the like do not, whatever they are imported as.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from jitwatch.source.model import (
    Cardinality,
    Decorator,
    DecoratorKind,
    Entry,
    Keyword,
    Listing,
    Settled,
)
from jitwatch.source.text import SourceText, dotted

JIT_KINDS = (DecoratorKind.JIT, DecoratorKind.GLUON)
OPT_OUTS = ("do_not_specialize", "do_not_specialize_on_alignment")


def kind_of(
    name: str, imports: Mapping[str, str], jit: tuple[str, ...] = (), autotune: tuple[str, ...] = ()
) -> DecoratorKind:
    """Classify a decorator by its dotted name and the module's imports.

    ``jit`` and ``autotune`` are the project's own, by full name or by its end.
    """
    if any(f".{name}".endswith(f".{each}") or f".{each}".endswith(f".{name}") for each in jit):
        return DecoratorKind.JIT
    if any(f".{name}".endswith(f".{each}") or f".{each}".endswith(f".{name}") for each in autotune):
        return DecoratorKind.AUTOTUNE
    last = name.rpartition(".")[2]
    if last == "jit":
        return _jit_kind(name, imports)
    if last == "autotune" or last.endswith(("_autotune", "libtuner", "autotune_decorator")):
        return DecoratorKind.AUTOTUNE
    return DecoratorKind.HEURISTICS if last == "heuristics" else DecoratorKind.OTHER


def _jit_kind(name: str, imports: Mapping[str, str]) -> DecoratorKind:
    root = name.partition(".")[0]
    origin = imports.get(root, "" if root == "jit" else root).lower()
    origin += name.lower().removeprefix(root)
    if "gluon" in origin:
        return DecoratorKind.GLUON
    return DecoratorKind.JIT if "triton" in origin else DecoratorKind.OTHER


def read_decorator(
    node: ast.expr,
    text: SourceText,
    imports: Mapping[str, str],
    jit: tuple[str, ...] = (),
    autotune: tuple[str, ...] = (),
) -> Decorator:
    """Read one decorator, bare or called."""
    call = node if isinstance(node, ast.Call) else None
    name = dotted(call.func if call else node)
    kind = kind_of(name, imports, jit, autotune)
    if call is None:
        return Decorator(kind, name, text.span(node), is_call=False)
    keywords = tuple(
        Keyword(each.arg, text.span(each), text.span(each.value), text.segment(each.value))
        for each in call.keywords
        if each.arg
    )
    return Decorator(
        kind,
        name,
        text.span(node),
        is_call=True,
        keywords=keywords,
        listings=tuple(_listings(call, kind, text)),
        settles=tuple(_settled(call, kind, text)),
        configurations=_count_configurations(call) if kind is DecoratorKind.AUTOTUNE else None,
    )


def _listings(call: ast.Call, kind: DecoratorKind, text: SourceText) -> Iterator[Listing]:
    wanted = ("key",) if kind is DecoratorKind.AUTOTUNE else OPT_OUTS
    for keyword in call.keywords:
        if keyword.arg and keyword.arg in wanted:
            yield read_listing(keyword.arg, keyword.value, text)
    if kind is DecoratorKind.AUTOTUNE and len(call.args) > 1:
        yield read_listing("key", call.args[1], text)


def read_listing(keyword: str, value: ast.expr, text: SourceText) -> Listing:
    """Read a list of parameters, with every literal found inside an expression."""
    called = text.list_called(value.id) if isinstance(value, ast.Name) and keyword in OPT_OUTS else None
    if called:
        value = called[0]
    plain = isinstance(value, ast.List | ast.Tuple)
    elements = value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
    entries = tuple(entry for element in elements for entry in _entries(element, text))
    literal = plain and all(isinstance(element, ast.Constant) for element in elements)
    string = isinstance(value, ast.Constant) and isinstance(value.value, str)
    form = "string" if string else {ast.List: "list", ast.Tuple: "tuple"}.get(type(value), "expression")
    shared = called is not None and called[1] > 1
    return Listing(keyword, text.span(value), form, entries, (literal or string) and not shared, shared)


def _entries(element: ast.expr, text: SourceText) -> Iterator[Entry]:
    if isinstance(element, ast.Constant):
        name = element.value if isinstance(element.value, str) else None
        position = element.value if type(element.value) is int else None
        yield Entry(text.span(element), text.segment(element), name, position)
        return
    literals = [each for each in ast.walk(element) if isinstance(each, ast.Constant)]
    strings = [each for each in literals if isinstance(each.value, str)]
    for each in strings:
        yield Entry(text.span(each), text.segment(each), str(each.value))
    if not strings:
        yield Entry(text.span(element), text.segment(element))


def _settled(call: ast.Call, kind: DecoratorKind, text: SourceText) -> Iterator[Settled]:
    """Yield what heuristics compute and what the autotuner's configurations set."""
    if kind is DecoratorKind.HEURISTICS:
        values = (
            call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "values"), None)
        )
        if isinstance(values, ast.Dict):
            for key, value in zip(values.keys, values.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield _heuristic(key.value, value, text)
    elif kind is DecoratorKind.AUTOTUNE:
        for name in _configured(call):
            yield Settled(name, Cardinality.FEW, "", text.span(call), ())


def _heuristic(name: str, value: ast.expr, text: SourceText) -> Settled:
    body = value.body if isinstance(value, ast.Lambda) else value
    reads = tuple(
        each.slice.value
        for each in ast.walk(body)
        if isinstance(each, ast.Subscript)
        and isinstance(each.slice, ast.Constant)
        and isinstance(each.slice.value, str)
    )
    known = isinstance(value, ast.Lambda)
    return Settled(
        name, _spread(body) if known else Cardinality.FEW, text.segment(body), text.span(body), reads
    )


def _spread(body: ast.expr) -> Cardinality:
    """How many values a heuristic can take when what it reads is unbounded."""
    if isinstance(body, ast.Compare | ast.BoolOp | ast.Constant | ast.IfExp | ast.Dict):
        return Cardinality.FEW
    if isinstance(body, ast.UnaryOp) and isinstance(body.op, ast.Not):
        return Cardinality.FEW
    if isinstance(body, ast.Call):
        called = dotted(body.func).rpartition(".")[2]
        if "power" in called or "pow2" in called:
            return Cardinality.LOG2
        if called in {"min", "max"}:
            spreads = [_spread(each) for each in body.args if not isinstance(each, ast.Constant)]
            return spreads[0] if spreads else Cardinality.FEW
        if called not in {"cdiv", "ceil_div", "ceil", "int", "len"}:
            return Cardinality.FEW
    return Cardinality.UNBOUNDED


def _configured(call: ast.Call) -> Iterator[str]:
    """Yield names set by ``Config({...})`` literals anywhere in the call."""
    seen: set[str] = set()
    for each in ast.walk(call):
        if isinstance(each, ast.Call) and dotted(each.func).rpartition(".")[2] == "Config":
            keys = each.args[0].keys if each.args and isinstance(each.args[0], ast.Dict) else []
            names = {k.value for k in keys if isinstance(k, ast.Constant) and isinstance(k.value, str)}
            yield from names - seen
            seen |= names


def _count_configurations(call: ast.Call) -> int | None:
    """How many configurations are tried: counted in a literal list, multiplied through comprehensions."""
    configs = next(
        (k.value for k in call.keywords if k.arg == "configs"), call.args[0] if call.args else None
    )
    if isinstance(configs, ast.List) and not any(isinstance(each, ast.Starred) for each in configs.elts):
        return len(configs.elts)
    if isinstance(configs, ast.ListComp):
        count = 1
        for loop in configs.generators:
            if not isinstance(loop.iter, ast.List | ast.Tuple) or loop.ifs:
                return None
            count *= len(loop.iter.elts)
        return count
    return None
