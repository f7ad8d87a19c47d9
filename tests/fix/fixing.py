"""Fixes a program held in memory."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from hypothesis import HealthCheck, settings

from jitwatch.fix.passes import Fixed, fix_until_settled
from jitwatch.lint.config import Configuration, Overrides
from jitwatch.lint.engine import Options, Outcome, lint_sources
from jitwatch.lint.finding import Applicability, Finding
from tests.fix.said import Record, Watched, record_of

GENERATED = settings(
    deadline=None,
    derandomize=True,  # the same programs in every run of the suite
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

PREAMBLE = "import triton\nimport triton.language as tl\n\n"

BODY = """
    row = tl.program_id(0)
    if row < num_tokens:
        tl.store(x + row * WIDTH + tl.arange(0, WIDTH), 0.0)
"""
"""Of a kernel that is the faster for opting ``num_tokens`` out, whatever its decorator looks like."""


def fix(files: Mapping[str, bytes], *applicable: Applicability) -> Fixed:
    """Apply the fixes that promise this much; safe and unsafe ones where nothing is said."""
    return fix_and_record(files, *applicable)[0]


def fix_and_record(files: Mapping[str, bytes], *applicable: Applicability) -> tuple[Fixed, Record]:
    """The same, with what the findings say that was done."""
    promised = applicable or (Applicability.SAFE, Applicability.UNSAFE)

    def lint(changed: Mapping[str, bytes]) -> Outcome:
        configuration = Configuration(Overrides(isolated=True))
        return lint_sources({**files, **changed}, configuration, Options(keep_project=True))

    def wanted(finding: Finding) -> bool:
        return finding.applicability in promised

    watched = Watched(lint)
    fixed = fix_until_settled(watched, wanted)
    return fixed, record_of(fixed, watched.outcomes)


def fix_text(source: str) -> str:
    """Fix one file; its indentation is taken away first, and nothing else."""
    data = textwrap.dedent(source).encode()
    return fix({"a.py": data}).after.get("a.py", data).decode()


def decorated(decorator: str, signature: str = "x, num_tokens, WIDTH: tl.constexpr") -> str:
    """A program with one kernel under a decorator."""
    return f"{PREAMBLE}{decorator}\ndef kernel({signature}):{BODY}"


def fix_decorator(decorator: str, **more: str) -> str:
    """What becomes of a decorator; the rest of the program must stay as it is."""
    source = decorated(decorator, **more)
    fixed = fix_text(source)
    end = source[source.index("\ndef kernel(") :]
    assert fixed.startswith(PREAMBLE)
    assert fixed.endswith(end), fixed
    return fixed[len(PREAMBLE) : -len(end)]
