"""One state of a file as a syntax tree, by what fixes change in it: the lists of decorators."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tests.fix.said import Definition

OPT_OUT, ON_ALIGNMENT, KEY = "do_not_specialize", "do_not_specialize_on_alignment", "key"
List = ast.List | ast.Tuple


@dataclass(frozen=True)
class Tree:
    """One state of a file."""

    node: ast.Module
    functions: Mapping[str, list[ast.FunctionDef]]
    """By name, in order."""
    given: Mapping[str, list[ast.Call]]
    """Calls that are given a name as an argument, by that name."""

    @classmethod
    def of(cls, node: ast.Module) -> Tree:
        """Look once for all that is looked for in it."""
        functions: dict[str, list[ast.FunctionDef]] = defaultdict(list)
        given: dict[str, list[ast.Call]] = defaultdict(list)
        for each in ast.walk(node):
            if isinstance(each, ast.FunctionDef):
                functions[each.name].append(each)
            elif isinstance(each, ast.Call):
                for argument in each.args:
                    if isinstance(argument, ast.Name):
                        given[argument.id].append(each)
        for found in functions.values():
            found.sort(key=lambda function: function.lineno)
        return cls(node, functions, given)

    def function(self, wanted: Definition) -> ast.FunctionDef:
        """One of its functions. Raises IndexError."""
        return self.functions[wanted.name][wanted.nth]

    def take_entries(self, wanted: Definition, keyword: str, values: Iterable[object]) -> list[int]:
        """Take entries out of each list given as a keyword to the function's decorators; how many from each."""
        values, counts = list(values), []
        for call in self._decorating(self.function(wanted)):
            _make_lists_of_strings(call)
            for given in _given(call, keyword):
                for each in self._lists(given):
                    kept = [item for item in each.elts if not _is_one_of(item, values)]
                    counts.append(len(each.elts) - len(kept))
                    each.elts = kept
        return counts

    def mentions(self, wanted: Definition, keyword: str, name: str) -> bool:
        """Whether a list given as a keyword names a parameter, if only under a condition, or has its position."""
        function = self.function(wanted)
        given = [each for call in self._decorating(function) for each in _given(call, keyword)]
        lists = [each for value in given for each in self._lists(value)]
        named = any(_is_one_of(node, [name]) for each in (*given, *lists) for node in ast.walk(each))
        # Nobody can tell which position a condition would choose, so one there does not count.
        position = names_of(function).index(name)
        plain = [each for each in lists if not any(isinstance(value, ast.IfExp) for value in given)]
        return named or any(_is_one_of(node, [position]) for each in plain for node in each.elts)

    def tidy(self, wanted: Definition) -> None:
        """Leave out opt-out lists that are empty, and the brackets of decorators without arguments."""
        function = self.function(wanted)
        for call in self._decorating(function):
            call.keywords = [each for each in call.keywords if not self._is_empty_list(each)]
        function.decorator_list = [
            each.func if isinstance(each, ast.Call) and not each.args and not each.keywords else each
            for each in function.decorator_list
        ]

    def _is_empty_list(self, keyword: ast.keyword) -> bool:
        lists = self._lists(keyword.value) if keyword.arg in (OPT_OUT, ON_ALIGNMENT) else []
        return bool(lists) and not any(each.elts for each in lists) and lists == [keyword.value]

    def _decorating(self, function: ast.FunctionDef) -> list[ast.Call]:
        """Calls that decorate a function, or that are given it: ``triton.jit(kernel, ...)``."""
        decorators = [each for each in function.decorator_list if isinstance(each, ast.Call)]
        return [*decorators, *self.given.get(function.name, ())]

    def _lists(self, value: ast.expr) -> list[List]:
        """The lists that a value is: one, one of two, or that of a module's variable."""
        if isinstance(value, ast.IfExp):
            return [*self._lists(value.body), *self._lists(value.orelse)]
        if isinstance(value, ast.Name):
            assigned = [each for each in self.node.body if isinstance(each, ast.Assign | ast.AnnAssign)]
            values = [each.value for each in assigned if _assigns(each, value.id)]
            return [each for each in values if isinstance(each, List)]
        return [value] if isinstance(value, List) else []


def _given(call: ast.Call, keyword: str) -> Iterator[ast.expr]:
    yield from (each.value for each in call.keywords if each.arg == keyword)
    if keyword == KEY and len(call.args) > 1:
        yield call.args[1]


def _make_lists_of_strings(call: ast.Call) -> None:
    """Take ``do_not_specialize="n"``, which Triton refuses, for the list that it is meant to be."""
    for each in call.keywords:
        if each.arg in (OPT_OUT, ON_ALIGNMENT) and isinstance(each.value, ast.Constant):
            each.value = ast.List([each.value], ast.Load())


def _is_one_of(node: ast.AST, values: list[object]) -> bool:
    return isinstance(node, ast.Constant) and any(
        node.value == value and type(node.value) is type(value) for value in values
    )


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _assigns(node: ast.Assign | ast.AnnAssign, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(_is_name(each, name) for each in targets)


def names_of(function: ast.FunctionDef) -> list[str]:
    """Names of the parameters of a function, in order."""
    arguments = function.args
    return [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
