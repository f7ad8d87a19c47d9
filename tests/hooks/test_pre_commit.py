"""The hooks under the real pre-commit: it clones this repository, installs it, and stands between a commit and git."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.testing import sample_project
from tests.testing.conftest import ON_DEVICE

pytestmark = pytest.mark.skipif(ON_DEVICE, reason="pre-commit installs the hooks from a package registry")

ROOT = Path(__file__).resolve().parents[2]

LINT = "      - id: jitwatch-lint\n"
FIX_AND_LINT = "      - id: jitwatch-fix\n" + LINT

REPOSITORY = """\
repos:
  - repo: {}
    rev: {}
    hooks:
"""

ROWS = """
@triton.jit
def scale_four_rows(x_ptr, y_ptr, num_tokens, WIDTH: tl.constexpr):
    rows = tl.program_id(0) * 4 + tl.arange(0, 4)
    at = rows[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
    inside = (rows < num_tokens)[:, None]
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=inside) * 2, mask=inside)
"""
"""A length whose opt-out the compiler alone proves harmless."""

BAD = [
    ("JW001", "num_tokens", "scale_rows"),
    ("JW002", "seq_len", "mask_rows"),
    ("JW009", "scale_stride", "scale_columns"),
    ("JW011", "seq_lens_ptr", "count_blocks"),
]
"""The sample's four: rule, argument, kernel."""

EXCLUDE = """
[tool.jitwatch.lint]
exclude = ["generated/"]
"""


def git(*words: str, cwd: Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    who = {
        f"GIT_{role}_{what}": "a@example" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return subprocess.run(
        ["git", *words], cwd=cwd, check=check, capture_output=True, text=True, env={**inherited, **who}
    )


def commit_all(folder: Path, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    git("add", "-A", cwd=folder)
    return git("commit", "-m", "change", *words, cwd=folder, check=check)


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> str:
    """This working tree as a repository of its own: the head of a configuration that uses its hooks."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: there is no list of what belongs to it")
    copy = tmp_path_factory.mktemp("hooks") / "jitwatch"
    files = git("ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).stdout.split("\0")
    for name in files:
        if name and (ROOT / name).exists():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name, follow_symlinks=False)
    git("init", "-q", cwd=copy)
    commit_all(copy, "-q")
    return REPOSITORY.format(copy, git("rev-parse", "HEAD", cwd=copy).stdout.strip())


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pre-commit installs the hooks: once, for all the tests here."""
    return tmp_path_factory.mktemp("pre-commit")


@pytest.fixture
def project(tmp_path: Path, hooks: str, installed: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The sample project with both hooks, nothing committed yet."""
    monkeypatch.setenv("PRE_COMMIT_HOME", str(installed))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    sample_project.build(tmp_path)
    configure(tmp_path, hooks + FIX_AND_LINT)
    git("init", "-q", cwd=tmp_path)
    command = [sys.executable, "-m", "pre_commit", "install"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    return tmp_path


def configure(folder: Path, config: str) -> None:
    (folder / ".pre-commit-config.yaml").write_text(config)


def stopped(folder: Path) -> str:
    """Commit all, which must fail; returns what was said."""
    ran = commit_all(folder, check=False)
    assert ran.returncode == 1
    return ran.stdout + ran.stderr


def test_a_commit_with_bad_kernels_is_stopped_mended_and_then_passes(project: Path) -> None:
    said = stopped(project)
    assert "files were modified by this hook" in said
    for code, parameter, kernel in BAD:
        assert f"1 × {code} (" in said
        assert f": {parameter} of {kernel}\n" in said
    assert git("rev-parse", "HEAD", cwd=project, check=False).returncode != 0

    assert commit_all(project).returncode == 0
    committed = git("show", "HEAD:server/kernels.py", cwd=project).stdout
    for decorated in (
        '@triton.jit(do_not_specialize=["num_tokens"])\ndef scale_rows',
        '@triton.jit(do_not_specialize=["seq_len"])\ndef mask_rows(x_ptr, y_ptr, seq_len, WIDTH',
        '@triton.jit(do_not_specialize=["num_tokens", "scale_stride"])\ndef scale_columns',
        '@triton.jit(do_not_specialize_on_alignment=["seq_lens_ptr"])\ndef count_blocks',
    ):
        assert decorated in committed


def test_what_the_source_does_not_prove_is_shown_and_written_as_the_arguments_say(
    project: Path, hooks: str
) -> None:
    kernels = project / "server" / "kernels.py"
    before = kernels.read_text().partition("@triton.jit")[0] + ROWS
    kernels.write_text(before)
    (project / "server" / "ops.py").write_text("")
    after = before.replace("jit\n", 'jit(do_not_specialize=["num_tokens"])\n')

    said = stopped(project)
    assert "JW001 `num_tokens` of `scale_four_rows`" in said
    assert 'instead: do_not_specialize=["num_tokens"]' in said
    assert "1 fixable with `--fix --unsafe-fixes`." in said
    assert kernels.read_text() == before
    # The interpreter that has Triton is the project's: the hook's own stays small.
    for words in ("--unsafe-fixes", f"--verify, --python={sys.executable}, --target=cuda:90"):
        configure(project, hooks + FIX_AND_LINT.replace("fix\n", f"fix\n        args: [{words}]\n"))
        kernels.write_text(before)
        assert "Fixed 1 finding." in stopped(project)
        assert kernels.read_text() == after
    assert commit_all(project).returncode == 0


def test_only_what_is_committed_is_reported_in_the_light_of_the_whole_repository(
    project: Path, hooks: str, installed: Path
) -> None:
    configure(project, hooks + LINT)
    said = stopped(project)
    for code, parameter, kernel in BAD:
        assert any(all(word in line for word in (code, parameter, kernel)) for line in said.splitlines()), (
            said
        )
    configure(project, hooks + FIX_AND_LINT)
    stopped(project)
    commit_all(project)

    # Only the changed kernel file is passed; that its length is one, the launches in other files say.
    kernels = project / "server" / "kernels.py"
    kernels.write_text(kernels.read_text().replace('["num_tokens", "scale_stride"]', '["num_tokens"]'))
    configure(project, hooks + LINT)
    assert "JW009" in stopped(project)
    git("checkout", "HEAD", "--", ".", cwd=project)

    with (project / "pyproject.toml").open("a") as settings:
        settings.write(EXCLUDE)
    (project / "generated").mkdir()
    (project / "generated" / "kernels.py").write_text(sample_project.KERNELS)
    assert commit_all(project).returncode == 0

    # What the hook installed is enough for it, and is small.
    (python,) = installed.glob("repo*/py_env-*/bin/python")
    program = "import importlib.metadata as m; print(*(d.name for d in m.distributions()))"
    listed = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True)
    assert {"triton", "torch", "numpy"}.isdisjoint(listed.stdout.split())
