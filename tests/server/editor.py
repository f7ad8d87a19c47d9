"""An editor of the tests: a real client that starts ``jitwatch server`` and talks to it over its stdio.

It keeps its own text and applies edits by itself, in UTF-16 code units.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

from lsprotocol import types
from pygls.lsp.client import LanguageClient

LINE_END = re.compile(r"\r\n|\r|\n")
PATIENCE = 60
"""Seconds until a test gives up on an answer: the machine may be busy, and no answer takes two when it is not."""


def capabilities(*, versioned_edits: bool = True) -> types.ClientCapabilities:
    """What the editor says it can do."""
    workspace = types.WorkspaceClientCapabilities(
        workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=versioned_edits),
        did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True),
    )
    return types.ClientCapabilities(workspace=workspace)


class Editor:
    """One session in a folder; ``async with`` begins it, and ends it as an editor does."""

    def __init__(self, folder: Path, *, versioned_edits: bool = True, cwd: Path | None = None) -> None:
        self.folder = folder
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.messages: list[str] = []
        self.watched: list[str] = []
        self.answers = 0
        """How many times something was published."""
        self.published: dict[str, types.PublishDiagnosticsParams] = {}
        self.stderr = ""
        self._can = capabilities(versioned_edits=versioned_edits)
        self._cwd = cwd or folder
        self._news = asyncio.Event()
        self._client = LanguageClient("editor of the tests", "1")
        for message, handler in (
            (types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, self._on_published),
            (types.WINDOW_SHOW_MESSAGE, self._on_message),
            (types.WINDOW_LOG_MESSAGE, self._on_message),
            (types.CLIENT_REGISTER_CAPABILITY, self._on_registered),
        ):
            # pygls marks the function it is given, which cannot be done to a method.
            self._client.feature(message)(lambda params, handler=handler: handler(params))

    async def __aenter__(self) -> Editor:
        await self._client.start_io(sys.executable, "-m", "jitwatch", "server", cwd=self._cwd)
        parameters = types.InitializeParams(self._can, root_uri=self.folder.as_uri())
        self.server = await self._client.initialize_async(parameters)
        self._client.initialized(types.InitializedParams())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        process = self._process
        if process.returncode is None and kind is None:
            await self._client.shutdown_async(None)
            self._client.exit(None)
            assert await self.ended() == 0
        elif process.returncode is None:
            process.kill()
        await self._client.stop()  # type: ignore[no-untyped-call]
        if kind is None:
            assert self.stderr == ""

    @property
    def _process(self) -> asyncio.subprocess.Process:
        process = self._client._server
        assert process is not None
        return process

    async def ended(self) -> int:
        """Wait for the server to end; returns its exit code."""
        assert self._process.stderr is not None
        self.stderr += (await asyncio.wait_for(self._process.stderr.read(), PATIENCE)).decode()
        return await asyncio.wait_for(self._process.wait(), PATIENCE)

    async def go_away(self) -> None:
        """Close the pipe without a word, as an editor that crashes does; the server must not live on."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert await self.ended() == 1

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, name: str, text: str | None = None, language: str = "python") -> None:
        self.texts[name] = (self.folder / name).read_text() if text is None else text
        self.versions[name] = self.versions.get(name, 0) + 1
        document = types.TextDocumentItem(self.uri(name), language, self.versions[name], self.texts[name])
        self._client.text_document_did_open(types.DidOpenTextDocumentParams(document))

    def change(self, name: str, text: str) -> None:
        self.texts[name] = text
        self.versions[name] += 1
        document = types.VersionedTextDocumentIdentifier(self.versions[name], self.uri(name))
        whole = types.TextDocumentContentChangeWholeDocument(text)
        self._client.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))

    def save(self, name: str) -> None:
        (self.folder / name).write_text(self.texts[name])
        document = types.TextDocumentIdentifier(self.uri(name))
        self._client.text_document_did_save(types.DidSaveTextDocumentParams(document))

    def close(self, name: str) -> None:
        document = types.TextDocumentIdentifier(self.uri(name))
        self._client.text_document_did_close(types.DidCloseTextDocumentParams(document))

    def tell_of(self, name: str) -> None:
        """Say that a file changed on disk."""
        event = types.FileEvent(self.uri(name), types.FileChangeType.Changed)
        self._client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))

    async def diagnosed(self, name: str) -> list[types.Diagnostic]:
        """Wait for what is said of the newest text of a file; each answer is given once."""
        uri = self.uri(name)

        def is_new() -> bool:
            return uri in self.published and self.published[uri].version in (self.versions[name], None)

        await self._until(is_new)
        return list(self.published.pop(uri).diagnostics)

    async def codes(self, name: str) -> list[str]:
        """Wait likewise for the codes alone."""
        return [str(each.code) for each in await self.diagnosed(name)]

    async def told(self, words: str) -> str:
        """Wait for a message to the user."""
        await self._until(lambda: any(words in each for each in self.messages))
        return next(each for each in self.messages if words in each)

    async def hover(self, name: str, word: str, within: str = "", last: bool = False) -> str | None:
        """Rest the mouse on a word, the first (or last) of a file, or of the first line that holds ``within``."""
        at = self.texts[name].index(within)
        found = re.compile(rf"\b{word}\b")
        begin = [each.start() for each in found.finditer(self.texts[name], at)][-1 if last else 0]
        document = types.TextDocumentIdentifier(self.uri(name))
        place = types.HoverParams(document, position(self.texts[name], begin + 1))
        got = await self._client.text_document_hover_async(place)
        if got is None:
            return None
        assert isinstance(got.contents, types.MarkupContent)
        return got.contents.value

    async def actions(
        self, name: str, diagnostic: types.Diagnostic | None = None, only: Sequence[str] | None = None
    ) -> list[types.CodeAction]:
        """Ask what can be done about a diagnostic, or anywhere in the file."""
        whole = types.Range(types.Position(0, 0), position(self.texts[name], len(self.texts[name])))
        parameters = types.CodeActionParams(
            types.TextDocumentIdentifier(self.uri(name)),
            diagnostic.range if diagnostic else whole,
            types.CodeActionContext([diagnostic] if diagnostic else [], only),
        )
        got = await self._client.text_document_code_action_async(parameters) or []
        return [action for action in got if isinstance(action, types.CodeAction)]

    def apply(self, action: types.CodeAction) -> None:
        """Do what an action says, in every file it names."""
        assert action.edit is not None
        for uri, version, edits in _changes(action.edit):
            name = Path(uri.removeprefix(self.folder.as_uri() + "/")).as_posix()
            if name in self.versions:
                assert version == self.versions[name]
                self.change(name, applied(self.texts[name], edits))
            else:
                file = self.folder / name
                file.write_text(applied(file.read_text(), edits))

    def covered(self, name: str, diagnostic: types.Diagnostic) -> str:
        """Text that a diagnostic underlines."""
        text = self.texts[name]
        return text[offset(text, diagnostic.range.start) : offset(text, diagnostic.range.end)]

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._news.clear()
            await asyncio.wait_for(self._news.wait(), PATIENCE)

    def _on_published(self, params: types.PublishDiagnosticsParams) -> None:
        self.answers += 1
        self.published[params.uri] = params
        self._news.set()

    def _on_message(self, params: types.ShowMessageParams | types.LogMessageParams) -> None:
        self.messages.append(params.message)
        self._news.set()

    def _on_registered(self, params: types.RegistrationParams) -> None:
        self.watched += [each.method for each in params.registrations]


