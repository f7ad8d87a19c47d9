from __future__ import annotations

import os
import pickle
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from jitwatch.lint import cache
from tests.lint.conftest import BAD, GOOD, Lint, Ran

Write = Callable[..., Path]


def entries(root: Path) -> list[Path]:
    return [path for path in (root / ".jitwatch_cache").glob("*/*") if path.is_file()]


def same(one: Ran, other: Ran) -> bool:
    return (one.code, one.out, one.err) == (other.code, other.out, other.err)


def test_no_cache_writes_nothing(project: Write, lint: Lint) -> None:
    root = project({"a.py": BAD})
    lint("--no-cache")
    assert not (root / ".jitwatch_cache").exists()


def test_the_cache_marks_its_folder_for_backups_and_git(project: Write, lint: Lint) -> None:
    root = project({"a.py": BAD})
    lint()
    tag = (root / ".jitwatch_cache" / "CACHEDIR.TAG").read_text()
    assert tag.startswith("Signature: 8a477f597d28d172789f06886806bc55\n")
    assert (root / ".jitwatch_cache" / ".gitignore").read_text() == "*\n"


def test_the_cache_lies_beside_the_configuration(
    project: Write, lint: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = project({"pyproject.toml": "[tool.jitwatch.lint]\n", "sub/a.py": BAD})
    monkeypatch.chdir(root / "sub")
    lint()
    assert (root / ".jitwatch_cache").exists()
    assert not (root / "sub" / ".jitwatch_cache").exists()


def test_a_warm_run_parses_nothing_and_answers_the_same(
    project: Write, lint: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    project({"a.py": BAD, "b.py": GOOD, "broken.py": "import triton # jit\ndef f(:\n"})
    cold = lint()
    monkeypatch.setattr("jitwatch.lint.engine._run", None)
    assert same(cold, lint())


def test_a_changed_file_is_analysed_again_and_the_others_are_not(
    project: Write, lint: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    import jitwatch.source

    project({"a.py": BAD, "b.py": BAD})
    lint()
    project({"b.py": GOOD})
    analysed = []
    analyse = jitwatch.source.analyse_module

    def spy(path: str, source: bytes, **names: tuple[str, ...]) -> object:
        analysed.append(path)
        return analyse(path, source)

    monkeypatch.setattr(jitwatch.source, "analyse_module", spy)
    ran = lint("--format", "json")
    assert [finding["path"] for finding in ran.findings] == ["a.py"]
    assert analysed == ["b.py"]


@pytest.mark.parametrize(
    "change",
    [
        {"pyproject.toml": "[tool.jitwatch.lint]\nignore = ['JW006']\n"},
        {"a.py": GOOD},
        {"a.py": BAD.replace("\ndef", "  # noqa: JW006\ndef")},
    ],
)
def test_what_changes_the_answer_is_part_of_the_key(
    project: Write, lint: Lint, change: dict[str, str]
) -> None:
    project({"a.py": BAD})
    assert lint().code == 1
    project(change)
    assert lint().code == 0


def test_a_launch_elsewhere_is_part_of_the_key(project: Write, lint: Lint) -> None:
    kernels = "import triton\n@triton.jit\ndef fill(x, n):\n    pass\n"
    run = "from kernels import fill\ndef run(x, n):\n    fill[(1,)](x, n)\n    fill[(1,)](x, n{})\n"
    project({"kernels.py": kernels, "run.py": run.format("")})
    assert lint("--select", "JW010").code == 0
    project({"run.py": run.format(", num_warps=4")})
    assert lint("--select", "JW010").code == 1


def test_a_corrupt_cache_is_a_cold_one(project: Write, lint: Lint) -> None:
    root = project({"a.py": BAD, "b.py": GOOD})
    cold = lint()
    noise = random.Random(0)
    for spoil in (
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: noise.randbytes(len(data)),
        lambda data: data[:32] + noise.randbytes(len(data) - 32),
    ):
        for path in entries(root):
            path.write_bytes(spoil(path.read_bytes()))
        assert same(cold, lint())


def test_a_cache_that_came_with_a_repository_runs_no_code(project: Write, lint: Lint) -> None:
    root = project({"a.py": BAD})
    cold = lint()

    class Malice:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, ("pwned",)

    payload = pickle.dumps(Malice())
    for path in entries(root):
        path.write_bytes(path.read_bytes()[:16] + cache.digest(payload) + payload)
    assert same(cold, lint())
    assert not (root / "pwned").exists()


def test_a_folder_that_cannot_be_written_is_linted_all_the_same(project: Write, lint: Lint) -> None:
    root = project({"a.py": BAD})
    (root / ".jitwatch_cache").write_text("a file where the folder would be")
    assert lint().code == lint().code == 1


def test_what_no_version_has_used_for_a_month_is_swept(project: Write, lint: Lint) -> None:
    root = project({"a.py": BAD, ".jitwatch_cache/old/entry": "", ".jitwatch_cache/new/entry": ""})
    os.utime(root / ".jitwatch_cache" / "old", (0, 0))
    lint()
    assert not (root / ".jitwatch_cache" / "old").exists()
    assert (root / ".jitwatch_cache" / "new").exists()
