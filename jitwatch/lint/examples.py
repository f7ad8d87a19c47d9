"""Run a rule over its own examples: they are its tests."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from jitwatch.lint.config import Configuration, Overrides
from jitwatch.lint.edits import fix_once
from jitwatch.lint.engine import lint_sources
from jitwatch.lint.finding import Finding
from jitwatch.lint.rule import Invalid, Rule, Valid

MAIN = "example.py"

PASSES = 10
"""Passes of fixes after which an example counts as one that never settles."""


@dataclass(frozen=True)
class Run:
    """What an example came to."""

    findings: tuple[Finding, ...]
    """Of the rule, unsuppressed, in all files."""
    problems: tuple[str, ...]


def run_example(rule: Rule, example: Valid | Invalid, source: str | None = None) -> Run:
    """Lint an example with every rule on; ``source`` takes the place of its main file."""
    files = {MAIN: dedent(example.source) if source is None else source}
    files |= {path: dedent(text) for path, text in example.files.items()}
    outcome = lint_sources(
        {path: text.encode() for path, text in files.items()}, Configuration(Overrides(isolated=True))
    )
    findings = tuple(finding for finding in outcome.shown if finding.code == rule.code)
    return Run(findings, tuple(map(str, outcome.problems)))


def fix_example(rule: Rule, example: Invalid) -> str:
    """Apply the rule's fixes to the main file until none is left; returns what it became."""
    source = dedent(example.source)
    for _ in range(PASSES):
        findings = [f for f in run_example(rule, example, source).findings if f.path == MAIN]
        fixed, applied = fix_once(source.encode(), findings)
        if not applied:
            return source
        source = fixed.decode()
    raise AssertionError(f"{rule.code}: the fixes of this example never end:\n{source}")


def dedent(text: str) -> str:
    """Take the indentation away that an example has inside its rule."""
    return textwrap.dedent(text)
