from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from jitwatch.lint.registry import all_rules
from tests.lint.conftest import BAD, Lint
from tests.lint.sarif_subset import LOG

Write = Callable[..., Path]
SUPPRESSED = BAD.replace("\ndef", "  # jitwatch: ignore[JW006] next version\ndef")


@pytest.fixture
def run(project: Write, lint: Lint) -> Callable[[dict[str, str]], dict[str, Any]]:
    def log_of(files: dict[str, str]) -> dict[str, Any]:
        project(files)
        log = json.loads(lint("--no-cache", "--format", "sarif").out)
        jsonschema.validate(log, LOG)
        run: dict[str, Any] = log["runs"][0]
        return run

    return log_of


Run = Callable[[dict[str, str]], dict[str, Any]]


def test_the_schema_subset_rejects_what_the_standard_does_not_know() -> None:
    for log in ({"version": "2.1.0"}, {"version": "2.1.0", "runs": [{"tool": {"driver": {"nam": "x"}}}]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(log, LOG)


def test_every_rule_is_described(run: Run) -> None:
    rules = run({})["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(all_rules())
    assert all(rule["help"]["markdown"].startswith("## What it does") for rule in rules)
    assert all(rule["fullDescription"]["text"] for rule in rules)


def test_a_result_has_place_rule_fix_and_fingerprint(run: Run) -> None:
    log = run({"src/a b.py": BAD})
    (result,) = log["results"]
    assert log["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "JW006"
    location = result["locations"][0]["physicalLocation"]
    assert location["artifactLocation"] == {"uri": "src/a%20b.py", "uriBaseId": "SRCROOT"}
    assert location["region"] == {"startLine": 5, "startColumn": 32, "endLine": 5, "endColumn": 39}
    (change,) = result["fixes"][0]["artifactChanges"]
    assert change["replacements"] == [
        {
            "deletedRegion": {"startLine": 5, "startColumn": 32, "endLine": 5, "endColumn": 39},
            "insertedContent": {"text": '"seed"'},
        }
    ]
    assert list(result["partialFingerprints"]) == ["jitwatch/v1"]


def test_fingerprints_survive_lines_inserted_above_and_tell_twins_apart(run: Run) -> None:
    twins = BAD + BAD
    before = [result["partialFingerprints"] for result in run({"a.py": twins})["results"]]
    after = [result["partialFingerprints"] for result in run({"a.py": "# new\n\n" + twins})["results"]]
    assert before == after
    assert before[0] != before[1]


def test_suppressed_results_are_kept_with_their_reason(run: Run) -> None:
    (result,) = run({"a.py": SUPPRESSED})["results"]
    assert result["suppressions"] == [{"kind": "inSource", "justification": "next version"}]


def test_files_that_could_not_be_linted_are_notifications(run: Run) -> None:
    (invocation,) = run({"a.py": "import triton # jit\ndef f(:\n"})["invocations"]
    assert invocation["executionSuccessful"] is False
    (notification,) = invocation["toolExecutionNotifications"]
    assert notification["locations"][0]["physicalLocation"]["region"] == {"startLine": 2}
    assert notification["message"]["text"].startswith("not valid Python 3")


def test_paths_are_relative_to_the_repository_not_to_the_working_folder(
    project: Write, lint: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = project({"sub/a.py": BAD})
    (root / ".git").mkdir()
    monkeypatch.chdir(root / "sub")
    (run,) = json.loads(lint("--no-cache", "--format", "sarif").out)["runs"]
    assert run["originalUriBaseIds"]["SRCROOT"]["uri"] == root.as_uri() + "/"
    location = run["results"][0]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "sub/a.py"
