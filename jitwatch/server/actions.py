"""Findings as quick fixes, and the comment that leaves one where it is."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol.types import CodeAction, CodeActionKind, Range, TextEdit

from jitwatch.fix.changes import Kind
from jitwatch.lint.finding import Applicability, Edit, Finding
from jitwatch.lint.ignore import ignore_edits
from jitwatch.server.diagnostics import diagnostic
from jitwatch.server.snapshot import Snapshot
from jitwatch.server.text import Text

TITLES = {
    Kind.OPT_OUT: "name `{0}` in do_not_specialize",
    Kind.ALIGNMENT: "name `{0}` in do_not_specialize_on_alignment",
    Kind.ANNOTATE: "fix the type of `{0}`, and name it in do_not_specialize",
    Kind.RUNTIME: "make `{0}` a run-time argument, and name it in do_not_specialize",
    Kind.RUNTIME_SPECIALIZED: "make `{0}` a run-time argument",
    Kind.LEAVE_KEY: "take `{0}` out of the autotuner's key",
    Kind.DROP: "drop `{0}`, here and at its launches",
}
"""What a fix does, by the kind of its change."""

PROMISES = {Applicability.SAFE: "", Applicability.UNSAFE: " (unsafe: look at the result)"}
"""What a fix that can be applied promises."""


def quick_fixes(snapshot: Snapshot, path: str, wanted: Range) -> Iterator[CodeAction]:
    """Yield for each finding that touches a range its fix, if it has one, and the comment that suppresses it."""
    text = snapshot.text(path)
    touched = [
        finding
        for finding in snapshot.outcome.shown
        if finding.path == path and _touch(text.range(finding), wanted)
    ]
    for finding in touched:
        if finding.edits and finding.applicability in PROMISES:
            yield _fix(finding, snapshot)
    for finding in touched:
        yield _leave(finding, snapshot)


def _fix(finding: Finding, snapshot: Snapshot) -> CodeAction:
    edits: dict[str, list[TextEdit]] = {}
    for edit in dict.fromkeys(finding.edits):
        path = edit.path or finding.path
        edits.setdefault(path, []).append(_text_edit(edit, snapshot.text(path)))
    return CodeAction(
        title=f"{finding.code}: {_title(finding)}{PROMISES[finding.applicability]}",
        kind=CodeActionKind.QuickFix,
        diagnostics=[diagnostic(finding, snapshot.text(finding.path))],
        is_preferred=finding.applicability is Applicability.SAFE,
        edit=snapshot.edit(edits),
    )


def _title(finding: Finding) -> str:
    if finding.change is not None:
        return TITLES[finding.change.kind].format(finding.change.parameter)
    return (finding.remedy or finding.message).partition("\n")[0]


def _leave(finding: Finding, snapshot: Snapshot) -> CodeAction:
    text = snapshot.text(finding.path)
    edits = ignore_edits(text.source, {finding.line: {finding.code}})
    return CodeAction(
        title=f"{finding.code}: leave it, with a comment `# jitwatch: ignore[{finding.code}]`",
        kind=CodeActionKind.QuickFix,
        diagnostics=[diagnostic(finding, text)],
        edit=snapshot.edit({finding.path: [_text_edit(edit, text) for edit in edits]}),
    )


def _text_edit(edit: Edit, text: Text) -> TextEdit:
    return TextEdit(text.range_of_bytes(edit.start, edit.end), text.new_text(edit.text))


def _touch(one: Range, other: Range) -> bool:
    return one.start <= other.end and other.start <= one.end
