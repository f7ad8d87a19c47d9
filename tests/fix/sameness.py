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
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from jitwatch.fix.changes import Kind
from jitwatch.fix.text import encoding_of
from jitwatch.source.text import SourceText
from tests.fix.said import Entries, Record, Said
from tests.fix.trees import KEY, ON_ALIGNMENT, OPT_OUT, Tree, names_of

LISTED_IN = {
    Kind.OPT_OUT: OPT_OUT,
    Kind.ANNOTATE: OPT_OUT,
    Kind.RUNTIME: OPT_OUT,
    Kind.ALIGNMENT: ON_ALIGNMENT,
}


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
        if said.parameter not in names_of(old) or said.parameter in names_of(new):
            yield "was no parameter, or still is one"
            return
        for keyword in (OPT_OUT, ON_ALIGNMENT, KEY):
            self.old.take_entries(said.kernel, keyword, [said.parameter])
        _drop(old.args, said.parameter)


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
