"""The open buffers at one moment, and what a lint of them came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lsprotocol.types import (
    OptionalVersionedTextDocumentIdentifier,
    TextDocumentEdit,
    TextEdit,
    WorkspaceEdit,
)
from pygls.workspace import PositionCodec

from jitwatch.lint.engine import Outcome
from jitwatch.server.text import Text


@dataclass(frozen=True)
class Buffer:
    """An open file."""

    uri: str
    """As the editor spells it."""
    version: int | None
    source: bytes


@dataclass(frozen=True)
class Snapshot:
    """Buffers by path, and the outcome for them."""

    moment: int
    """Counts the changes seen."""
    buffers: Mapping[str, Buffer]
    outcome: Outcome
    codec: PositionCodec
    versioned_edits: bool
    """Whether the editor takes edits that name the version they are meant for."""
    _texts: dict[str, Text] = field(default_factory=dict)

    def text(self, path: str) -> Text:
        """A linted file's text, as it was linted."""
        if path not in self._texts:
            buffer = self.buffers.get(path)
            source = buffer.source if buffer else self.outcome.sources.get(path, b"")
            self._texts[path] = Text(source, self.codec)
        return self._texts[path]

    def edit(self, edits: Mapping[str, Sequence[TextEdit]]) -> WorkspaceEdit:
        """Edits by path as one change; the editor refuses it if an open file has moved on since."""
        if not self.versioned_edits:
            return WorkspaceEdit(changes={self._uri(path): list(each) for path, each in edits.items()})
        return WorkspaceEdit(
            document_changes=[
                TextDocumentEdit(
                    OptionalVersionedTextDocumentIdentifier(self._uri(path), self._version(path)), list(each)
                )
                for path, each in edits.items()
            ]
        )

    def _uri(self, path: str) -> str:
        buffer = self.buffers.get(path)
        return buffer.uri if buffer else Path(path).absolute().as_uri()

    def _version(self, path: str) -> int | None:
        buffer = self.buffers.get(path)
        return buffer.version if buffer else None
