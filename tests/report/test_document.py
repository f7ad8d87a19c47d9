"""The JSON report keeps its contract."""

from __future__ import annotations

import json
import typing
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from jitwatch.analysis import Kind, analyse
from jitwatch.report import schema
from jitwatch.report.document import build_document
from jitwatch.rundir import read_run
from tests.made_runs import MadeRun
from tests.report import scenes


def document(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(json.dumps(build_document(analyse(read_run(path)))))
    return loaded


@pytest.fixture
def serving(tmp_path: Path) -> dict[str, Any]:
    return document(scenes.serving(tmp_path / "serving"))


def conforms(value: Any, type_: Any, where: str = "document") -> None:
    """Check a value against the types of the schema, keys and all."""
    origin, arguments = typing.get_origin(type_), typing.get_args(type_)
    if type_ is Any:
        return
    if typing.is_typeddict(type_):
        hints = typing.get_type_hints(type_)
        assert value.keys() == hints.keys(), where
        for key, hint in hints.items():
            conforms(value[key], hint, f"{where}.{key}")
    elif origin is list:
        for i, each in enumerate(value):
            conforms(each, arguments[0], f"{where}[{i}]")
    elif origin in (dict, Mapping):
        for key, each in value.items():
            conforms(each, arguments[1], f"{where}.{key}")
    elif origin is not None:  # a union: one of its members must fit
        plain = tuple(each for each in arguments if isinstance(each, type) and not typing.is_typeddict(each))
        if not isinstance(value, plain):
            conforms(value, next(each for each in arguments if each not in plain), where)
    else:
        assert isinstance(value, (int, float) if type_ is float else type_), (where, value)


@pytest.mark.parametrize("scene", [scenes.serving, scenes.quiet, scenes.ranks])
def test_the_document_is_of_the_types_that_document_it(tmp_path: Path, scene: Any) -> None:
    conforms(document(scene(tmp_path / "run")), schema.Document)


def test_the_run_says_what_ran(serving: dict[str, Any]) -> None:
    run = serving["run"]
    assert (run["command"], run["triton"], run["target"], run["offline"]) == (
        ["python", "serve.py"],
        ["3.7.1"],
        "cuda:90",
        False,
    )
    assert [process["pid"] for process in run["processes"]] == [4242]
    assert run["unobserved"] == [
        {"pid": 4311, "argv": ["python", "-S", "helper.py"], "reason": "started with -S"}
    ]


def test_kernels_come_dearest_first(serving: dict[str, Any]) -> None:
    lost = [
        kernel["seconds_recompiles"] + (kernel["tuning"] or {}).get("seconds_retunes", 0)
        for kernel in serving["kernels"]
    ]
    assert lost == sorted(lost, reverse=True)


def test_totals_are_the_sums_of_the_kernels(serving: dict[str, Any]) -> None:
    kernels, totals = serving["kernels"], serving["totals"]
    misses = sum((Counter(kernel["misses"]) for kernel in kernels), Counter())
    assert misses == totals["misses"]
    assert totals["recompiles"] == sum(kernel["recompiles"] for kernel in kernels) == 26
    assert totals["seconds"] == pytest.approx(sum(kernel["seconds"] for kernel in kernels))


def test_events_agree_with_their_kernel(serving: dict[str, Any]) -> None:
    launches = set(Kind) - {Kind.MANUAL_WARMUP, Kind.PRELOAD, Kind.AUTOTUNE_CANDIDATE}
    names = {kind.value for kind in launches}
    for kernel in serving["kernels"]:
        events = kernel["events"]
        assert Counter(event["kind"] for event in events) == kernel["misses"]
        assert sum(event["recompile"] for event in events) == kernel["recompiles"]
        waited = sum(event["seconds"] for event in events if event["kind"] in names)
        assert waited == pytest.approx(kernel["seconds"])


def test_an_event_says_what_changed_and_from_where_it_was_launched(serving: dict[str, Any]) -> None:
    rope = next(each for each in serving["kernels"] if each["name"] == "_fused_rope_quant_per_head")
    event = rope["events"][1]
    assert event["launch"] == {"path": "/srv/app/model.py", "line": 41, "function": "forward"}
    (change,) = event["changed"]
    assert change["argument"] == "num_tokens"
    assert change["before"] == {"class": "=1", "value": 1}
    assert change["after"] == {"class": "other", "value": 2}
    assert change["words"] == "num_tokens: 1 (=1) → 2 (other)"


def test_an_argument_says_its_classes_values_and_what_remedies_save(serving: dict[str, Any]) -> None:
    rope = next(each for each in serving["kernels"] if each["name"] == "_fused_rope_quant_per_head")
    tokens = next(each for each in rope["arguments"] if each["name"] == "num_tokens")
    assert tokens["classes"] == ["=1", "other", "÷16"]
    assert tokens["values"] == [1, 2, 13, 16]
    assert tokens["recompiles"] == 2
    assert tokens["variants_saved"]["do_not_specialize"] == 2
    assert tokens["seconds_saved"] == {
        "do_not_specialize_on_alignment": 0.24,
        "do_not_specialize": 0.48,
        "annotate": 0.48,
    }


def test_the_plan_says_the_line_to_write(serving: dict[str, Any]) -> None:
    rope = next(each for each in serving["kernels"] if each["name"] == "_fused_rope_quant_per_head")
    first, second = rope["plan"]
    assert first["decorator"] == '@triton.jit(do_not_specialize=["num_tokens"])'
    assert (first["variants_before"], first["variants_after"], second["variants_after"]) == (4, 2, 1)
    assert first["edits"][0]["caution"] is None
    assert "wide" in second["edits"][0]["caution"]


def test_skipped_lines_are_reported(tmp_path: Path) -> None:
    run = MadeRun(tmp_path / "run")
    run.process().write({"event": "nonsense"})
    assert document(run.path)["run"]["skipped_lines"] == 1
