"""Settings: ``[tool.jitwatch.lint]`` of the nearest pyproject.toml, and the command line above it."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jitwatch.errors import JitwatchError
from jitwatch.lint import registry

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

TABLE = "tool.jitwatch.lint"

ALWAYS_EXCLUDED = frozenset(
    (
        *("__pycache__", "__pypackages__", "_build", "build", "buck-out", "dist", "node_modules"),
        *("site-packages", "venv", ".venv", ".tox", ".nox", ".eggs", ".direnv", ".vscode"),
        *(".bzr", ".git", ".hg", ".svn", ".ipynb_checkpoints"),
        *(".jitwatch", ".jitwatch_cache", ".mypy_cache", ".pytest_cache", ".pytype", ".ruff_cache"),
    )
)
"""Folder names that are never walked into; naming one on the command line lints it all the same."""


@dataclass(frozen=True)
class Settings:
    """What holds for one folder. Field names are the keys of the table, with ``_`` for ``-``."""

    select: tuple[str, ...] = ("ALL",)
    """Codes, beginnings of codes, names, or ``ALL``."""
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Pattern (as in .gitignore) and the codes ignored in files that match it."""
    exclude: tuple[str, ...] = ()
    """Patterns of files and folders left out, besides ``ALWAYS_EXCLUDED`` and what .gitignore names."""
    context: tuple[str, ...] = ()
    """Files and folders, relative to the configuration, that are read for their launches and kernels but not
    reported on. With it a single file, as pre-commit passes it, gets the findings of a whole run."""
    jit_decorators: tuple[str, ...] = ()
    """Names of the project's own decorators that jit-compile a kernel, such as ``mylib.kernel``."""
    autotune_decorators: tuple[str, ...] = ()
    """Names of the project's own decorators that tune a kernel and take ``key=``."""
    root: str = "."
    """Folder that the patterns are relative to."""
    source: str | None = None
    """The pyproject.toml they come from."""
    overrides: Overrides | None = None
    """What the command line adds."""

    @functools.cached_property
    def chosen(self) -> frozenset[str]:
        """Codes of the selected rules: the command line has the last word."""
        over = self.overrides or Overrides()
        if over.select:
            return registry.choose((*over.select, *over.extend_select), over.ignore)
        chosen = registry.choose((*self.select, *self.extend_select), self.ignore)
        ignored = frozenset().union(*map(registry.matching, over.ignore))
        return (chosen - ignored) | registry.choose(over.extend_select, over.ignore)

    def codes_for(self, path: str) -> frozenset[str]:
        """Codes of the rules that run on a file."""
        codes = self.chosen
        for pattern, ignored in self.per_file_ignores:
            if _spec((pattern,)).match_file(_relative(path, self.root)):
                codes -= frozenset().union(*(registry.matching(selector) for selector in ignored))
        return codes

    def excludes(self, path: str, *, folder: bool) -> bool:
        """Whether a pattern of ``exclude`` names this file or folder."""
        patterns = self.exclude + (self.overrides.exclude if self.overrides else ())
        return bool(patterns) and _spec(patterns).match_file(_relative(path, self.root) + "/" * folder)


KEYS = tuple(
    f.name.replace("_", "-") for f in fields(Settings) if f.name not in ("root", "source", "overrides")
)


@dataclass(frozen=True)
class Overrides:
    """What the command line says: ``select`` replaces the file's, the others add to it."""

    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    """Relative to the working directory."""
    isolated: bool = False
    """Read no configuration file."""


@dataclass
class Configuration:
    """Finds the settings of a folder: the nearest pyproject.toml upward that has the table."""

    overrides: Overrides = Overrides()
    _known: dict[str, Settings] = field(default_factory=dict)

    def of(self, folder: str) -> Settings:
        """Return the settings that hold in a folder. Raises JitwatchError on a bad file."""
        folder = os.path.abspath(folder)
        if folder not in self._known:
            self._known[folder] = self._find(folder)
        return self._known[folder]

    def decorators(self, path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the jit and the autotune decorators that the settings of a file add."""
        settings = self.of_file(path)
        return settings.jit_decorators, settings.autotune_decorators

    def of_file(self, path: str) -> Settings:
        """Return the settings that hold for a file."""
        return self.of(os.path.dirname(path))

    def _find(self, folder: str) -> Settings:
        parent = os.path.dirname(folder)
        if not self.overrides.isolated:
            table = read_table(os.path.join(folder, "pyproject.toml"))
            if table is not None:
                return replace(table, overrides=self.overrides)
        if parent == folder or self.overrides.isolated:
            return Settings(root=os.getcwd(), overrides=self.overrides)
        return self.of(parent)


def read_table(path: str) -> Settings | None:
    """Read the lint table of a pyproject.toml; None when there is no such file or table.

    Raises JitwatchError for what is not TOML, an unknown key or a value of the wrong kind.
    """
    try:
        data = Path(path).read_bytes()
    except (FileNotFoundError, NotADirectoryError, PermissionError, IsADirectoryError):
        return None
    # Most pyproject.toml on the way up are other people's: neither parse them nor complain about them.
    if b"jitwatch" not in data:
        return None
    table = _parse(path, data).get("tool", {}).get("jitwatch", {})
    if not isinstance(table, dict):
        raise JitwatchError(f"{path}: tool.jitwatch must be a table")
    if misplaced := next((key for key in table if key in KEYS), None):
        raise JitwatchError(f"{path}: {misplaced} belongs in [{TABLE}], not in [tool.jitwatch]")
    if "lint" not in table:
        return None
    return _settings(path, table["lint"])


def _parse(path: str, data: bytes) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        parsed: dict[str, Any] = tomllib.loads(data.decode())
        return parsed
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise JitwatchError(f"{path}: not TOML: {error}") from error


def _settings(path: str, table: object) -> Settings:
    if not isinstance(table, dict):
        raise JitwatchError(f"{path}: {TABLE} must be a table")
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in KEYS:
            raise JitwatchError(f"{path}: [{TABLE}] has no key {key!r}{registry.nearest(key, KEYS)}")
        if key == "per-file-ignores":
            values["per_file_ignores"] = _per_file(path, value)
        else:
            values[key.replace("-", "_")] = _strings(path, key, value)
    settings = Settings(**values, root=os.path.dirname(os.path.abspath(path)), source=path)
    _check_selectors(path, settings)
    return settings


def _per_file(path: str, value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, Mapping):
        raise JitwatchError(f"{path}: {TABLE}.per-file-ignores must be a table of pattern = [codes]")
    return tuple((pattern, _strings(path, "per-file-ignores", codes)) for pattern, codes in value.items())


def _strings(path: str, key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise JitwatchError(f'{path}: {TABLE}.{key} must be a list of strings, such as ["JW001"]')
    return tuple(value)


def _check_selectors(path: str, settings: Settings) -> None:
    """Find misspelled codes now, with the file's name, rather than at the first file they would concern."""
    per_file = (code for _, codes in settings.per_file_ignores for code in codes)
    for selector in (*settings.select, *settings.extend_select, *settings.ignore, *per_file):
        try:
            registry.matching(selector)
        except JitwatchError as error:
            raise JitwatchError(f"{path}: {error}") from None


def _relative(path: str, root: str) -> str:
    return os.path.relpath(path, root).replace(os.sep, "/")


@functools.lru_cache(maxsize=256)
def _spec(patterns: Sequence[str]) -> GitIgnoreSpec:
    # Imported here: 63 ms that a project without patterns need not pay.
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines(patterns)
