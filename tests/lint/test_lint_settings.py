from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from jitwatch.errors import JitwatchError
from jitwatch.lint import registry
from jitwatch.lint.config import Configuration, Overrides

Write = Callable[..., Path]
TABLE = "[tool.jitwatch.lint]\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TABLE + "selct = []", "[tool.jitwatch.lint] has no key 'selct'; did you mean select?"),
        (TABLE + "zebra = []", "[tool.jitwatch.lint] has no key 'zebra'"),
        (
            TABLE + "ignore = 'JW006'",
            'tool.jitwatch.lint.ignore must be a list of strings, such as ["JW001"]',
        ),
        (TABLE + "select = [1]", 'tool.jitwatch.lint.select must be a list of strings, such as ["JW001"]'),
        (TABLE + "select = ['JW0066']", "no rule matches 'JW0066'; did you mean JW006?"),
        (TABLE + "per-file-ignores = { 'a' = ['nope'] }", "no rule matches 'nope'"),
        (
            TABLE + "per-file-ignores = 3",
            "tool.jitwatch.lint.per-file-ignores must be a table of pattern = [codes]",
        ),
        ("tool.jitwatch.lint = 3", "tool.jitwatch.lint must be a table"),
        ("[tool.jitwatch]\nselect = []", "select belongs in [tool.jitwatch.lint], not in [tool.jitwatch]"),
        ("jitwatch = ", "not TOML: Invalid value (at end of document)"),
    ],
)
def test_a_wrong_setting_is_one_line_with_the_file(project: Write, text: str, message: str) -> None:
    root = project({"pyproject.toml": text})
    with pytest.raises(JitwatchError) as caught:
        Configuration().of(".")
    assert str(caught.value) == f"{root}/pyproject.toml: {message}"


def test_other_projects_files_are_neither_parsed_nor_blamed(project: Write) -> None:
    project({"pyproject.toml": "this is no TOML"})
    assert Configuration().of(".").source is None


def test_the_nearest_file_with_the_table_holds(project: Write) -> None:
    project(
        {
            "pyproject.toml": TABLE + "ignore = ['JW006']",
            "near/pyproject.toml": TABLE + "ignore = ['JW007']",
            "other/pyproject.toml": "[project]\nname = 'x'",
        }
    )
    configuration = Configuration()
    assert configuration.of("near/deep").ignore == ("JW007",)
    assert configuration.of("other").ignore == ("JW006",)


def test_the_command_line_select_replaces_and_the_others_add(project: Write) -> None:
    project({"pyproject.toml": TABLE + "ignore = ['JW006']\nexclude = ['a']"})
    assert "JW006" not in Configuration().of(".").chosen
    assert Configuration(Overrides(select=("JW006",))).of(".").chosen == {"JW006"}
    settings = Configuration(Overrides(ignore=("JW007",), exclude=("b",))).of(".")
    assert set(registry.all_rules()) - settings.chosen == {"JW006", "JW007"}
    assert [settings.excludes(name, folder=False) for name in "abc"] == [True, True, False]
    assert Configuration(Overrides(extend_select=("JW006",))).of(".").chosen >= {"JW006"}


def test_isolated_reads_no_file(project: Write) -> None:
    project({"pyproject.toml": TABLE + "selct = []"})
    assert Configuration(Overrides(isolated=True)).of(".").chosen == set(registry.all_rules())


def test_per_file_ignores_match_as_gitignore_does(project: Write) -> None:
    project(
        {
            "pyproject.toml": TABLE
            + "per-file-ignores = { 'tests/*' = ['JW0'], 'x.py' = ['unused-suppression'] }"
        }
    )
    settings = Configuration().of(".")
    assert settings.codes_for("src/a.py") == settings.chosen
    assert not any(code.startswith("JW0") for code in settings.codes_for("tests/a.py"))
    assert settings.chosen - settings.codes_for("src/x.py") == {"JW100"}


def test_the_longer_selector_wins_and_ignore_wins_a_tie() -> None:
    assert registry.choose(["ALL"], []) == set(registry.all_rules())
    assert registry.choose(["JW006"], ["JW"]) == {"JW006"}
    assert "JW006" not in registry.choose(["JW"], ["JW006"])
    assert registry.choose(["JW006"], ["JW006"]) == set()
    assert registry.choose(["useless-opt-out"], []) == {"JW006"}


def test_an_unknown_rule_is_answered_with_the_nearest() -> None:
    with pytest.raises(JitwatchError, match="no rule JW06; did you mean JW006"):
        registry.find_rule("JW06")
    with pytest.raises(JitwatchError, match="did you mean useless-opt-out"):
        registry.find_rule("useless-optout")
