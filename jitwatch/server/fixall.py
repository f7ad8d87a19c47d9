"""All safe fixes of a file at once, to a fixed point: an editor can ask for them when it saves."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from lsprotocol.types import CodeAction, Position, Range, TextEdit

from jitwatch.fix.passes import Lint, fix_until_settled
from jitwatch.lint.finding import Applicability, Finding
from jitwatch.lint.lines import Lines
from jitwatch.server.snapshot import Snapshot

KIND = "source.fixAll.jitwatch"


def fix_all(snapshot: Snapshot, path: str, lint: Lint) -> CodeAction | None:
    """The action that applies the safe fixes of one file's findings; None when there are none."""

    def wanted(finding: Finding) -> bool:
        return finding.path == path and finding.applicability is Applicability.SAFE

    fixed = fix_until_settled(lint, wanted)
    if not fixed.after:
        return None
    edits = {file: list(_line_edits(fixed.before[file], after)) for file, after in fixed.after.items()}
    return CodeAction(
        title=f"Fix what jitwatch can fix safely ({len(fixed.applied)})",
        kind=KIND,
        edit=snapshot.edit(edits),
    )


def _line_edits(before: bytes, after: bytes) -> Iterator[TextEdit]:
    """Yield the lines that differ; the others keep the editor's cursor, folds and marks."""
    old, new = _lines(before), _lines(after)
    for tag, start, end, new_start, new_end in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
        if tag != "equal":
            yield TextEdit(Range(Position(start, 0), Position(end, 0)), "".join(new[new_start:new_end]))


def _lines(source: bytes) -> list[str]:
    lines = Lines(source)
    return [lines.text(number) for number in range(1, len(lines) + 1)]
