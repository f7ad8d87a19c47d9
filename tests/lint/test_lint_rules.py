"""Every rule's examples, exactly: where, what, and what the fix leaves behind."""

from __future__ import annotations

import ast
import io
import tokenize

import pytest

from jitwatch.lint.document import README, readme
from jitwatch.lint.examples import MAIN, dedent, fix_example, run_example
from jitwatch.lint.registry import all_rules
from jitwatch.lint.rule import HEADINGS, OPTIONAL_HEADINGS, Invalid, Rule, Valid

RULES = list(all_rules().values())


def examples(kind: str) -> list[object]:
    return [
        pytest.param(rule, example, id=f"{rule.code}-{number}")
        for rule in RULES
        for number, example in enumerate(getattr(rule, kind))
    ]


@pytest.mark.parametrize(("rule", "example"), examples("VALID"))
def test_a_valid_example_is_not_flagged(rule: Rule, example: Valid) -> None:
    run = run_example(rule, example)
    assert run.problems == ()
    assert run.findings == ()


@pytest.mark.parametrize(("rule", "example"), examples("INVALID"))
def test_an_invalid_example_is_flagged_exactly(rule: Rule, example: Invalid) -> None:
    run = run_example(rule, example)
    assert run.problems == ()
    assert [(f.line, f.column, f.message) for f in run.findings if f.path == MAIN] == list(example.findings)
    assert [f for f in run.findings if f.path != MAIN] == []


@pytest.mark.parametrize(("rule", "example"), examples("INVALID"))
def test_a_finding_marks_the_text_it_is_about(rule: Rule, example: Invalid) -> None:
    lines = dedent(example.source).splitlines()
    for finding in run_example(rule, example).findings:
        assert (finding.line, finding.column) < (finding.end_line, finding.end_column)
        assert finding.end_column <= len(lines[finding.end_line - 1]) + 1
        assert finding.remedy


@pytest.mark.parametrize(("rule", "example"), examples("INVALID"))
def test_fixes_end_in_the_replacement_which_is_clean_and_keeps_the_comments(
    rule: Rule, example: Invalid
) -> None:
    fixed = fix_example(rule, example)
    if example.replacement is None:
        assert fixed == dedent(example.source)
        return
    assert fixed == dedent(example.replacement)
    ast.parse(fixed)
    assert [f for f in run_example(rule, example, fixed).findings if f.edits] == []
    if rule.code != "JW100":  # whose fix is to remove comments
        assert comments(fixed) == comments(dedent(example.source))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_rule_has_examples_of_both_kinds_and_documentation_in_order(rule: Rule) -> None:
    assert rule.VALID
    assert bool(rule.INVALID) != rule.needs_run
    assert rule.summary().endswith(".")
    headings = list(rule.sections())
    assert headings == [heading for heading in HEADINGS if heading in headings]
    assert set(HEADINGS) - OPTIONAL_HEADINGS <= set(headings)
    assert ("Fix safety" in headings) == rule.fixable()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_code_snippets_of_the_documentation_parse(rule: Rule) -> None:
    for heading in ("Example", "Use instead"):
        blocks = rule.sections()[heading].split("```python\n")[1:]
        assert blocks
        for block in blocks:
            ast.parse(block.partition("```")[0])


def test_a_rule_is_called_in_its_file_as_in_its_code_and_name() -> None:
    for rule in RULES:
        module = type(rule).__module__.rpartition(".")[2]
        assert module == f"{rule.code.lower()}_{rule.name.replace('-', '_')}"


def test_the_readme_is_current() -> None:
    assert README.read_text(encoding="utf-8") == readme(), "run `python -m jitwatch.lint.document`"


def comments(source: str) -> list[str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return [token.string for token in tokens if token.type == tokenize.COMMENT]
