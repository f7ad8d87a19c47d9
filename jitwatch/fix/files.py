"""Files are written whole or not at all, and keep their mode."""

from __future__ import annotations

import contextlib
import difflib
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from jitwatch.errors import JitwatchError
from jitwatch.fix.text import encoding_of


def replace_file(path: str, content: bytes, expected: bytes | None = None) -> None:
    """Put new content in the place of a file's, in one step that an interrupt cannot cut in two.

    ``expected``: what the file must still hold. Raises JitwatchError when it holds something else or cannot be
    written.
    """
    target = Path(path).resolve()  # a link stays one
    try:
        if expected is not None and target.read_bytes() != expected:
            raise JitwatchError(f"{path}: changed while it was linted; run it again")
        mode = target.stat().st_mode
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.chmod(mode & 0o7777)
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync_folder(target.parent)
    except OSError as error:
        raise JitwatchError(f"{path}: cannot be written: {(error.strerror or str(error)).lower()}") from error


def _sync_folder(folder: Path) -> None:
    """Have the rename on disk too; some file systems cannot, and lose nothing but the newest state."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def diff_lines(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Iterator[str]:
    """Yield a unified diff, file by file, without line ends."""
    for path in sorted(after):
        old, new = (_lines(each[path]) for each in (before, after))
        for line in difflib.unified_diff(old, new, path, path):
            yield line.rstrip("\r\n")


def _lines(source: bytes) -> list[str]:
    return source.decode(encoding_of(source), errors="replace").splitlines(keepends=True)
