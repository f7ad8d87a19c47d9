from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from tests.lint.conftest import BAD, GOOD, Lint

Write = Callable[..., Path]


def test_a_clean_tree_exits_0_and_says_what_was_looked_at(project: Write, lint: Lint) -> None:
    project({"a.py": GOOD, "b.py": "x = 1\n"})
    ran = lint("--no-cache")
    assert (ran.code, ran.out, ran.err) == (0, "No findings: 1 kernel in 2 files looked at.\n", "")


def test_findings_exit_1_and_show_source_and_remedy(project: Write, lint: Lint) -> None:
    project({"src/a.py": BAD})
    ran = lint("--no-cache", "src")
    assert ran.code == 1
    assert ran.out == (
        "src/a.py:5:32: JW006 `do_not_specialize` of `scale` names `seeds`, which no parameter is called: "
        "Triton ignores it without a word\n"
        "  |\n"
        '5 | @triton.jit(do_not_specialize=["seeds"])\n'
        "  |                                ^^^^^^^\n"
        "  = instead: did you mean `seed`?\n"
        "\n"
        "Found 1 finding in 1 file (1 kernel in 1 file looked at).\n"
        "1 fixable with `--fix --unsafe-fixes`.\n"
        "`jitwatch rule JW006` explains.\n"
    )


def test_exit_zero_lets_findings_pass_but_not_broken_files(project: Write, lint: Lint) -> None:
    project({"a.py": BAD})
    assert lint("--no-cache", "--exit-zero").code == 0
    project({"broken.py": "import triton\n@triton.jit\ndef f(:\n"})
    assert lint("--no-cache", "--exit-zero").code == 2


def test_selection_by_code_prefix_and_name(project: Write, lint: Lint) -> None:
    project({"a.py": BAD})
    for arguments, code in (
        (["--select", "JW006"], 1),
        (["--select", "useless-opt-out,JW007"], 1),
        (["--select", "JW007"], 0),
        (["--ignore", "JW006", "--select", "JW00"], 0),
        (["--select", "JW007", "--extend-select", "JW006"], 1),
    ):
        assert lint("--no-cache", *arguments).code == code, arguments


def test_a_misspelled_code_is_bad_usage_even_with_nothing_to_lint(project: Write, lint: Lint) -> None:
    project({})
    ran = lint("--select", "JW0006")
    assert (ran.code, ran.err) == (2, "jitwatch: no rule matches 'JW0006'; did you mean JW006?\n")


def test_json_carries_what_scripts_need(project: Write, lint: Lint) -> None:
    project({"a.py": BAD})
    (finding,) = lint("--no-cache", "--format", "json").findings
    assert finding == {
        "code": "JW006",
        "name": "useless-opt-out",
        "path": "a.py",
        "line": 5,
        "column": 32,
        "end_line": 5,
        "end_column": 39,
        "kernel": "scale",
        "parameter": None,
        "message": "`do_not_specialize` of `scale` names `seeds`, which no parameter is called: "
        "Triton ignores it without a word",
        "remedy": "did you mean `seed`?",
        "applicability": "unsafe",
        "fix": {
            "applicability": "unsafe",
            "edits": [
                {
                    "path": "a.py",
                    "line": 5,
                    "column": 32,
                    "end_line": 5,
                    "end_column": 39,
                    "content": '"seed"',
                }
            ],
        },
        "evidence": None,
    }


def test_a_clean_tree_is_an_empty_json_list(project: Write, lint: Lint) -> None:
    project({"a.py": GOOD})
    assert lint("--no-cache", "--format", "json").findings == []


def test_the_output_file_gets_what_stdout_would(project: Write, lint: Lint) -> None:
    root = project({"a.py": BAD})
    ran = lint("--no-cache", "--format", "concise", "--output-file", "out.txt")
    assert (ran.code, ran.out) == (1, "")
    assert (root / "out.txt").read_text().startswith("a.py:5:32: JW006 ")
    assert lint("--output-file", "no/such/folder").err.startswith(
        "jitwatch: no/such/folder cannot be written"
    )


def test_statistics_count_by_rule(project: Write, lint: Lint) -> None:
    project({"a.py": BAD, "b.py": BAD})
    ran = lint("--no-cache", "--statistics")
    assert ran.out.splitlines()[0] == "2  JW006  useless-opt-out"
    assert lint("--no-cache", "--statistics", "--format", "json").findings == [
        {"code": "JW006", "name": "useless-opt-out", "count": 2}
    ]


