"""A run's recompiles on the lines that launched them: GitHub annotations and SARIF."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from jitwatch.report.formats import write_report
from tests.made_runs import MadeRun
from tests.sarif import sarif_run


def recompiling_run(path: Path, *, seconds: float = 0.1, site: int | None = 40) -> Path:
    run = MadeRun(path)
    process = run.process()
    norm = process.kernel("norm", "num_tokens", "flag")
    norm.launch(16, 2)
    norm.launch(17, 2, seconds=seconds, site=site)
    norm.launch(1, 2, seconds=seconds, site=site)
    norm.launch(1, 16, seconds=seconds, site=90)
    return run.path


def written(path: Path, format_: str) -> str:
    stream = io.StringIO()
    write_report(path, format_, stream)
    return stream.getvalue()


@pytest.fixture
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository to stand in, with nothing of the run in it."""
    (tmp_path / "home" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "home")
    return tmp_path


def test_a_run_without_recompiles_has_no_remarks(at_home: Path) -> None:
    run = MadeRun(at_home / "run")
    run.process().kernel("norm", "n").launch(16)
    assert written(run.path, "github") == ""
    assert sarif(run.path)["results"] == []


def test_github_gets_a_warning_for_each_launch_and_cause_and_the_total(at_home: Path) -> None:
    lines = written(recompiling_run(at_home / "run"), "github").splitlines()
    assert len(lines) == 3
    assert lines[0] == (
        "::warning title=jitwatch (JW200),file=/srv/app/model.py,line=40::"
        "2 recompiles of `norm`, 0.20 s lost: num_tokens: 16 (÷16) → 17 (other)%0A"
        'in norm.py:12 write:%0A+ @triton.jit(do_not_specialize=["num_tokens", "flag"])'
    )
    assert lines[1].startswith(
        "::warning title=jitwatch (JW200),file=/srv/app/model.py,line=90::1 recompile of"
    )
    assert lines[2] == "::notice title=jitwatch::3 recompiles, 0.30 s lost"


def sarif(path: Path) -> dict[str, Any]:
    return sarif_run(written(path, "sarif"))


def test_sarif_names_the_rule_the_launch_and_the_cause(at_home: Path) -> None:
    run = sarif(recompiling_run(at_home / "run"))
    (rule,) = run["tool"]["driver"]["rules"]
    assert rule["id"] == "JW200"
    first, second = run["results"]
    assert (first["ruleId"], first["ruleIndex"]) == ("JW200", 0)
    place = first["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "file:///srv/app/model.py"}, "region": {"startLine": 40}}
    assert first["message"]["text"].startswith("2 recompiles of `norm`, 0.20 s lost: num_tokens: 16 (÷16)")
    assert second["locations"][0]["physicalLocation"]["region"] == {"startLine": 90}


def test_fingerprints_stay_when_lines_and_times_move_and_differ_by_cause(at_home: Path) -> None:
    before = [each["partialFingerprints"] for each in sarif(recompiling_run(at_home / "a"))["results"]]
    moved = sarif(recompiling_run(at_home / "b", seconds=0.3, site=44))["results"]
    assert [each["partialFingerprints"] for each in moved] == before
    assert before[0] != before[1]


def test_a_launch_that_is_not_known_is_remarked_at_the_kernel(at_home: Path) -> None:
    run = MadeRun(at_home / "run")
    kernel = run.process().kernel("norm", "n")
    kernel.launch(16, site=None)
    kernel.launch(17, site=None)
    assert "file=/srv/app/kernels/norm.py,line=12::" in written(run.path, "github")


def test_sarif_takes_a_path_of_any_characters(at_home: Path) -> None:
    run = MadeRun(at_home / "run")
    kernel = run.process().kernel("norm", "n", path="/srv/ядро 核/100%.py")
    kernel.launch(16, site=None)
    kernel.launch(17, site=None)
    (result,) = sarif(run.path)["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.isascii()
    assert unquote(uri) == "file:///srv/ядро 核/100%.py"
