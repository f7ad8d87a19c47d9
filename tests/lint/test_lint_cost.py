"""What a command may import, and that workers give the answers one process gives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from jitwatch.lint.config import Configuration, Overrides
from jitwatch.lint.engine import Options, lint_paths
from tests.lint.conftest import BAD

Write = Callable[..., Path]

REPORT = """
import sys
from jitwatch.cli import main
code = main({arguments!r})
sys.stdout.flush()
heavy = ("triton", "torch", "numpy", "libcst", "rich", "pathspec", "multiprocessing", "asyncio", "jitwatch.runtime")
print(code, *[name for name in heavy if name in sys.modules], file=sys.stderr)
"""


def imported(*arguments: str) -> str:
    program = REPORT.format(arguments=list(arguments))
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return ran.stderr.strip()


@pytest.mark.parametrize("format_", ["full", "json", "sarif"])
def test_linting_a_file_imports_neither_triton_nor_torch_nor_what_it_does_not_need(
    project: Write, format_: str
) -> None:
    project({"a.py": BAD})
    assert imported("lint", "--format", format_, "a.py") == "1"


def test_explaining_a_rule_imports_rich_and_no_triton(project: Write) -> None:
    project({})
    assert imported("rule", "JW006") == "0 rich"


def test_a_pool_of_workers_finds_what_one_process_finds(
    project: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    project({f"m{number}.py": BAD + "# filler\n" * number for number in range(12)})
    monkeypatch.setattr("jitwatch.lint.analysis.WORTH_A_POOL", 1)
    progress: list[tuple[int, int]] = []
    configuration = Configuration(Overrides(isolated=True))
    options = Options(jobs=2, progress=lambda done, total: progress.append((done, total)))
    many = lint_paths(["."], configuration, options)
    one = lint_paths(["."], configuration, Options(jobs=1))
    assert many.findings == one.findings
    assert len(many.shown) == 12
    assert progress[-1][0] == progress[-1][1]
    assert [done for done, _ in progress] == sorted(done for done, _ in progress)


def test_a_file_that_kills_its_worker_is_a_problem_and_the_others_are_linted(
    project: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    import jitwatch.source

    project({f"m{number}.py": BAD for number in range(6)})
    analyse = jitwatch.source.analyse_module

    def die(path: str, source: bytes, **names: tuple[str, ...]) -> object:
        if path == "m3.py":
            os._exit(1)
        return analyse(path, source)

    monkeypatch.setattr(jitwatch.source, "analyse_module", die)
    monkeypatch.setattr("jitwatch.lint.analysis.WORTH_A_POOL", 1)
    outcome = lint_paths(["."], Configuration(Overrides(isolated=True)), Options(jobs=2))
    assert [str(problem) for problem in outcome.problems] == [
        "m3.py: analysing it ended the process: memory, or nesting"
    ]
    assert [finding.path for finding in outcome.shown] == ["m0.py", "m1.py", "m2.py", "m4.py", "m5.py"]


BAR = """
import sys
from jitwatch.lint import analysis, progress
progress.SHOW_AFTER = float(sys.argv[1])
from jitwatch.cli import main
sys.exit(main(["lint", "--no-cache", "--format", "json", "--jobs", "1"]))
"""


@pytest.mark.parametrize(("show_after", "shown"), [("0", True), ("60", False)])
def test_a_long_run_shows_a_bar_on_the_terminal_and_none_in_the_output(
    project: Write, show_after: str, shown: bool
) -> None:
    project({f"m{number}.py": BAD for number in range(3)})
    terminal, end = os.openpty()
    command = [sys.executable, "-c", BAR, show_after]
    environment = {**os.environ, "TERM": "xterm"}
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=end, env=environment, check=False)
    os.close(end)
    try:
        seen = os.read(terminal, 65536)
    except OSError:  # nothing was written before the other end closed
        seen = b""
    os.close(terminal)
    assert (b"analysing" in seen, bool(seen)) == (shown, shown)
    assert ran.returncode == 1
    assert len(json.loads(ran.stdout)) == 3
