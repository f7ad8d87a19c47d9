"""Apply findings' edits to the bytes of a file: everything they do not name stays as it is."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Collection, Iterable

from jitwatch.lint.finding import Applicability, Edit, Finding

AUTOMATIC = frozenset({Applicability.SAFE, Applicability.UNSAFE})


def apply_edits(source: bytes, edits: Iterable[Edit]) -> bytes:
    """Apply edits that do not overlap; new text takes the file's encoding and its kind of line end."""
    newline = "\r\n" if b"\r\n" in source else "\n"
    encoding = encoding_of(source)
    pieces, position = [], 0
    for edit in sorted(edits):
        pieces.append(source[position : edit.start])
        text = (edit.text or "").replace("\n", newline)
        pieces.append(text.encode(encoding, "backslashreplace"))
        position = edit.end
    return b"".join((*pieces, source[position:]))


def fix_once(
    source: bytes, findings: Iterable[Finding], applicable: Collection[Applicability] = AUTOMATIC
) -> tuple[bytes, list[Finding]]:
    """Apply the fixes of one file's findings; returns the new bytes and the findings whose fix went in.

    A fix that touches what an earlier one changed waits for the next pass: the caller lints again until
    nothing is left to apply.
    """
    taken: list[Edit] = []
    applied = []
    for finding in findings:
        if finding.suppressed or not finding.edits or finding.applicability not in applicable:
            continue
        if all(edit in taken or not _collides(edit, taken) for edit in finding.edits):
            taken.extend(edit for edit in finding.edits if edit not in taken)
            applied.append(finding)
    return (apply_edits(source, taken), applied) if taken else (source, [])


def settle(source: bytes, edit: Edit) -> Edit:
    """Decide what goes with an element that an edit takes out of a list: its comma, and a line it leaves empty.

    Comments stay. Other edits are returned as they are.
    """
    if edit.text is not None:
        return edit
    line_start = source.rfind(b"\n", 0, edit.start) + 1
    starts_line = not source[line_start : edit.start].strip()
    comma = _COMMA_AFTER.match(source, edit.end)
    end = comma.end() if comma else edit.end
    rest = _REST_OF_LINE.match(source, end)
    if starts_line and rest:
        return Edit(line_start, rest.end(), "")
    if comma:
        blanks = _BLANKS.match(source, end)
        return Edit(edit.start, blanks.end() if blanks else end, "")
    before = _COMMA_BEFORE.search(source, line_start, edit.start)
    return Edit(before.start() if before else edit.start, edit.end, "")


_COMMA_AFTER = re.compile(rb"[ \t]*,")
_COMMA_BEFORE = re.compile(rb",[ \t]*\Z")
_REST_OF_LINE = re.compile(rb"[ \t]*\r?\n")
_BLANKS = re.compile(rb"[ \t]+(?=[^ \t#])")
"""Not those before a comment, which keeps its distance."""


def encoding_of(source: bytes) -> str:
    """Encoding that a file declares; the byte order mark is not part of it."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
    return "utf-8" if encoding == "utf-8-sig" else encoding


def _collides(edit: Edit, taken: Iterable[Edit]) -> bool:
    return any(edit.start <= other.end and other.start <= edit.end for other in taken)
