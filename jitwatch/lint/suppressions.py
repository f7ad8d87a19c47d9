"""Comments that say: leave this finding.

Two forms, both with the codes (or names) of the rules, neither without::

    @triton.jit  # jitwatch: ignore[JW001] one shape in this service
    def kernel(x, n):  # noqa: JW001

A comment at the end of a statement, or in a line of its own above it, speaks for the whole statement. One on
a decorator or on the first or last line of a ``def`` speaks for decorators and header together; one on a
parameter's line for that line. Suppressed findings are kept and marked, and a comment that suppresses
nothing is a finding itself (JW100).
"""

from __future__ import annotations

import functools
import re
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jitwatch.lint.finding import Finding, Place
from jitwatch.lint.statements import Statements

if TYPE_CHECKING:
    from jitwatch.lint.rule import Rule

OWN = re.compile(r"#\s*jitwatch:\s*ignore\b\s*(?:\[(?P<codes>[^\]]*)\])?[:\s]*(?P<reason>[^#]*)")
NOQA = re.compile(
    r"#\s*noqa\s*:\s*(?P<codes>[A-Za-z]+[0-9]+(?:[,\s]+[A-Za-z]+[0-9]+)*)[:\s]*(?P<reason>[^#]*)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Suppression:
    """One comment's instruction."""

    codes: tuple[str, ...]
    """As written, the foreign codes of a ``noqa`` left out. Empty: an ``ignore`` that names none."""
    foreign: tuple[str, ...]
    """Other linters' codes in the same ``noqa``."""
    form: str
    """``ignore`` or ``noqa``."""
    reason: str
    line: int
    column: int
    """Of the ``#``, from 1."""
    end_column: int
    start: int
    end: int
    """The same as byte offsets into the file."""
    removal: tuple[int, int]
    """What to cut out to be rid of it: the blanks before it too, and the whole line when it is alone there."""
    lines: range
    """Lines whose findings it speaks for."""
    used: frozenset[str] = frozenset()
    """Codes as written that suppressed something."""

    @property
    def place(self) -> Place:
        """Where it stands."""
        return Place(self.line, self.column, self.line, self.end_column)


def find_suppressions(source: bytes, rules: Mapping[str, Rule]) -> list[Suppression]:
    """Find the comments of a file, which must be valid Python."""
    letters = frozenset(code.rstrip("0123456789") for code in rules)
    if not _quick(letters).search(source):
        return []
    layout = Statements(source)
    found = []
    for comment in layout.comments:
        for match in OWN.finditer(comment.string):
            codes = re.split(r"[,\s]+", (match["codes"] or "").strip())
            found.append(_suppression(layout, comment, match, "ignore", [c for c in codes if c], []))
        for match in NOQA.finditer(comment.string):
            codes = re.split(r"[,\s]+", match["codes"])
            own = [code for code in codes if _is_own(code, rules)]
            if own:
                foreign = [code for code in codes if code not in own]
                found.append(_suppression(layout, comment, match, "noqa", own, foreign))
    return sorted(found, key=lambda suppression: suppression.start)


def apply_suppressions(
    findings: list[Finding], suppressions: list[Suppression]
) -> tuple[list[Finding], list[Suppression]]:
    """Mark the findings that a comment speaks for, and the comments that were of use."""
    used: list[set[str]] = [set() for _ in suppressions]
    marked = []
    for finding in findings:
        for index, suppression in enumerate(suppressions):
            hits = {code for code in suppression.codes if code in (finding.code, finding.name)}
            if hits and finding.line in suppression.lines:
                used[index] |= hits
                finding = replace(finding, suppressed=True, reason=suppression.reason)
        marked.append(finding)
    return marked, [
        replace(suppression, used=frozenset(codes))
        for suppression, codes in zip(suppressions, used, strict=True)
    ]


@functools.lru_cache(maxsize=4)
def _quick(letters: frozenset[str]) -> re.Pattern[bytes]:
    """Match the bytes of a file that may hold a comment of ours.

    Tokenizing the 36 kernel files of vLLM with a ``noqa`` for another linter would take 0.6 s.
    """
    codes = "|".join(sorted(map(re.escape, letters)))
    text = rf"#\s*(?:jitwatch:\s*ignore|noqa\s*:[^\r\n]*\b(?:{codes})\d)"
    return re.compile(text.encode(), re.IGNORECASE)


def _is_own(code: str, rules: Mapping[str, Rule]) -> bool:
    """Whether a ``noqa`` code is ours: a rule's, or one that has our letters and may be misspelled."""
    return code in rules or re.fullmatch(r"JW\d+", code) is not None


def _suppression(
    layout: Statements,
    comment: tokenize.TokenInfo,
    match: re.Match[str],
    form: str,
    codes: list[str],
    foreign: list[str],
) -> Suppression:
    line, column = comment.start
    begin, end = column + match.start(), column + len(match.string[: match.end()].rstrip())
    alone = not layout.lines.text(line)[:column].strip()
    return Suppression(
        codes=tuple(codes),
        foreign=tuple(foreign),
        form=form,
        reason=match["reason"].strip(),
        line=line,
        column=begin + 1,
        end_column=end + 1,
        start=layout.lines.offset(line, begin),
        end=layout.lines.offset(line, end),
        removal=_removal(layout, comment, match),
        lines=_lines(layout, line, alone=alone),
    )


def _removal(layout: Statements, comment: tokenize.TokenInfo, match: re.Match[str]) -> tuple[int, int]:
    line, column = comment.start
    begin, end = column + match.start(), column + len(match.string[: match.end()].rstrip())
    text = layout.lines.text(line)
    if not text[:begin].strip() and not text[end:].strip():
        return layout.lines.offset(line, 0), layout.lines.offset(line, len(text))
    return layout.lines.offset(line, len(text[:begin].rstrip())), layout.lines.offset(line, end)


def _lines(layout: Statements, line: int, *, alone: bool) -> range:
    """Lines that a comment on ``line`` speaks for."""
    if alone:
        line = layout.code_line_from(line) or line
    statement = layout.statement_at(line)
    if statement is None or (statement.head and line not in statement.head):
        return range(line, line + 1)
    return range(statement.first, statement.last + 1)
