"""Lints what is open in the editor, among the files of the workspace."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from jitwatch.fix.text import encoding_of
from jitwatch.lint.cache import Cache
from jitwatch.lint.config import Configuration
from jitwatch.lint.discovery import is_excluded
from jitwatch.lint.engine import Options, Outcome, lint_texts
from jitwatch.server.index import Index


def encoded(text: str) -> bytes:
    """Bytes of a buffer, as the editor would save them: in the encoding that the text declares."""
    data = text.encode("utf-8", "replace")
    try:
        encoding = encoding_of(data)
    except SyntaxError:  # one that Python does not know, which the linter then says
        return data
    return data if encoding == "utf-8" else text.encode(encoding, "replace")


class Linter:
    """Lints buffers again and again; not for two threads at once."""

    def __init__(self) -> None:
        self._index = Index()

    def lint(self, buffers: Mapping[str, bytes], folders: Sequence[str]) -> Outcome:
        """Lint buffers by path among the files of ``folders``; those that the settings exclude are left out.

        Raises JitwatchError for a bad pyproject.toml.
        """
        # Read anew each time, since it may have changed: a file per folder that is looked at.
        configuration = Configuration()
        linted = {path: text for path, text in buffers.items() if not is_excluded(path, configuration)}
        if not linted:
            return Outcome()
        self._index.disk = Cache(Path(configuration.of(os.getcwd()).root)) if folders else None
        # One process: forking would copy locks that the thread which reads the editor's messages may hold.
        options = Options(cache=self._index, jobs=1, keep_project=True, report=frozenset(linted))
        return lint_texts(linted, folders, configuration, options)
