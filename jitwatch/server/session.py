"""The protocol: when to lint, what to tell the editor, what to answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from jitwatch import __version__
from jitwatch.errors import JitwatchError
from jitwatch.lint.analysis import internal_error
from jitwatch.lint.discovery import displayed
from jitwatch.lint.engine import Outcome
from jitwatch.server.actions import quick_fixes
from jitwatch.server.buffers import Linter, encoded
from jitwatch.server.diagnostics import diagnostics
from jitwatch.server.explain import explain
from jitwatch.server.fixall import KIND, fix_all
from jitwatch.server.parameters import parameter_at
from jitwatch.server.snapshot import Buffer, Snapshot

PAUSE = 0.2
"""Seconds without a key stroke after which a changed buffer is linted."""

WATCHED = ("**/*.py", "**/pyproject.toml", "**/.gitignore")
"""Files whose change outside the editor changes what there is to say."""


class Session(LanguageServer):
    """One editor's session."""

    def __init__(self) -> None:
        # Whole texts, not changes: pygls counts lines as str.splitlines does, so that a form feed, as in many
        # old files, would shift every change below it.
        super().__init__("jitwatch", __version__, types.TextDocumentSyncKind.Full)
        self.ended = False
        """The editor said that the session is over."""
        self._linter = Linter()
        self._linting = asyncio.Lock()
        self._moment = 0
        self._snapshot: Snapshot | None = None
        self._published: dict[str, tuple[int | None, list[types.Diagnostic]]] = {}
        self._complaint = ""
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    def changed(self, pause: float = 0.0) -> None:
        """Take note of a change, and lint once there was no other for ``pause`` seconds."""
        self._moment += 1
        if self._timer:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(pause, self._start)

    def _start(self) -> None:
        self._task = asyncio.ensure_future(self._refresh())

    async def _refresh(self) -> None:
        try:
            await self.current()
        except Exception as error:  # noqa: BLE001 (a mistake of ours must not end the editor's session)
            self.window_log_message(types.LogMessageParams(types.MessageType.Error, internal_error(error)))

    async def current(self) -> Snapshot:
        """Lint what is open now, unless that is done, and publish what is new."""
        # An editor takes back what it asked when the user types on: the linter, in its thread, would not notice.
        return await asyncio.shield(self._current())

    async def _current(self) -> Snapshot:
        async with self._linting:
            if self._snapshot is None or self._snapshot.moment != self._moment:
                moment, buffers = self._moment, self._buffers()
                outcome = await self._lint(buffers)
                codec, versioned = self.workspace.position_codec, self._takes_versions()
                self._snapshot = Snapshot(moment, buffers, outcome, codec, versioned)
                self._publish(self._snapshot)
            return self._snapshot

    async def _lint(self, buffers: Mapping[str, Buffer]) -> Outcome:
        sources = {path: buffer.source for path, buffer in buffers.items()}
        try:
            outcome = await asyncio.to_thread(self._linter.lint, sources, self.folders())
        except JitwatchError as error:
            if str(error) != self._complaint:
                self.window_show_message(
                    types.ShowMessageParams(types.MessageType.Error, f"jitwatch: {error}")
                )
            self._complaint = str(error)
            return Outcome()
        self._complaint = ""
        return outcome

    def folders(self) -> list[str]:
        """Folders of the workspace."""
        uris = [folder.uri for folder in self.workspace.folders.values()] or [self.workspace.root_uri]
        return [path for uri in uris if uri and (path := to_fs_path(uri))]

    def _buffers(self) -> dict[str, Buffer]:
        return {
            # Its own URI: pygls's keys are unquoted ones, which the editor would not know again.
            self.path(each.uri): Buffer(each.uri, each.version, encoded(each.source))
            for each in self.workspace.text_documents.values()
            if each.language_id == "python" or each.uri.endswith((".py", ".pyi"))
        }

    def path(self, uri: str) -> str:
        """What the linter calls a file; one that was never saved stands in the workspace's root."""
        return displayed(to_fs_path(uri) or uri.rpartition("/")[2].rpartition(":")[2])

    def _takes_versions(self) -> bool:
        workspace = self.client_capabilities.workspace
        edit = workspace.workspace_edit if workspace else None
        return bool(edit and edit.document_changes)

    def _publish(self, snapshot: Snapshot) -> None:
        """Tell the editor about each open file that changed or of which there is something else to say."""
        published = {}
        for path, buffer in snapshot.buffers.items():
            found = list(diagnostics(path, snapshot.text(path), snapshot.outcome))
            published[buffer.uri] = buffer.version, found
            if self._published.get(buffer.uri) != published[buffer.uri]:
                self._tell(buffer.uri, found, buffer.version)
        for uri in self._published.keys() - published.keys():
            self._tell(uri, [])
        self._published = published

    def _tell(self, uri: str, found: list[types.Diagnostic], version: int | None = None) -> None:
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    async def hover(self, params: types.HoverParams) -> types.Hover | None:
        """Explain the kernel's parameter at a place."""
        snapshot, path = await self.current(), self.path(params.text_document.uri)
        project, text = snapshot.outcome.project, snapshot.text(path)
        line, column = text.place(params.position)
        found = parameter_at(project, path, text.lines, line, column) if project else None
        if project is None or found is None:
            return None
        kernel, parameter = found
        words = explain(project, kernel, parameter, snapshot.outcome.findings)
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, words))

    async def code_actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        """Offer what can be done about the findings in a range, or on asking, all safe fixes of the file."""
        snapshot, path = await self.current(), self.path(params.text_document.uri)
        only = params.context.only
        actions: list[types.CodeAction] = []
        if only is None or any(_covers(kind, types.CodeActionKind.QuickFix) for kind in only):
            actions += quick_fixes(snapshot, path, params.range)
        if only is not None and any(_covers(kind, KIND) for kind in only):
            everything = await asyncio.shield(self._fix_all(snapshot, path))
            actions += [everything] if everything else []
        return actions

    async def _fix_all(self, snapshot: Snapshot, path: str) -> types.CodeAction | None:
        sources = {each: buffer.source for each, buffer in snapshot.buffers.items()}
        folders = self.folders()

        def lint(changed: Mapping[str, bytes]) -> Outcome:
            return self._linter.lint({**sources, **changed}, folders)

        async with self._linting:
            return await asyncio.to_thread(fix_all, snapshot, path, lint)

    def watch_files(self) -> None:
        """Ask the editor to tell of changes outside it, where it can."""
        workspace = self.client_capabilities.workspace
        watched = workspace.did_change_watched_files if workspace else None
        if watched and watched.dynamic_registration:
            options = types.DidChangeWatchedFilesRegistrationOptions(
                [types.FileSystemWatcher(pattern) for pattern in WATCHED]
            )
            wanted = types.Registration("files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            self.client_register_capability(types.RegistrationParams([wanted]))


def _covers(asked: str, kind: str) -> bool:
    """Whether asking for a kind of action asks for this one: ``source`` does for ``source.fixAll.jitwatch``."""
    return kind == asked or kind.startswith(f"{asked}.")
