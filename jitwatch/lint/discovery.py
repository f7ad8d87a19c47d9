"""Which files to lint: the paths of the command line, folders walked, what is excluded left out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from jitwatch.lint.config import ALWAYS_EXCLUDED, Configuration

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


@dataclass(frozen=True, order=True)
class Problem:
    """A file that could not be linted: the others are, and the exit code is 2."""

    path: str
    line: int | None
    column: int | None
    message: str

    def __str__(self) -> str:
        place = [str(part) for part in (self.line, self.column) if part is not None]
        return f"{':'.join([self.path, *place])}: {self.message}"


@dataclass
class Discovery:
    """What the paths came to."""

    files: dict[str, bool] = field(default_factory=dict)
    """Path as it is displayed -> whether the command line named it. In the order found."""
    problems: list[Problem] = field(default_factory=list)
    notebooks: int = 0
    """``.ipynb`` files left out."""


def discover(paths: Iterable[str], configuration: Configuration, *, force_exclude: bool = False) -> Discovery:
    """Find the Python files of ``paths``.

    A file named itself is taken whatever its suffix and even where a pattern excludes it, unless
    ``force_exclude`` (pre-commit names every file). Links to folders are not followed, so no loop is entered
    and no file is seen twice.
    """
    found = Discovery()
    for given in paths:
        path = displayed(given)
        if force_exclude and is_excluded(path, configuration):
            continue
        try:
            is_folder = os.path.isdir(path)
            if not is_folder:
                os.stat(path)
        except (OSError, ValueError) as error:
            found.problems.append(Problem(path, None, None, explain(error)))
            continue
        if is_folder:
            for file in _Walk(configuration, found).below(path):
                found.files.setdefault(file, False)
        elif path.endswith(".ipynb"):
            found.notebooks += 1
        else:
            found.files[path] = True
    return found


def displayed(path: str) -> str:
    """Relative to the working folder when the path is below it, as given otherwise."""
    absolute = os.path.abspath(path)
    here = os.getcwd()
    if absolute == here:
        return "."
    prefix = here.rstrip(os.sep) + os.sep
    return absolute[len(prefix) :] if absolute.startswith(prefix) else os.path.normpath(path)


def explain(error: OSError | ValueError) -> str:
    """One line for a path that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return "no such file or folder"
    if isinstance(error, OSError) and error.strerror:
        return f"cannot be read: {error.strerror.lower()}"
    return f"cannot be read: {error}"


def is_excluded(path: str, configuration: Configuration) -> bool:
    """Whether a walk would never come to a path: it or a folder around it is excluded or ignored by git."""
    settings = configuration.of(os.path.dirname(os.path.abspath(path)))
    inside = os.path.relpath(path, settings.root).split(os.sep)
    if ".." not in inside and ALWAYS_EXCLUDED.intersection(inside):
        return True
    return settings.excludes(path, folder=os.path.isdir(path)) or _Ignores.above(path).ignores(
        os.path.abspath(path), folder=False
    )


@dataclass
class _Walk:
    configuration: Configuration
    found: Discovery

    def below(self, folder: str) -> Iterator[str]:
        ignores = _Ignores.above(folder)
        # Naming an ignored folder (a virtual environment, say) is asking for it: its own rules still hold.
        if ignores.ignores(os.path.abspath(folder), folder=True):
            ignores = _Ignores()
        yield from self._walk(folder, ignores)

    def _walk(self, folder: str, ignores: _Ignores) -> Iterator[str]:
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            self.found.problems.append(Problem(folder, None, None, explain(error)))
            return
        if any(entry.name == ".gitignore" for entry in entries):
            ignores = ignores.within(os.path.abspath(folder))
        settings = self.configuration.of(folder)
        folders = []
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            if not is_folder and not entry.name.endswith((".py", ".ipynb")):
                continue
            if is_folder and entry.name in ALWAYS_EXCLUDED:
                continue
            path = entry.name if folder == "." else os.path.join(folder, entry.name)
            if settings.excludes(path, folder=is_folder) or ignores.ignores(
                os.path.abspath(path), folder=is_folder
            ):
                continue
            if is_folder:
                folders.append(path)
            elif not _is_file(entry):
                continue
            elif entry.name.endswith(".ipynb"):
                self.found.notebooks += 1
            else:
                yield path
        for path in folders:
            yield from self._walk(path, ignores)


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link that leads to itself
        return False


@dataclass(frozen=True)
class _Ignores:
    """The .gitignore files that apply in a folder, outermost first."""

    specs: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    @classmethod
    def above(cls, path: str) -> _Ignores:
        """Those between the root of the repository and ``path``; none when it is in no repository."""
        start = os.path.abspath(path)
        parents = list(Path(start).parents)
        root = next((i for i, p in enumerate(parents) if os.path.exists(p / ".git")), None)
        ignores = cls()
        if root is not None and not os.path.exists(os.path.join(start, ".git")):
            for parent in reversed(parents[: root + 1]):
                ignores = ignores.within(str(parent))
        return ignores

    def within(self, folder: str) -> _Ignores:
        try:
            lines = Path(folder, ".gitignore").read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return self
        from pathspec import GitIgnoreSpec

        return _Ignores((*self.specs, (folder.rstrip(os.sep) + os.sep, GitIgnoreSpec.from_lines(lines))))

    def ignores(self, path: str, *, folder: bool) -> bool:
        """Whether git would ignore an absolute path: the innermost file that says something decides."""
        for root, spec in reversed(self.specs):
            if path.startswith(root):
                verdict = spec.check_file(path[len(root) :].replace(os.sep, "/") + "/" * folder).include
                if verdict is not None:
                    return verdict
        return False
