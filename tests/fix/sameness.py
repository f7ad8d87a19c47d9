"""Holds a file after its fixes against the file before them: the same, but for what the fixes say that they did.

From both trees is taken what the record names, and it must have been there or not as the record says; what is left
must be equal. A fix that did more, less or something else than it says is told.
"""

from __future__ import annotations

import ast
import codecs
import io
import itertools
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from jitwatch.fix.changes import Kind
from jitwatch.fix.text import encoding_of
from jitwatch.source.text import SourceText
from tests.fix.said import Definition, Entries, Record, Said

OPT_OUT, ON_ALIGNMENT, KEY = "do_not_specialize", "do_not_specialize_on_alignment", "key"
LISTED_IN = {
    Kind.OPT_OUT: OPT_OUT,
    Kind.ANNOTATE: OPT_OUT,
    Kind.RUNTIME: OPT_OUT,
    Kind.ALIGNMENT: ON_ALIGNMENT,
}
List = ast.List | ast.Tuple


def unsaid(path: str, before: bytes, after: bytes, record: Record) -> Iterator[str]:
    """Yield where two states of a file differ in another way than was said."""
    yield from _layout(before, after)
    if path not in record.comments and _comments(before) != _comments(after):
        yield "comments"
    text = SourceText(before)
    _take_arguments(text, record.arguments.get(path, frozenset()))
    pair = Pair(Tree.of(text.tree), Tree.of(ast.parse(after)))
    dropped = {(each.kernel, each.parameter) for each in record.said if each.kind is Kind.DROP}
    for said in sorted(record.said, key=repr):
        if said.kernel.path == path and (
            said.kind is Kind.DROP or (said.kernel, said.parameter) not in dropped
        ):
            yield from pair.take(said)
    for entries in sorted(record.entries, key=repr):
        if entries.kernel.path == path:
            yield from pair.take_entries(entries)
    yield from itertools.islice(_differences(pair.old.node, pair.new.node), 1)


def _layout(before: bytes, after: bytes) -> Iterator[str]:
    if encoding_of(before) != encoding_of(after):
        yield "encoding"
    if before.startswith(codecs.BOM_UTF8) != after.startswith(codecs.BOM_UTF8):
        yield "byte order mark"
    if _ends(before) != _ends(after) or _ends(before[-2:]) != _ends(after[-2:]):
        yield "line ends"


def _ends(source: bytes) -> set[bytes]:
    """Kinds of line end."""
    pairs = source.count(b"\r\n")
    counts = {b"\r\n": pairs, b"\n": source.count(b"\n") - pairs, b"\r": source.count(b"\r") - pairs}
    return {end for end, count in counts.items() if count}


def _comments(source: bytes) -> Counter[str]:
    # A lone carriage return ends a line for Python, and for tokenize does not.
    text = io.BytesIO(re.sub(rb"\r(?!\n)", b"\n", source))
    tokens = tokenize.tokenize(text.readline)
    return Counter(token.string for token in tokens if token.type == tokenize.COMMENT)


def _take_arguments(text: SourceText, starts: frozenset[int]) -> None:
    """Take arguments out of calls, by the offset of their values."""
    for node in ast.walk(text.tree) if starts else ():
        if isinstance(node, ast.Call):
            node.args = [each for each in node.args if text.span(each).start not in starts]
            node.keywords = [each for each in node.keywords if text.span(each.value).start not in starts]


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
        position = _names(function).index(name)
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


