from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from jitwatch.lint.config import Configuration, Overrides
from jitwatch.lint.discovery import discover

Write = Callable[..., Path]


def files(*paths: str, exclude: tuple[str, ...] = (), force_exclude: bool = False) -> list[str]:
    configuration = Configuration(Overrides(exclude=exclude))
    return list(discover(paths or (".",), configuration, force_exclude=force_exclude).files)


def test_virtual_environments_and_caches_are_not_walked_into(project: Write) -> None:
    project(
        {".venv/lib/a.py": "", "node_modules/a.py": "", ".git/a.py": "", "src/a.py": "", "build/a.py": ""}
    )
    assert files() == ["src/a.py"]


def test_a_folder_that_is_named_is_walked_even_when_its_name_is_excluded(project: Write) -> None:
    project({".venv/lib/site-packages/pkg/a.py": ""})
    assert files(".venv/lib/site-packages/pkg") == [".venv/lib/site-packages/pkg/a.py"]
    assert files(".venv") == []


def test_gitignored_files_are_left_out_and_the_innermost_gitignore_decides(project: Write) -> None:
    root = project(
        {
            ".gitignore": "generated/\n*_pb2.py\n",
            "generated/a.py": "",
            "x_pb2.py": "",
            "kept/.gitignore": "!y_pb2.py\nown.py\n",
            "kept/y_pb2.py": "",
            "kept/own.py": "",
        }
    )
    (root / ".git").mkdir()
    assert files() == ["kept/y_pb2.py"]


def test_gitignore_of_the_repository_holds_below_a_folder_that_is_named(project: Write) -> None:
    root = project({".gitignore": "/src/skip/\n", "src/skip/a.py": "", "src/b.py": ""})
    (root / ".git").mkdir()
    assert files("src") == ["src/b.py"]


def test_an_ignored_folder_that_is_named_is_linted(project: Write) -> None:
    root = project({".gitignore": "vendor/\n", "vendor/a.py": ""})
    (root / ".git").mkdir()
    assert files("vendor") == ["vendor/a.py"]


def test_exclude_takes_gitignore_patterns(project: Write) -> None:
    project({"a/generated/x.py": "", "a/y.py": "", "b/z_gen.py": ""})
    assert files(exclude=("generated/", "*_gen.py")) == ["a/y.py"]


def test_a_named_file_is_linted_although_excluded_unless_forced(project: Write) -> None:
    project({"gen/x.py": "", ".venv/y.py": ""})
    assert files("gen/x.py", exclude=("gen/",)) == ["gen/x.py"]
    assert files("gen/x.py", ".venv/y.py", exclude=("gen/",), force_exclude=True) == []


def test_loops_of_links_end(project: Write) -> None:
    root = project({"src/a.py": ""})
    (root / "src" / "loop").symlink_to(root / "src")
    (root / "src" / "self.py").symlink_to(root / "src" / "self.py")
    (root / "src" / "gone.py").symlink_to(root / "nowhere.py")
    assert files() == ["src/a.py"]


def test_a_file_is_listed_once_however_often_it_is_named(project: Write) -> None:
    root = project({"src/a.py": ""})
    assert files("src", "./src/a.py", str(root / "src")) == ["src/a.py"]


def test_what_does_not_exist_is_a_problem_and_the_rest_is_found(project: Write) -> None:
    project({"a.py": ""})
    found = discover(["nowhere", "a.py", "bad\0name"], Configuration())
    assert list(found.files) == ["a.py"]
    assert [str(problem) for problem in found.problems] == [
        "nowhere: no such file or folder",
        "bad\0name: cannot be read: embedded null byte",
    ]


def test_notebooks_are_counted_and_left_out(project: Write) -> None:
    project({"a.ipynb": "{}", "sub/b.ipynb": "{}", "c.py": ""})
    found = discover(["."], Configuration())
    assert (list(found.files), found.notebooks) == (["c.py"], 2)


def test_a_named_file_needs_no_suffix(project: Write) -> None:
    project({"script": ""})
    assert files("script") == ["script"]
