"""Each finding with the source it is about and what to write instead."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from jitwatch.lint.engine import Outcome
from jitwatch.lint.finding import Finding
from jitwatch.lint.formats import Look
from jitwatch.lint.formats.concise import headline
from jitwatch.lint.lines import Lines

CONTEXT = 2
"""Lines shown above the finding's."""

WIDTH = 120
"""Columns shown of a line; generated files have lines of megabytes."""


def render(outcome: Outcome, look: Look) -> Iterator[str]:
    """Yield the headline, a snippet with a caret, and the remedy of each finding."""
    lines: dict[str, Lines] = {}
    for finding in outcome.shown:
        yield headline(finding, look)
        if finding.path not in lines:
            lines[finding.path] = Lines(outcome.sources.get(finding.path, b""))
        yield from snippet(finding, lines[finding.path], look)
        yield ""


def snippet(finding: Finding, lines: Lines, look: Look) -> Iterator[str]:
    """Yield the finding's line under the two before it, the caret, and the remedy."""
    margin = len(str(finding.line))
    bar = look.blue("|")
    empty = " " * margin
    first = max(1, finding.line - CONTEXT)
    while first < finding.line and not lines.text(first).strip():
        first += 1
    text = lines.text(finding.line).rstrip("\r\n")
    # One window for all lines shown, or the caret would not stand under its word.
    begin = max(0, finding.column - 1 - WIDTH // 2) if len(text) > WIDTH else 0
    yield f"{empty} {bar}"
    for number in range(first, finding.line + 1):
        shown = _expand(lines.text(number).rstrip("\r\n")[begin : begin + WIDTH])
        yield f"{look.blue(f'{number:>{margin}}')} {bar} {shown}".rstrip()
    same_line = finding.end_line == finding.line
    end = finding.end_column - 1 if same_line else len(text)
    end = min(max(end, finding.column), begin + WIDTH)
    before = _cells(text[begin : finding.column - 1])
    carets = max(1, _cells(text[begin:end]) - before)
    yield f"{empty} {bar} {' ' * before}{look.red('^' * carets)}"
    if finding.evidence:
        yield f"{empty} {look.blue('=')} {look.bold('observed')}: {finding.evidence}"
    if finding.remedy:
        first_line, *more = finding.remedy.splitlines()
        yield f"{empty} {look.blue('=')} {look.green('instead')}: {first_line}"
        yield from (f"{empty}            {line}".rstrip() for line in more)


def _expand(text: str) -> str:
    """Tabs as four columns, and nothing that would move a terminal's cursor."""
    return "".join("    " if c == "\t" else c if c.isprintable() else "\ufffd" for c in text)


def _cells(text: str) -> int:
    """Terminal columns that a text takes."""
    return sum(_cell(character) for character in text)


def _cell(character: str) -> int:
    if character == "\t":
        return 4
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
