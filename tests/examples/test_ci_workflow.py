"""Every command of the example workflow is one that the command line takes."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from jitwatch.cli import build_parser, load_command
from jitwatch.testing.plugin import INI

WORKFLOW = Path(__file__).resolve().parents[2] / "examples" / "ci" / "recompiles.yml"


def commands(program: str) -> Iterator[list[str]]:
    """The words after `program` of each step that runs it."""
    for line in WORKFLOW.read_text().splitlines():
        step = line.strip().removeprefix("- run: ")
        if step.startswith(f"{program} "):
            yield shlex.split(step)[1:]


@pytest.mark.parametrize("words", list(commands("jitwatch")), ids=" ".join)
def test_jitwatch_takes_it(words: list[str]) -> None:
    rewrite = getattr(load_command(words[0]), "rewrite", None)
    arguments = [words[0], *(rewrite(words[1:]) if rewrite else words[1:])]
    assert build_parser(words[0]).parse_args(arguments).command == words[0]


def test_pytest_takes_it(request: pytest.FixtureRequest) -> None:
    (words,) = commands("pytest")
    options = [word.partition("=")[0] for word in words if word.startswith("--")]
    known = {name for option in request.config._parser._anonymous.options for name in option.names()}
    known |= {
        name for group in request.config._parser._groups for each in group.options for name in each.names()
    }
    assert set(options) <= known
    assert words[words.index("-o") + 1].partition("=")[0] in INI
