"""SARIF 2.1.0, which code scanning services take; paths relative to the repository, suppressed findings kept."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jitwatch import __version__
from jitwatch.lint.cache import digest
from jitwatch.lint.discovery import Problem
from jitwatch.lint.engine import Outcome
from jitwatch.lint.finding import Applicability, Finding
from jitwatch.lint.formats import Look
from jitwatch.lint.formats.json import edit_objects, evidence_object
from jitwatch.lint.lines import Lines
from jitwatch.lint.registry import all_rules
from jitwatch.lint.rule import Rule

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "SRCROOT"


def render(outcome: Outcome, look: Look) -> Iterator[str]:
    """Yield the log."""
    yield json.dumps(log(outcome), indent=2)


def log(outcome: Outcome) -> dict[str, Any]:
    """Make the log of one run."""
    root = repository_root(os.getcwd())
    rules = all_rules()
    index = {code: position for position, code in enumerate(rules)}
    return log_object(rules.values(), _invocation(outcome, root), _results(outcome, root, index), root)


def log_object(
    rules: Iterable[Rule], invocation: dict[str, Any], results: list[dict[str, Any]], root: Path
) -> dict[str, Any]:
    """Make a log with one run."""
    driver = {
        "name": "jitwatch",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [rule_object(rule) for rule in rules],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"uri": root.as_uri().rstrip("/") + "/"}},
        "invocations": [invocation],
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def repository_root(folder: str) -> Path:
    """Find the folder with ``.git`` upward from ``folder``, else ``folder``."""
    path = Path(folder).resolve()
    return next((each for each in (path, *path.parents) if os.path.exists(each / ".git")), path)


def rule_object(rule: Rule) -> dict[str, Any]:
    """Make the description of a rule."""
    documentation = rule.documentation()
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary()},
        "fullDescription": {"text": rule.sections().get("What it does", rule.summary())},
        "help": {"text": documentation, "markdown": documentation},
        "defaultConfiguration": {"level": "warning"},
        "properties": {"tags": ["triton", "performance"]},
    }


def _results(outcome: Outcome, root: Path, index: dict[str, int]) -> list[dict[str, Any]]:
    results = []
    lines: dict[str, Lines] = {}
    seen: dict[bytes, int] = {}
    for finding in outcome.findings:
        if finding.path not in lines:
            lines[finding.path] = Lines(outcome.sources.get(finding.path, b""))
        text = lines[finding.path].text(finding.line).strip()
        key = digest(finding.code, finding.kernel or "", finding.parameter or "", text)
        seen[key] = seen.get(key, 0) + 1
        results.append(_result(finding, outcome, root, index, f"{key.hex()}:{seen[key]}"))
    return results


def _result(
    finding: Finding, outcome: Outcome, root: Path, index: dict[str, int], fingerprint: str
) -> dict[str, Any]:
    text = f"{finding.message}\n{finding.remedy}" if finding.remedy else finding.message
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index[finding.code],
        "level": "warning",
        "message": {"text": text},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": artifact_location(finding.path, root),
                    "region": _region(finding),
                }
            }
        ],
        # Not of the line's number: lines inserted above must not make an old finding a new one.
        "partialFingerprints": {"jitwatch/v1": fingerprint},
    }
    if finding.suppressed:
        result["suppressions"] = [{"kind": "inSource", "justification": finding.reason}]
    if finding.evidence:
        result["properties"] = {"evidence": evidence_object(finding)}
    if finding.edits and finding.applicability is not Applicability.DISPLAY:
        result["fixes"] = [_fix(finding, outcome, root)]
    return result


def _region(finding: Finding) -> dict[str, int]:
    return {
        "startLine": finding.line,
        "startColumn": finding.column,
        "endLine": finding.end_line,
        "endColumn": finding.end_column,
    }


def _fix(finding: Finding, outcome: Outcome, root: Path) -> dict[str, Any]:
    replacements: dict[str, list[dict[str, Any]]] = {}
    for edit in edit_objects(finding, outcome):
        replacements.setdefault(edit["path"], []).append(
            {
                "deletedRegion": {
                    "startLine": edit["line"],
                    "startColumn": edit["column"],
                    "endLine": edit["end_line"],
                    "endColumn": edit["end_column"],
                },
                "insertedContent": {"text": edit["content"]},
            }
        )
    changes = [
        {"artifactLocation": artifact_location(path, root), "replacements": each}
        for path, each in replacements.items()
    ]
    return {"description": {"text": finding.remedy or finding.message}, "artifactChanges": changes}


def _invocation(outcome: Outcome, root: Path) -> dict[str, Any]:
    return {
        "executionSuccessful": not outcome.problems,
        "toolExecutionNotifications": [_notification(problem, root) for problem in outcome.problems],
    }


def _notification(problem: Problem, root: Path) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": artifact_location(problem.path, root)}
    if problem.line is not None:
        location["region"] = {"startLine": problem.line}
    return {
        "level": "error",
        "message": {"text": problem.message},
        "locations": [{"physicalLocation": location}],
    }


def artifact_location(path: str, root: Path) -> dict[str, str]:
    """Relative to the repository where the file is in it, an absolute URI where it is not."""
    absolute = Path(os.path.abspath(path))
    if absolute.is_relative_to(root):
        return {"uri": quote(os.fsencode(absolute.relative_to(root).as_posix())), "uriBaseId": ROOT}
    return {"uri": absolute.as_uri()}