def _changes(edit: types.WorkspaceEdit) -> list[tuple[str, int | None, Sequence[types.TextEdit]]]:
    found: list[tuple[str, int | None, Sequence[types.TextEdit]]] = []
    for each in edit.document_changes or ():
        assert isinstance(each, types.TextDocumentEdit)
        plain = [one for one in each.edits if isinstance(one, types.TextEdit)]
        found.append((each.text_document.uri, each.text_document.version, plain))
    return found


def applied(text: str, edits: Sequence[types.TextEdit]) -> str:
    """Text with edits made, the last first."""
    places = [(offset(text, e.range.start), offset(text, e.range.end), e.new_text) for e in edits]
    for start, end, new in sorted(places, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def offset(text: str, place: types.Position) -> int:
    """Characters before a position, which counts UTF-16 code units."""
    starts = [0, *(each.end() for each in LINE_END.finditer(text))]
    rest = text[starts[place.line] :]
    units = rest.encode("utf-16-le")[: place.character * 2]
    return starts[place.line] + len(units.decode("utf-16-le"))


def position(text: str, place: int) -> types.Position:
    """Position of a character."""
    starts = [0, *(each.end() for each in LINE_END.finditer(text, 0, place))]
    return types.Position(len(starts) - 1, len(text[starts[-1] : place].encode("utf-16-le")) // 2)
