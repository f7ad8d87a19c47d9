from __future__ import annotations

import pytest

from jitwatch.cli import main
from jitwatch.lint.registry import all_rules


@pytest.mark.parametrize("code", list(all_rules()))
def test_every_rules_page_is_printed_and_fits_80_columns(
    code: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["rule", code]) == 0
    out = capsys.readouterr().out
    rule = all_rules()[code]
    assert f"{code} {rule.name}" in out
    assert "Why is this bad?" in out
    assert "```" not in out
    assert max(map(len, out.splitlines())) <= 80


def test_the_overview_names_every_rule_and_the_next_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule"]) == 0
    out = capsys.readouterr().out
    assert all(code in out for code in all_rules())
    assert out.rstrip().endswith(f"`jitwatch rule {next(iter(all_rules()))}` explains one.")


def test_a_rule_is_found_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "useless-opt-out"]) == 0
    assert "JW006" in capsys.readouterr().out


def test_an_unknown_rule_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rule", "JW066"]) == 2
    assert capsys.readouterr().err.startswith("jitwatch: no rule JW066; did you mean JW006?")
