"""The hooks under the real pre-commit: it clones this repository, installs it, and stands between a commit and git."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.testing import sample_project

ROOT = Path(__file__).resolve().parents[2]

LINT = """\
repos:
  - repo: {repository}
    rev: {revision}
    hooks:
      - id: jitwatch-lint
"""

FIX_AND_LINT = LINT.replace(
    "      - id: jitwatch-lint",
    "      - id: jitwatch-fix\n        args: [{words}]\n      - id: jitwatch-lint",
)

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


@pytest.fixture
def hooks(tmp_path: Path) -> tuple[Path, str]:
    """This working tree as a repository of its own, and its revision."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: there is no list of what belongs to it")
    copy = tmp_path / "jitwatch"
    files = git("ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).stdout.split("\0")
    for name in files:
        if name and (ROOT / name).exists():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name, follow_symlinks=False)
    git("init", "-q", cwd=copy)
    commit_all(copy, "-q")
    return copy, git("rev-parse", "HEAD", cwd=copy).stdout.strip()


@pytest.fixture
def project(tmp_path: Path, hooks: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The sample project with the hook installed, nothing committed yet."""
    monkeypatch.setenv("PRE_COMMIT_HOME", str(tmp_path / "pre-commit"))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    folder = tmp_path / "project"
    folder.mkdir()
    sample_project.build(folder)
    configure(folder, LINT, hooks)
    git("init", "-q", cwd=folder)
    subprocess.run(
        [sys.executable, "-m", "pre_commit", "install"], cwd=folder, check=True, capture_output=True
    )
    return folder


def configure(folder: Path, hooks_wanted: str, hooks: tuple[Path, str], words: str = "") -> None:
    config = hooks_wanted.format(repository=hooks[0], revision=hooks[1], words=words)
    (folder / ".pre-commit-config.yaml").write_text(config)


def test_a_commit_with_bad_kernels_is_stopped_mended_and_then_passes(
    project: Path, hooks: tuple[Path, str], tmp_path: Path
) -> None:
    stopped = commit_all(project, check=False)
    assert stopped.returncode == 1
    shown = stopped.stdout + stopped.stderr
    for code, parameter, kernel in [
        ("JW001", "num_tokens", "scale_rows"),
        ("JW002", "seq_len", "mask_rows"),
        ("JW009", "scale_stride", "scale_columns"),
        ("JW011", "seq_lens_ptr", "count_blocks"),
    ]:
        assert any(all(word in line for word in (code, parameter, kernel)) for line in shown.splitlines()), (
            shown
        )
    assert git("rev-parse", "HEAD", cwd=project, check=False).returncode != 0

    # The safe fixes are none here; what somebody has to look at is written when it is asked for, and shown.
    configure(project, FIX_AND_LINT, hooks)
    assert commit_all(project, check=False).returncode == 1
    assert (project / "server" / "kernels.py").read_text() == sample_project.KERNELS
    configure(project, FIX_AND_LINT, hooks, "--unsafe-fixes, --show-fixes")
    mending = commit_all(project, check=False)
    assert mending.returncode == 1
    assert "files were modified by this hook" in mending.stdout + mending.stderr
    # Whether a tensor's alignment matters only its owner knows: that remedy is shown, never written.
    remedy = 'do_not_specialize_on_alignment=["seq_lens_ptr"]'
    assert "Fixed 3 findings" in mending.stdout + mending.stderr
    assert remedy in mending.stdout + mending.stderr
    kernels = project / "server" / "kernels.py"
    kernels.write_text(
        kernels.read_text().replace("jit\ndef count_blocks", f"jit({remedy})\ndef count_blocks")
    )
    again = commit_all(project, check=False)
    assert again.returncode == 0, again.stdout + again.stderr
    for decorated in (
        '@triton.jit(do_not_specialize=["num_tokens"])\ndef scale_rows',
        '@triton.jit(do_not_specialize=["seq_len"])\ndef mask_rows(x_ptr, y_ptr, seq_len, WIDTH',
        '@triton.jit(do_not_specialize=["num_tokens", "scale_stride"])\ndef scale_columns',
        '@triton.jit(do_not_specialize_on_alignment=["seq_lens_ptr"])\ndef count_blocks',
    ):
        assert decorated in git("show", "HEAD:server/kernels.py", cwd=project).stdout

    configure(project, LINT, hooks)
    # Only the changed kernel file is passed; that its length is one, the launches in other files say.
    kernels.write_text(kernels.read_text().replace('["num_tokens", "scale_stride"]', '["num_tokens"]'))
    again = commit_all(project, check=False)
    assert again.returncode == 1
    assert "JW009" in again.stdout + again.stderr
    git("checkout", "HEAD", "--", ".", cwd=project)

    (project / "pyproject.toml").open("a").write(EXCLUDE)
    (project / "generated").mkdir()
    (project / "generated" / "kernels.py").write_text(sample_project.KERNELS)
    assert commit_all(project, check=False).returncode == 0

    # What the hook installed is enough for it, and is small.
    (python,) = (tmp_path / "pre-commit").glob("repo*/py_env-*/bin/python")
    listed = subprocess.run(
        [python, "-c", "import importlib.metadata as m; print(*(d.name for d in m.distributions()))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert {"triton", "torch", "numpy"}.isdisjoint(listed.stdout.split())
