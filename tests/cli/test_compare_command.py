"""``jitwatch compare``: what came, what went, and the exit code that stops a pull request."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from jitwatch.cli import main
from tests.made_runs import MadeRun

Runs = Callable[..., Path]


@pytest.fixture
def run(tmp_path: Path) -> Runs:
    """Make a run in which ``norm`` is launched for each of `lengths`, and ``rope`` for each of `offsets`."""

    def run(
        name: str, *lengths: int, offsets: tuple[int, ...] = (), line: int = 12, **header: object
    ) -> Path:
        made = MadeRun(tmp_path / name, **header)  # type: ignore[arg-type]
        process = made.process()
        norm = process.kernel("norm", "num_tokens", line=line)
        for n in lengths:
            norm.launch(n)
        if offsets:
            rope = process.kernel("rope", "offset", module="app.kernels.rope")
            for offset in offsets:
                rope.launch(offset)
        return made.path

    return run


def compare(*words: object) -> int:
    return main(["compare", *map(str, words)])


def test_equal_runs_pass_every_gate_wherever_the_kernel_has_moved_to(
    run: Runs, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = run("a", 16, 17), run("b", 16, 17, line=99)
    assert compare(before, after, "--fail-on", "causes,recompiles,variants,retunes,seconds") == 0
    out = capsys.readouterr().out
    assert "recompiles 1 · variants 2" in out
    assert "1 kernel as before" in out


def test_what_came_and_what_went_is_told_by_its_cause(run: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = run("a", 16, 17), run("b", 16, offsets=(1, 5, 16))
    assert compare(before, after) == 0
    out = capsys.readouterr().out
    assert "recompiles 1 → 2 · variants 2 → 4" in out
    assert "- num_tokens: 16 (÷16) → 17 (other)" in out
    assert "+ offset: 1 (=1) → 5 (other)" in out


@pytest.mark.parametrize(
    ("gate", "code", "sentence"),
    [
        ("recompiles", 3, "recompiles: 1 → 2"),
        ("recompiles:1", 0, ""),
        ("recompiles:50%", 3, "recompiles: 1 → 2, more than 50% allowed"),
        ("recompiles:100%", 0, ""),
        ("causes", 3, "causes: 1 new"),
        ("causes:1", 0, ""),
        ("variants:1", 3, "variants: 2 → 4, more than 1 allowed"),
        ("seconds:500%", 0, ""),
        ("retunes", 0, ""),
    ],
)
def test_gates(run: Runs, capsys: pytest.CaptureFixture[str], gate: str, code: int, sentence: str) -> None:
    before, after = run("a", 16, 17), run("b", 16, offsets=(1, 5, 16))
    assert compare(before, after, "--fail-on", gate) == code
    assert (f"more than allowed: {sentence}" in capsys.readouterr().out) is (code == 3)


def test_fewer_recompiles_fail_nothing(run: Runs) -> None:
    assert compare(run("a", 16, 17, 1), run("b", 16), "--fail-on", "causes,recompiles,variants,seconds") == 0


def test_a_cause_that_moved_from_one_kernel_to_another_is_new(run: Runs) -> None:
    before, after = run("a", 16, 17, offsets=(16,)), run("b", 16, offsets=(16, 17))
    assert compare(before, after, "--fail-on", "recompiles") == 0
    assert compare(before, after, "--fail-on", "causes") == 3


def test_the_json_form_has_figures_causes_and_gates(run: Runs, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = run("a", 16), run("b", 16, 17, triton="3.9.0", target=None)
    assert compare(before, after, "--fail-on", "recompiles", "--format", "json") == 3
    document = json.loads(capsys.readouterr().out)
    assert document["before"] == {"variants": 1, "recompiles": 0, "retunes": 0, "seconds": 0.0}
    assert document["after"]["recompiles"] == 1
    (kernel,) = document["kernels"]
    assert kernel["new_causes"] == ["num_tokens: 16 (÷16) → 17 (other)"]
    assert document["exceeded"] == ["recompiles: 0 → 1"]
    assert document["remarks"] == [
        "Triton 3.7.1 before, 3.9.0 after: classes may differ",
        "offline (cuda:90) before, a GPU after: times cannot be compared",
    ]


@pytest.mark.parametrize("gate", ["recompile", "recompiles:", "recompiles:x", "causes:5%", "", "seconds:-1"])
def test_a_gate_that_means_nothing_is_refused(
    run: Runs, capsys: pytest.CaptureFixture[str], gate: str
) -> None:
    with pytest.raises(SystemExit) as stopped:
        compare("a", "b", "--fail-on", gate)
    assert stopped.value.code == 2
    assert f"cannot gate on '{gate}'" in capsys.readouterr().err


def test_what_is_no_run_is_said_in_one_line(
    run: Runs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert compare(run("a", 16), tmp_path / "nowhere") == 2
    assert capsys.readouterr().err.startswith("jitwatch: cannot read run ")