def test_stdin_takes_the_settings_of_its_file_name(
    project: Write, lint: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    project({"pyproject.toml": "[tool.jitwatch.lint]\nper-file-ignores = { 'tests/*' = ['JW006'] }\n"})
    for name, code in (("src/a.py", 1), ("tests/a.py", 0)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
        ran = lint("-", "--stdin-filename", name, "--format", "concise")
        assert (ran.code, name in ran.out) == (code, code == 1)
    for wrong in (["-", "a.py"], ["-", "--add-ignore"], ["-", "--watch"], ["--jobs", "none"]):
        assert lint(*wrong).code == 2, wrong


def test_show_settings_says_what_holds_and_where_from(project: Write, lint: Lint) -> None:
    root = project({"pyproject.toml": "[tool.jitwatch.lint]\nignore = ['JW006']\n", "src/a.py": BAD})
    ran = lint("--show-settings", "src")
    assert ran.out.splitlines()[0] == f"# src: from {root}/pyproject.toml"
    assert 'ignore = ["JW006"]' in ran.out
    assert "# JW006 useless-opt-out: off" in ran.out
    assert "# JW007 kernel-decorated-per-call: on" in ran.out


def test_suppressed_findings_are_counted_not_shown(project: Write, lint: Lint) -> None:
    project({"a.py": BAD.replace("\ndef", "  # jitwatch: ignore[JW006] the next version has it\ndef")})
    ran = lint("--no-cache")
    assert (ran.code, ran.out) == (0, "No findings, 1 suppressed: 1 kernel in 1 file looked at.\n")


def test_add_ignore_leaves_a_tree_without_findings(project: Write, lint: Lint) -> None:
    root = project({"a.py": BAD, "b.py": BAD.replace("\n", "\r\n")})
    ran = lint("--no-cache", "--add-ignore", "--reason", "known")
    assert (ran.code, ran.out) == (0, "Added 2 comments in 2 files.\n")
    line = '@triton.jit(do_not_specialize=["seeds"])  # jitwatch: ignore[JW006] known'
    assert line in (root / "a.py").read_text()
    assert (line + "\r\n").encode() in (root / "b.py").read_bytes()
    assert lint("--no-cache").code == 0
    assert lint("--no-cache", "--add-ignore").out == "Added 0 comments in 0 files.\n"


def test_add_ignore_puts_the_comment_above_a_line_that_cannot_hold_one(project: Write, lint: Lint) -> None:
    source = BAD.replace('["seeds"]', '["seeds", """\nother"""]')
    root = project({"a.py": source})
    assert lint("--no-cache", "--select", "JW006", "--add-ignore").code == 0
    assert "\n# jitwatch: ignore[JW006]\n@triton.jit(" in (root / "a.py").read_text()
    assert lint("--no-cache", "--select", "JW006").code == 0


def test_github_annotations_are_escaped(project: Write, lint: Lint) -> None:
    project({"a,b.py": BAD, "c.py": "import triton\n@triton.jit\ndef f(:\n"})
    lines = lint("--no-cache", "--format", "github").out.splitlines()
    assert lines[0].startswith(
        "::warning title=jitwatch (JW006),file=a%2Cb.py,line=5,col=32,endLine=5,endColumn=39::"
    )
    assert lines[0].endswith("without a word%0Adid you mean `seed`?")
    assert lines[1].startswith("::error title=jitwatch,file=c.py,line=3::c.py:3:")


def test_colour_only_on_a_terminal_or_by_request(
    project: Write, lint: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    project({"a.py": BAD})
    assert "\x1b[" not in lint("--no-cache").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in lint("--no-cache").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in lint("--no-cache").out


def test_a_terminal_that_knows_ascii_only_gets_ascii(project: Write) -> None:
    project({"a.py": "# höhe\n" + BAD.replace("factor", "größe")})
    command = [sys.executable, "-m", "jitwatch", "lint", "--no-cache", "--select", "JW006", "a.py"]
    ran = subprocess.run(
        command, env={"PYTHONIOENCODING": "ascii"}, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (1, "")


def test_a_finding_in_a_long_or_wide_line_keeps_its_caret(project: Write, lint: Lint) -> None:
    long = BAD.replace('["seeds"]', "[" + '"seed", ' * 30 + '"seeds"]')
    wide = BAD.replace('["seeds"]', '["漢字", "seeds"]').replace("x, seed", "x, 漢字, seed")
    for source in (long, wide):
        project({"a.py": source})
        lines = lint("--no-cache", "--select", "JW006").out.splitlines()
        code, caret = next((a, b) for a, b in pairwise(lines) if "^" in b)
        assert max(map(len, lines[1:5])) < 140
        column = caret.index("^") - 2 * ("漢" in code)  # two wide characters stand before it
        assert code[column:].startswith('"seeds"')


def test_launches_in_files_that_do_not_mention_triton_are_seen(project: Write, lint: Lint) -> None:
    kernels = "import triton\n@triton.jit\ndef fill(x, n):\n    pass\n"
    run = "from kernels import fill\ndef run(x, n):\n    fill[(1,)](x, n{})\n"
    project({"kernels.py": kernels, "one.py": run.format(""), "two.py": run.format(", num_warps=4")})
    assert [finding["path"] for finding in lint("--no-cache", "--format", "json").findings] == ["two.py"]


KERNELS = "import triton\n@triton.jit\ndef fill(x, n):\n    pass\n"
RUN = "from kernels import fill\ndef run(x, n):\n    fill[(1,)](x, n{})\n"


def test_the_context_gives_a_single_file_the_findings_of_the_whole(
    project: Write, lint: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "src/kernels.py": KERNELS,
        "src/one.py": RUN.format(""),
        "src/two.py": RUN.format(", num_warps=4"),
    }
    project(files)
    assert lint("src/two.py").code == 0
    project(
        {
            "pyproject.toml": "[tool.jitwatch.lint]\ncontext = ['src']\n",
            "src/broken.py": "import triton(\n# jit",
        }
    )
    for _ in range(2):  # the second time from the cache
        ran = lint("--format", "json", "src/two.py")
        assert (ran.code, [finding["path"] for finding in ran.findings], ran.err) == (1, ["src/two.py"], "")
        assert lint("src/one.py").out == "No findings: 0 kernels in 1 file looked at.\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(RUN.format("").encode())))
    assert lint("-", "--stdin-filename", "src/two.py").code == 0


def test_a_projects_own_decorators_are_configured(project: Write, lint: Lint) -> None:
    source = "from mylib import kernel\n@kernel(do_not_specialize=['absent'])\ndef fill(x, n):\n    pass\n"
    project({"a.py": source})
    assert lint().code == 0
    project({"pyproject.toml": "[tool.jitwatch.lint]\njit-decorators = ['mylib.kernel']\n"})
    assert [finding["kernel"] for finding in lint("--format", "json").findings] == ["fill"]
