"""Write a suppressing comment at every finding, so that a project can start with a clean slate."""

from __future__ import annotations

from collections import defaultdict

from jitwatch.fix.files import replace_file
from jitwatch.fix.text import apply_edits
from jitwatch.lint.engine import Outcome
from jitwatch.lint.finding import Edit
from jitwatch.lint.statements import Statements


def add_ignores(outcome: Outcome, reason: str = "") -> dict[str, int]:
    """Change the files on disk; returns how many comments each one got. Raises JitwatchError."""
    codes: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for finding in outcome.shown:
        codes[finding.path][finding.line].add(finding.code)
    written = {}
    for path, by_line in codes.items():
        edits = ignore_edits(outcome.sources[path], by_line, reason)
        replace_file(path, apply_edits(outcome.sources[path], edits))
        written[path] = len(edits)
    return written


def ignore_edits(source: bytes, codes: dict[int, set[str]], reason: str = "") -> list[Edit]:
    """Make the insertions for the codes to suppress, by line."""
    layout = Statements(source)
    edits = []
    for line, wanted in sorted(codes.items()):
        comment = f"# jitwatch: ignore[{', '.join(sorted(wanted))}]" + f" {reason}".rstrip()
        edits.append(_edit(layout, line, comment))
    return edits


def _edit(layout: Statements, line: int, comment: str) -> Edit:
    """Put a comment at the end of a line; above its statement where the line cannot hold one."""
    text = layout.lines.text(line).rstrip("\r\n")
    if line not in layout.string_lines and not text.endswith("\\"):
        end = layout.lines.offset(line, len(text.rstrip()))
        return Edit(end, layout.lines.offset(line, len(text)), f"  {comment}")
    statement = layout.statement_at(line)
    first = statement.first if statement else line
    indentation = layout.lines.text(first)
    indentation = indentation[: len(indentation) - len(indentation.lstrip())]
    start = layout.lines.offset(first, len(indentation))
    return Edit(start, start, f"{comment}\n{indentation}")
