from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema
import pytest

from jitwatch.lint.registry import all_rules
from tests.lint.conftest import BAD, Lint
from tests.sarif import sarif_run, validator

Write = Callable[..., Path]
DEAD = """\
import triton
import triton.language as tl


@triton.jit
def fill(x, num_tokens, WIDTH: tl.constexpr):
    tl.store(x + tl.program_id(0) * WIDTH + tl.arange(0, WIDTH), 0.0)
"""
LAUNCH = """\
from kernels import fill


def run(x):
    fill[(x.shape[0],)](x, x.shape[0], WIDTH=64)
"""
SUPPRESSED = BAD.replace("\ndef", "  # jitwatch: ignore[JW006] next version\ndef")


@pytest.fixture
def run(project: Write, lint: Lint) -> Callable[[dict[str, str]], dict[str, Any]]:
    def log_of(files: dict[str, str]) -> dict[str, Any]:
        project(files)
        return sarif_run(lint("--no-cache", "--format", "sarif").out)

    return log_of


Run = Callable[[dict[str, str]], dict[str, Any]]


@pytest.mark.parametrize(
    "wrong",
    [
        {"tool": {"driver": {"nam": "x"}}},
        {"results": [{"ruleId": "JW006"}]},
        {"originalUriBaseIds": {"SRCROOT": {"uri": "file:///a b/"}}},
        {
            "results": [
                {"message": {"text": "x"}, "suppressions": [{"kind": "inSource", "justification": None}]}
            ]
        },
        {
            "results": [
                {"message": {"text": "x"}, "locations": [{"physicalLocation": {"region": {"startLine": 0}}}]}
            ]
        },
    ],
    ids=["key", "message", "uri", "justification", "line"],
)
def test_the_schema_rejects_what_the_standard_does_not_know(wrong: dict[str, Any]) -> None:
    run = {"tool": {"driver": {"name": "jitwatch"}}, "results": []}
    validator().validate({"version": "2.1.0", "runs": [run]})
    with pytest.raises(jsonschema.ValidationError):
        validator().validate({"version": "2.1.0", "runs": [run | wrong]})


def test_nothing_found_is_an_empty_list_and_not_a_missing_one(run: Run) -> None:
    log = run({"a.py": "x = 1\n"})
    assert log["results"] == []
    assert log["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]


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
    (result,) = run({"a.py": SUPPRESSED.replace(" next version", "")})["results"]
    assert [each["kind"] for each in result["suppressions"]] == ["inSource"]


def test_a_fix_in_several_files_names_each(run: Run) -> None:
    log = run({"kernels.py": DEAD, "ops.py": LAUNCH})
    (result,) = (each for each in log["results"] if each["ruleId"] == "JW004")
    (fix,) = result["fixes"]
    assert {each["artifactLocation"]["uri"] for each in fix["artifactChanges"]} == {"kernels.py", "ops.py"}


@pytest.mark.parametrize("name", ["kernel/ядро 核.py", "a%20b#c?.py", "new\nline.py"])
def test_a_path_of_any_characters_is_a_uri(run: Run, name: str) -> None:
    (result,) = run({name: BAD})["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.isascii()
    assert unquote(uri) == name


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
    run = sarif_run(lint("--no-cache", "--format", "sarif").out)
    assert run["originalUriBaseIds"]["SRCROOT"]["uri"] == root.as_uri() + "/"
    location = run["results"][0]["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "sub/a.py"
