"""Fixes a program held in memory, and tells in which places its syntax tree came to differ."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Mapping

from jitwatch.fix.passes import Fixed, fix_until_settled
from jitwatch.lint.config import Configuration, Overrides
from jitwatch.lint.engine import Options, Outcome, lint_sources
from jitwatch.lint.finding import Applicability, Finding

PREAMBLE = "import triton\nimport triton.language as tl\n\n"

BODY = """
    row = tl.program_id(0)
    if row < num_tokens:
        tl.store(x + row * WIDTH + tl.arange(0, WIDTH), 0.0)
"""
"""Of a kernel that is the faster for opting ``num_tokens`` out, whatever its decorator looks like."""

LISTS = ("do_not_specialize", "do_not_specialize_on_alignment", "key")


def fix(files: Mapping[str, bytes], *applicable: Applicability) -> Fixed:
    """Apply the fixes that promise this much; safe and unsafe ones where nothing is said."""
    promised = applicable or (Applicability.SAFE, Applicability.UNSAFE)

    def lint(changed: Mapping[str, bytes]) -> Outcome:
        configuration = Configuration(Overrides(isolated=True))
        return lint_sources({**files, **changed}, configuration, Options(keep_project=True))

    def wanted(finding: Finding) -> bool:
        return finding.applicability in promised

    return fix_until_settled(lint, wanted)


def fix_text(source: str) -> str:
    """Fix one file; its indentation is taken away first, and nothing else."""
    data = textwrap.dedent(source).encode()
    return fix({"a.py": data}).after.get("a.py", data).decode()


def decorated(decorator: str, signature: str = "x, num_tokens, WIDTH: tl.constexpr") -> str:
    """A program with one kernel under a decorator."""
    return f"{PREAMBLE}{decorator}\ndef kernel({signature}):{BODY}"


def fix_decorator(decorator: str, **more: str) -> str:
    """What becomes of a decorator; the rest of the program must stay as it is."""
    source = decorated(decorator, **more)
    fixed = fix_text(source)
    end = source[source.index("\ndef kernel(") :]
    assert fixed.startswith(PREAMBLE)
    assert fixed.endswith(end), fixed
    return fixed[len(PREAMBLE) : -len(end)]


def differences(old: ast.AST, new: ast.AST, kernel: str = "") -> Iterator[tuple[str, ...]]:
    """Yield where two trees differ: a list's names, an annotation, a parameter, an argument, or what else."""
    if isinstance(old, ast.FunctionDef) and isinstance(new, ast.FunctionDef):
        yield from _decorators(old, new)
        yield from _signature(old, new)
        yield from _children(old.body, new.body, old.name)
        return
    if type(old) is not type(new):
        yield "other", kernel, ast.dump(old)[:80]
    elif isinstance(old, ast.Call) and isinstance(new, ast.Call):
        yield from differences(old.func, new.func, kernel)
        yield from _arguments(old, new, kernel)
    else:
        for name, value in ast.iter_fields(old):
            yield from _values(value, getattr(new, name), kernel)


def _values(old: object, new: object, kernel: str) -> Iterator[tuple[str, ...]]:
    if isinstance(old, list) and isinstance(new, list):
        yield from _children(old, new, kernel)
    elif isinstance(old, ast.AST) and isinstance(new, ast.AST):
        yield from differences(old, new, kernel)
    elif old != new:
        yield "other", kernel, f"{old!r} {new!r}"


def _children(old: list[ast.stmt], new: list[ast.stmt], kernel: str) -> Iterator[tuple[str, ...]]:
    if len(old) != len(new):
        yield "other", kernel, f"{len(old)} {len(new)}"
    for first, second in zip(old, new, strict=False):
        yield from _values(first, second, kernel)


def _decorators(old: ast.FunctionDef, new: ast.FunctionDef) -> Iterator[tuple[str, ...]]:
    if len(old.decorator_list) != len(new.decorator_list):
        yield "other", old.name, "decorators"
    for first, second in zip(old.decorator_list, new.decorator_list, strict=False):
        (head, lists), (new_head, new_lists) = _taken_apart(first), _taken_apart(second)
        if head != new_head:
            yield "other", old.name, f"{head} {new_head}"
        for keyword in LISTS:
            for name in lists.get(keyword, set()) ^ new_lists.get(keyword, set()):
                yield "list", old.name, keyword, name


def _taken_apart(decorator: ast.expr) -> tuple[str, dict[str, set[str]]]:
    """A decorator without its lists, and the names in those."""
    if not isinstance(decorator, ast.Call):
        return ast.dump(decorator), {}
    lists = {
        keyword.arg: {str(each.value) for each in ast.walk(keyword.value) if isinstance(each, ast.Constant)}
        for keyword in decorator.keywords
        if keyword.arg in LISTS
    }
    args = decorator.args
    if ast.unparse(decorator.func).endswith("autotune") and len(args) > 1:
        lists["key"] = {str(each.value) for each in ast.walk(args.pop(1)) if isinstance(each, ast.Constant)}
    rest = [*args, *(keyword for keyword in decorator.keywords if keyword.arg not in LISTS)]
    return "; ".join([ast.dump(decorator.func), *map(ast.dump, rest)]), lists


def _signature(old: ast.FunctionDef, new: ast.FunctionDef) -> Iterator[tuple[str, ...]]:
    left, right = ({each.arg: each for each in node.args.args} for node in (old, new))
    if [name for name in left if name in right] != list(right):
        yield "other", old.name, "parameters"
    for name, each in left.items():
        if name not in right:
            yield "parameter", old.name, name
        elif _dumped(each.annotation) != _dumped(right[name].annotation):
            yield "annotation", old.name, name


def _dumped(node: ast.expr | None) -> str:
    return ast.dump(node) if node else ""


def _arguments(old: ast.Call, new: ast.Call, kernel: str) -> Iterator[tuple[str, ...]]:
    left = [ast.dump(each) for each in [*old.args, *old.keywords]]
    right = [ast.dump(each) for each in [*new.args, *new.keywords]]
    if len(left) == len(right):
        for first, second in zip([*old.args, *old.keywords], [*new.args, *new.keywords], strict=True):
            yield from differences(first, second, kernel)
        return
    rest = iter(left)
    if not all(each in rest for each in right):
        yield "other", kernel, ast.unparse(old)
    yield "argument", kernel, ast.unparse(old.func)
