"""Connects a session to an editor over standard input and output."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from typing import Any

from lsprotocol import types

from jitwatch.server.fixall import KIND
from jitwatch.server.session import PAUSE, Session


def serve() -> int:
    """Serve until the editor ends the session: 0, or goes away without a word: 1."""
    # What a rule prints would be read as a message: from here on, stdout is stderr, and the protocol has its own.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    session = connected()
    session.start_io(stdout=out)
    return 0 if session.ended else 1


def initialize(session: Session, params: types.InitializeParams) -> None:
    """Stand in the folder that was opened: settings, paths and the cache belong to it."""
    for folder in session.folders()[:1]:
        with contextlib.suppress(OSError):  # opened, and gone by now
            os.chdir(folder)


def initialized(session: Session, params: types.InitializedParams) -> None:
    """Ask for what only an editor that is ready gives."""
    session.watch_files()


def typed(session: Session, params: types.DidChangeTextDocumentParams) -> None:
    """Wait for a pause in the typing."""
    session.changed(PAUSE)


def settled(session: Session, params: object) -> None:
    """Lint at once."""
    session.changed()


async def hover(session: Session, params: types.HoverParams) -> types.Hover | None:
    """Explain what the mouse rests on."""
    return await session.hover(params)


async def code_actions(session: Session, params: types.CodeActionParams) -> list[types.CodeAction]:
    """Offer fixes."""
    return await session.code_actions(params)


def ending(session: Session, params: None) -> None:
    """Remember that the editor took its leave."""
    session.ended = True


HANDLERS: dict[str, Callable[..., Any]] = {
    types.INITIALIZE: initialize,
    types.INITIALIZED: initialized,
    types.TEXT_DOCUMENT_DID_OPEN: settled,
    types.TEXT_DOCUMENT_DID_CHANGE: typed,
    types.TEXT_DOCUMENT_DID_SAVE: settled,
    types.TEXT_DOCUMENT_DID_CLOSE: settled,
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES: settled,
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: settled,
    types.TEXT_DOCUMENT_HOVER: hover,
    types.TEXT_DOCUMENT_CODE_ACTION: code_actions,
    types.SHUTDOWN: ending,
}
"""What is done at each message; pygls passes the session to a handler whose first parameter is one."""

OPTIONS = {
    types.TEXT_DOCUMENT_CODE_ACTION: types.CodeActionOptions([types.CodeActionKind.QuickFix, KIND]),
}


def connected() -> Session:
    """Make a session that answers an editor's messages."""
    session = Session()
    for message, handler in HANDLERS.items():
        session.feature(message, OPTIONS.get(message))(handler)
    return session
