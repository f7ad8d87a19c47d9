"""Run a rule over its own examples: they are its tests."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

from jitwatch.lint.config import Configuration, Overrides
from jitwatch.lint.engine import Options, Outcome, lint_sources
from jitwatch.lint.finding import Applicability, Finding
from jitwatch.lint.rule import Invalid, Rule, Valid

MAIN = "example.py"


@dataclass(frozen=True)
class Run:
    """What an example came to."""

    findings: tuple[Finding, ...]
    """Of the rule, unsuppressed, in all files."""
    problems: tuple[str, ...]


def run_example(rule: Rule, example: Valid | Invalid, source: str | None = None) -> Run:
    """Lint an example with every rule on; ``source`` takes the place of its main file."""
    files = _files(example)
    outcome = _lint(files if source is None else files | {MAIN: source.encode()})
    findings = tuple(finding for finding in outcome.shown if finding.code == rule.code)
    return Run(findings, tuple(map(str, outcome.problems)))


def fix_example(rule: Rule, example: Invalid) -> str:
    """Apply the rule's fixes, safe or not, until none is left; returns what the main file became."""
    from jitwatch.fix.passes import fix_until_settled

    files = _files(example)
    fixed = fix_until_settled(
        lambda changed: _lint({**files, **changed}),
        lambda finding: finding.code == rule.code and finding.applicability is not Applicability.DISPLAY,
    )
    return fixed.after.get(MAIN, files[MAIN]).decode()


def _files(example: Valid | Invalid) -> dict[str, bytes]:
    texts = {MAIN: example.source, **example.files}
    return {path: dedent(text).encode() for path, text in texts.items()}


def _lint(files: Mapping[str, bytes]) -> Outcome:
    return lint_sources(files, Configuration(Overrides(isolated=True)), Options(keep_project=True))


def dedent(text: str) -> str:
    """Take the indentation away that an example has inside its rule."""
    return textwrap.dedent(text)
