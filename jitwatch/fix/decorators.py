"""Edits of a kernel's decorators: its opt-out lists, and the key of its autotuner."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from jitwatch.fix.brackets import Brackets
from jitwatch.fix.changes import CannotEdit
from jitwatch.fix.layout import fitted
from jitwatch.fix.text import encoding_of
from jitwatch.fix.tokens import tokens
from jitwatch.lint.finding import Edit
from jitwatch.source.model import Decorator, Kernel, Listing

_QUOTED = re.compile(rb"""(["'])\w+\1""")


def opt_out(source: bytes, kernel: Kernel, wanted: Mapping[str, Sequence[str]]) -> list[Edit]:
    """Edits that add parameters to the lists of the kernel's jit decorator (keyword -> names).

    Raises CannotEdit where a list is out of reach.
    """
    jit, edits, elsewhere, lists = kernel.jit, [], [], []
    quote = _quote(source, jit)
    for keyword, names in wanted.items():
        new = [name for name in names if all(name != each.name for each in kernel.listed(keyword))]
        texts = [f"{quote}{name}{quote}" for name in new]
        listing = jit.listing(keyword)
        if listing is None:
            lists.append(f"{keyword}=[{', '.join(texts)}]")
        elif texts and _inside(listing, jit):
            edits += _extended(source, listing, texts)
        elif texts:
            span = listing.span
            elsewhere += fitted(source, span.start, span.end, _extended(source, listing, texts))
    edits += _with_keywords(source, jit, lists)
    return elsewhere + (fitted(source, jit.span.start, jit.span.end, edits) if edits else [])


def leave_key(source: bytes, kernel: Kernel, names: Collection[str]) -> list[Edit]:
    """Edits that take parameters out of the key of the kernel's autotuners. Raises CannotEdit."""
    return list(_removed(source, kernel, ("key",), names))


def unlist(source: bytes, kernel: Kernel, names: Collection[str]) -> list[Edit]:
    """Edits that take parameters out of the opt-out lists. Raises CannotEdit."""
    return list(_removed(source, kernel, ("do_not_specialize", "do_not_specialize_on_alignment"), names))


def _inside(listing: Listing, decorator: Decorator) -> bool:
    return decorator.span.start <= listing.span.start < decorator.span.end


def _extended(source: bytes, listing: Listing, texts: Sequence[str]) -> list[Edit]:
    if listing.shared:
        raise CannotEdit(f"the list that `{listing.keyword}` names is used elsewhere too")
    if listing.form == "string":
        raise CannotEdit(f"`{listing.keyword}` is a string, which Triton refuses: make it a list first")
    if listing.form in ("list", "tuple"):
        return _appended(source, listing.span.start, texts, is_tuple=listing.form == "tuple")
    return [
        edit
        for start, is_tuple in _branches(source, listing)
        for edit in _appended(source, start, texts, is_tuple=is_tuple)
    ]


def _appended(source: bytes, start: int, texts: Sequence[str], *, is_tuple: bool) -> list[Edit]:
    if source[start : start + 1] not in (b"[", b"("):
        raise CannotEdit("the tuple has no parentheses around it")
    brackets = Brackets.at(source, start)
    if is_tuple and not brackets.elements and len(texts) == 1:
        texts = [f"{texts[0]},"]
    return brackets.appending(texts)


def _branches(source: bytes, listing: Listing) -> Iterator[tuple[int, bool]]:
    """Yield where each list of ``[...] if condition else [...]`` starts, and whether it is a tuple."""
    encoding = encoding_of(source)
    text = source[listing.span.start : listing.span.end].decode(encoding)
    # Parenthesised, for it may go over lines; one line, so that a column is a place in the text.
    tree = ast.parse("(" + re.sub(r"[\r\n]", " ", text) + ")", mode="eval").body
    unclear = CannotEdit(f"`{listing.keyword}` is computed: add the name where its list is written")
    if not isinstance(tree, ast.IfExp) or "#" in text:
        raise unclear
    for branch in (tree.body, tree.orelse):
        if not isinstance(branch, ast.List | ast.Tuple):
            raise unclear
        before = text.encode()[: branch.col_offset - 1].decode().encode(encoding)
        yield listing.span.start + len(before), isinstance(branch, ast.Tuple)


def _with_keywords(source: bytes, jit: Decorator, lists: Sequence[str]) -> list[Edit]:
    """Edits that give the decorator new keywords, making a call of it where it is none."""
    if not lists:
        return []
    if not jit.is_call:
        if jit.name.rpartition(".")[2] != "jit":
            raise CannotEdit(
                f"`{jit.name}` may not take arguments: give it the list if it hands them on to Triton"
            )
        return [Edit(jit.span.end, jit.span.end, f"({', '.join(lists)})")]
    brackets = Brackets.at(source, call_bracket(source, jit.span.start, jit.span.end))
    if any(brackets.text(index).startswith("**") for index in range(len(brackets.elements))):
        raise CannotEdit(f"`{jit.name}` is given `**` arguments, which may hold a list already")
    return brackets.appending(lists)


def _removed(
    source: bytes, kernel: Kernel, keywords: Sequence[str], names: Collection[str]
) -> Iterator[Edit]:
    for decorator in kernel.decorators:
        for listing in decorator.listings:
            if listing.keyword not in keywords or not any(each.name in names for each in listing.entries):
                continue
            if listing.shared or listing.form not in ("list", "tuple"):
                raise CannotEdit(
                    f"`{listing.keyword}` is computed or shared: take the name out where it is written"
                )
            brackets = Brackets.at(source, listing.span.start)
            places = {brackets.index_at(e.span.start) for e in listing.entries if e.name in names}
            if any(brackets.text(index)[:1] not in "\"'" for index in places):
                raise CannotEdit(f"`{listing.keyword}` names it under a condition")
            yield from brackets.removing(places, is_tuple=listing.form == "tuple")


def call_bracket(source: bytes, start: int, end: int) -> int:
    """Offset of the bracket that opens the arguments of the call which is the code at ``start:end``."""
    opened: list[int] = []
    for token in tokens(source, start, end):
        if token.step() == 1:
            opened.append(token.start)
        elif token.step() == -1:
            opening = opened.pop()
            if token.end == end:
                return opening
    raise CannotEdit("the call does not end with a bracket")


def _quote(source: bytes, jit: Decorator) -> str:
    """The quote that the decorator's names have, else the file's."""
    near = _QUOTED.findall(source, jit.span.start, jit.span.end)
    found = near or _QUOTED.findall(source)
    return "'" if found.count(b"'") > found.count(b'"') else '"'
