"""Whatever a file holds: one line on stderr, exit 2, the others linted, never a traceback."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jitwatch.lint.config import Configuration, Overrides
from jitwatch.lint.engine import lint_paths, lint_sources
from jitwatch.lint.formats import FORMATS, Look, renderer
from jitwatch.lint.sources import Sources, read_sources
from tests.lint.conftest import BAD, GOOD, Lint

Write = Callable[..., Path]


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (b"import triton\n@triton.jit\ndef f(:\n    pass\n", "broken.py:3:7: not valid Python 3: "),
        (b"import triton # jit\nprint 'two'\n", "broken.py:2:1: not valid Python 3: Missing parentheses"),
        (b"import triton # jit\nx = '\x00'\n", "broken.py:2:"),
        (
            b"# -*- coding: klingon -*-\nimport triton # jit\n",
            "broken.py: not valid Python 3: unknown encoding",
        ),
        (b"import triton # jit\nx = '\xff'\n", "broken.py:2:"),
        (b"import triton # jit\nif x:\n\ty = 1\n        z = 2\n", "broken.py:4:"),
        (b"import triton # jit\nx = " + b"(" * 5000 + b")" * 5000, "broken.py"),
        (b"import triton # jit\nx = " + b"-" * 50000 + b"1", "broken.py"),
        (b"import triton # jit\nx = '''", "broken.py:2:5: not valid Python 3: unterminated"),
        (b"\xff\xfei\x00m\x00p\x00o\x00r\x00t\x00", "broken.py"),
    ],
)
def test_a_broken_file_is_one_line_and_the_others_are_linted(
    project: Write, lint: Lint, source: bytes, problem: str
) -> None:
    project({"bad.py": BAD, "broken.py": source})
    ran = lint("--no-cache", "--format", "concise", "bad.py", "broken.py")
    assert ran.code == 2
    assert len(ran.err.splitlines()) == 1
    assert ran.err.startswith(f"jitwatch: {problem}")
    assert ran.out.startswith("bad.py:5:32: JW006 ")
    assert "Traceback" not in ran.out + ran.err


@pytest.mark.parametrize(
    "source",
    [
        b"",
        b"\n\n",
        b"\xef\xbb\xbf" + BAD.encode(),
        BAD.replace("\n", "\r\n").encode(),
        BAD.replace("    ", "\t").encode(),
        ("# -*- coding: latin-1 -*-\n" + BAD.replace("factor", "größe")).encode("latin-1"),
        BAD.encode().rstrip(b"\n"),
        b"\f\n" + BAD.encode(),
        b"#!/usr/bin/env python\n" + BAD.encode(),
        b"x = '\\d'  # an invalid escape warns\n" + BAD.encode(),
    ],
)
def test_odd_but_valid_files_are_linted(project: Write, lint: Lint, source: bytes) -> None:
    project({"odd.py": source})
    ran = lint("--no-cache", "--format", "json", "--select", "JW006", "odd.py")
    assert (ran.code, ran.err) == (1 if b"jit" in source else 0, "")
    assert [finding["column"] for finding in ran.findings] == [32] * (b"jit" in source)


def test_a_generated_file_of_five_megabytes_is_linted(project: Write, lint: Lint) -> None:
    filler = b"VALUES = [" + b"0x12345678, " * 1000 + b"]\n"
    project({"big.py": BAD.encode() + filler * (5_000_000 // len(filler))})
    ran = lint("--no-cache", "--format", "concise", "--select", "JW006")
    assert (ran.code, ran.out.count("JW006")) == (1, 2)


def test_links_that_loop_vanish_or_are_no_files_are_problems_when_named(project: Write, lint: Lint) -> None:
    root = project({"good.py": GOOD})
    (root / "loop.py").symlink_to("loop.py")
    (root / "gone.py").symlink_to("nowhere.py")
    os.mkfifo(root / "pipe.py")
    ran = lint("--no-cache", "loop.py", "gone.py", "pipe.py", "good.py", "absent/")
    assert ran.code == 2
    assert sorted(ran.err.splitlines()) == [
        "jitwatch: absent: no such file or folder",
        "jitwatch: gone.py: no such file or folder",
        "jitwatch: loop.py: cannot be read: too many levels of symbolic links",
        "jitwatch: pipe.py: not a regular file; pipe it in: `... | jitwatch lint -`",
    ]
    assert "1 kernel in 1 file" in ran.out


def test_a_file_that_vanishes_after_it_was_found_is_a_problem(
    project: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = project({"a.py": BAD, "b.py": BAD})

    def read_late(files: dict[str, bool], configuration: Configuration) -> Sources:
        (root / "a.py").unlink()
        return read_sources(files, configuration)

    monkeypatch.setattr("jitwatch.lint.engine.read_sources", read_late)
    outcome = lint_paths(["."], Configuration(Overrides(select=("JW006",))))
    assert [str(problem) for problem in outcome.problems] == ["a.py: no such file or folder"]
    assert [finding.path for finding in outcome.findings] == ["b.py"]


def test_files_and_folders_that_may_not_be_read_are_problems(project: Write, lint: Lint) -> None:
    root = project({"a.py": BAD, "secret.py": BAD, "locked/b.py": BAD})
    arguments = ("--no-cache", "--format", "concise", "--select", "JW006")
    lint(*arguments)  # import all there is to import while we may
    root.chmod(0o755)
    (root / "secret.py").chmod(0)
    (root / "locked").chmod(0)
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)  # nobody: root may read everything
    try:
        ran = lint(*arguments)
    finally:
        os.seteuid(before)
        (root / "locked").chmod(0o700)
    assert ran.code == 2
    assert ran.err.splitlines() == [
        "jitwatch: secret.py: cannot be read: permission denied",
        "jitwatch: locked: cannot be read: permission denied",
    ]
    assert ran.out.startswith("a.py:5:32: JW006 ")


@pytest.mark.parametrize("format_", FORMATS)
def test_a_file_name_that_is_no_text_is_no_problem(project: Write, lint: Lint, format_: str) -> None:
    root = project({})
    with open(os.fsencode(root) + b"/caf\xe9.py", "w") as file:
        file.write(BAD)
    for output in ((), ("--output-file", "out.txt")):
        ran = lint("--format", format_, "--select", "JW006", *output)
        assert (ran.code, ran.err) == (1, "")


def test_output_that_cannot_be_written_is_one_line(project: Write, lint: Lint) -> None:
    project({"a.py": BAD})
    ran = lint("--no-cache", "--output-file", "/dev/full")
    assert (ran.code, ran.err) == (2, "jitwatch: /dev/full cannot be written: no space left on device\n")
    ran = lint("--no-cache", "--output-file", ".")
    assert (ran.code, ran.err) == (2, "jitwatch: . cannot be written: is a directory\n")


def test_notebooks_are_left_out_with_a_word(project: Write, lint: Lint) -> None:
    project({"a.ipynb": "{}", "b.ipynb": "{}", "c.py": GOOD})
    ran = lint("--no-cache")
    assert (ran.code, ran.err) == (0, "jitwatch: 2 notebooks left out: only Python files are read\n")
    assert "1 notebook left out" in lint("--no-cache", "a.ipynb").err


def lint_and_render(source: bytes) -> None:
    outcome = lint_sources({"fuzz.py": source}, Configuration(Overrides(isolated=True)))
    for name in FORMATS:
        list(renderer(name).render(outcome, Look(colour=True)))
    assert not any("internal error" in problem.message for problem in outcome.problems), outcome.problems


FUZZ = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@FUZZ
@given(st.binary(max_size=300))
def test_random_bytes_never_end_in_an_internal_error(noise: bytes) -> None:
    lint_and_render(noise)
    lint_and_render(BAD.encode() + noise)


PIECES = st.sampled_from(
    [
        *(
            "@triton.jit",
            "@triton.jit(",
            "do_not_specialize=",
            "[",
            "]",
            "(",
            ")",
            ",",
            '"n"',
            '"',
            "'",
            "=",
            ":",
        ),
        *(
            "def k(x, n):",
            "\n",
            "    ",
            "\t",
            "k[",
            "](x, n)",
            "num_warps=4",
            "*",
            "**",
            "lambda",
            "\\",
            "\r",
            "é",
        ),
        *(
            "# jitwatch: ignore[",
            "JW006]",
            "# noqa: JW006",
            "tl.constexpr",
            "tl.store(x + n, n)",
            "\f",
            "\x00",
            "{}",
        ),
        *(
            "if n:",
            "class C:",
            "async ",
            "@functools.cache",
            "return k",
            "for n in n:",
            "n = ",
            "global k",
            "3",
        ),
    ]
)


@FUZZ
@given(st.lists(st.tuples(st.integers(0, len(BAD)), st.integers(0, 12), PIECES), max_size=8))
def test_mutated_sources_never_end_in_an_internal_error(mutations: list[tuple[int, int, str]]) -> None:
    source = BAD + "def run(x):\n    scale[(1,)](x, x.shape[0], 2.0)\n"
    for start, length, piece in mutations:
        source = source[:start] + piece + source[start + length :]
    lint_and_render(source.encode())