@dataclass(frozen=True)
class Pair:
    """A file before and after."""

    old: Tree
    new: Tree

    def take(self, said: Said) -> Iterator[str]:
        """Take what a fix did out of both; yields what it did not do, or did though it was done before."""
        if said.kind is Kind.DROP:
            complaints = self._take_parameter(said)
        elif said.kind is Kind.LEAVE_KEY:
            complaints = self._leave_key(said)
        else:
            complaints = itertools.chain(self._take_annotation(said), self._take_name(said))
        for complaint in complaints:
            yield f"{said.kernel.name}.{said.parameter} {said.kind.value}: {complaint}"
        for tree in (self.old, self.new):
            tree.tidy(said.kernel)

    def take_entries(self, entries: Entries) -> Iterator[str]:
        """Take entries out of a list in both."""
        old, _ = (tree.take_entries(entries.kernel, entries.keyword, entries.values) for tree in self.both)
        if not any(old):
            yield f"{entries.kernel.name}: {entries.keyword} named none of {sorted(map(str, entries.values))}"
        for tree in self.both:
            tree.tidy(entries.kernel)

    @property
    def both(self) -> tuple[Tree, Tree]:
        """The two."""
        return self.old, self.new

    def _take_name(self, said: Said) -> Iterator[str]:
        """Once in each list, if no part of them named it before."""
        keyword = LISTED_IN.get(said.kind)
        if keyword is None or said.is_helper:
            return
        if not self.old.mentions(said.kernel, keyword, said.parameter):
            self.old.take_entries(said.kernel, keyword, [])
            new = self.new.take_entries(said.kernel, keyword, [said.parameter])
            if set(new) != {1}:
                yield f"in its lists {new} times"

    def _leave_key(self, said: Said) -> Iterator[str]:
        old, new = (tree.take_entries(said.kernel, KEY, [said.parameter]) for tree in self.both)
        if not any(old) or any(new):
            yield f"was in the key {sum(old)} times, now {sum(new)}"

    def _take_annotation(self, said: Said) -> Iterator[str]:
        old, new = (_parameter(tree.function(said.kernel), said.parameter) for tree in self.both)
        texts = [ast.unparse(each.annotation) if each.annotation else "" for each in (old, new)]
        if said.kind in (Kind.RUNTIME, Kind.RUNTIME_SPECIALIZED):
            fits = "constexpr" in texts[0] and not texts[1]
        elif said.kind is Kind.ANNOTATE:
            fits = not texts[0] and texts[1].endswith(f"int{(said.annotation or '')[1:]}")
        else:
            return
        if not fits:
            yield f"annotation {texts[0]!r} became {texts[1]!r}"
        old.annotation = new.annotation = None

    def _take_parameter(self, said: Said) -> Iterator[str]:
        old, new = (tree.function(said.kernel) for tree in self.both)
        if said.parameter not in _names(old) or said.parameter in _names(new):
            yield "was no parameter, or still is one"
            return
        for keyword in (OPT_OUT, ON_ALIGNMENT, KEY):
            self.old.take_entries(said.kernel, keyword, [said.parameter])
        _drop(old.args, said.parameter)


def _names(function: ast.FunctionDef) -> list[str]:
    arguments = function.args
    return [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _parameter(function: ast.FunctionDef, name: str) -> ast.arg:
    arguments = function.args
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    return next(each for each in every if each.arg == name)


def _drop(arguments: ast.arguments, name: str) -> None:
    """Take a positional parameter out of a signature, with its default."""
    index = [each.arg for each in arguments.args].index(name)
    behind = len(arguments.args) - index
    del arguments.args[index]
    if behind <= len(arguments.defaults):
        del arguments.defaults[-behind]


def _differences(old: object, new: object, line: int = 0) -> Iterator[str]:
    """Yield where two trees differ; positions do not count."""
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for first, second in zip(old, new, strict=True):
            yield from _differences(first, second, line)
    elif isinstance(old, ast.AST) and type(old) is type(new):
        line = getattr(old, "lineno", line)
        for name, value in ast.iter_fields(old):
            yield from _differences(value, getattr(new, name), line)
    elif isinstance(old, list | ast.AST) or old != new or type(old) is not type(new):
        yield f"line {line}: {_shown(old)} became {_shown(new)}"


def _shown(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    return ast.unparse(value) if isinstance(value, ast.AST) else repr(value)
