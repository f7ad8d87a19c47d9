"""Remembers what a file or a whole run came to, keyed by content, rules and version.

Lives in ``.jitwatch_cache`` beside the configuration. What is read back is checked against its digest and can
only build the model's own classes: a cache that arrives with somebody's repository must not run code. Anything
unreadable counts as absent, and nothing here ever raises.
"""

from __future__ import annotations

import functools
import hashlib
import io
import os
import pickle
import sys
import time
from pathlib import Path
from typing import Any

from jitwatch import __version__
from jitwatch.lint import registry

FOLDER = ".jitwatch_cache"

_UNUSED_AFTER = 30 * 86400
"""Seconds after which another version's or a deleted file's entries go."""

_TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# This folder is a cache of jitwatch lint.\n"


def digest(*parts: bytes | str) -> bytes:
    """Digest of parts in order."""
    state = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.digest()


class Cache:
    """Entries by name; each holds what its content key was and a value made of plain data and model classes."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / FOLDER
        self.folder = self.root / version_digest().hex()

    def load(self, name: bytes, content: bytes) -> Any:
        """Return what was stored under ``name`` for this content, or None."""
        try:
            data = (self.folder / name.hex()).read_bytes()
        except OSError:
            return None
        if data[:16] != content or data[16:32] != digest(data[32:]):
            return None
        return loads(data[32:])

    def store(self, name: bytes, content: bytes, pickled: bytes) -> None:
        """Keep a value under ``name``, in the place of an older one."""
        target = self.folder / name.hex()
        temporary = target.with_suffix(f".{os.getpid()}")
        try:
            if not self.folder.exists():
                self._create()
            temporary.write_bytes(content + digest(pickled) + pickled)
            temporary.replace(target)
        except OSError:
            pass  # a read-only tree: every run is a cold one

    def _create(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.root / "CACHEDIR.TAG").write_text(_TAG, encoding="ascii")
        (self.root / ".gitignore").write_text("*\n", encoding="ascii")
        self._sweep()

    def _sweep(self) -> None:
        """Remove what no run has written for a month."""
        too_old = time.time() - _UNUSED_AFTER
        for version in self.root.iterdir():
            if version.is_dir() and version != self.folder and version.stat().st_mtime < too_old:
                for entry in version.iterdir():
                    entry.unlink()
                version.rmdir()


def dumps(value: object) -> bytes:
    """Pickle a value."""
    return pickle.dumps(value, protocol=5)


def loads(data: bytes) -> Any:
    """Unpickle a value made of plain data and model classes; None for anything else."""
    try:
        return _Restricted(io.BytesIO(data)).load()
    except (pickle.UnpicklingError, AttributeError, EOFError, ImportError, IndexError, TypeError, ValueError):
        return None


_HARMLESS = frozenset({("builtins", "frozenset"), ("_operator", "or_")})
"""``or_``: some releases of Python pickle a Flag as the members that make it up."""


_DATA = (
    "jitwatch.source.model",
    "jitwatch.lint.finding",
    "jitwatch.lint.discovery",
    "jitwatch.fix.changes",
)
"""Modules of the model and the findings."""


class _Restricted(pickle.Unpickler):
    """Builds the data classes and enums of the model and the findings, and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if module in _DATA:
            return super().find_class(module, name)
        if (module, name) in _HARMLESS:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} has no place in the cache")


@functools.lru_cache(maxsize=1)
def version_digest() -> bytes:
    """Digest of everything that a result depends on besides the linted files and their settings."""
    package = Path(__file__).parent.parent
    files = [
        file for part in ("source", "lint", "fix", "rules") for file in sorted((package / part).glob("*.py"))
    ]
    others = {sys.modules[type(rule).__module__].__file__ for rule in registry.all_rules().values()}
    files += [Path(file) for file in sorted(filter(None, others)) if Path(file).parent != package / "rules"]
    contents = (file.read_bytes() for file in files)
    return digest(__version__, sys.version, *contents)
