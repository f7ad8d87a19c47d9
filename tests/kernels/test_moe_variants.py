"""How many variants the fused-MoE kernels have over M = 1..4096, by Triton's own binder for cuda:90."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton", "3.6")

LAYERS = {
    "qwen3-30b": [128, 8, 2048, 768],
    "mixtral-tp2": [8, 2, 4096, 7168],
    "dsv3-tp8": [256, 8, 7168, 256],
}

ASKED = {
    ("kernel", "fp8-tensor", "qwen3-30b"): 4096,
    ("kernel", "fp8-tensor", "mixtral-tp2"): 1100,
    ("kernel", "fp8-tensor", "dsv3-tp8"): 2100,
    ("kernel", "plain", "qwen3-30b"): 1100,
    ("kernel", "fp8-token", "qwen3-30b"): 600,
    ("kernel", "fp8-block", "qwen3-30b"): 600,
    ("routed", "fp8-tensor", "qwen3-30b"): 2100,
    ("before", "fp8-tensor", "qwen3-30b"): 600,
}
"""Form, scheme and layer, and the most tokens: past the last change of plan, or of what the binder asks."""

GEMMS = ("gate_up_kernel", "down_kernel")


@pytest.fixture(scope="module")
def answers() -> dict[tuple[str, str, str], dict[str, Any]]:
    """What each form asked the binder for."""
    questions = [[form, scheme, LAYERS[layer], most] for (form, scheme, layer), most in ASKED.items()]
    command = [sys.executable, "-m", "tests.kernels.moe_variants", json.dumps(questions)]
    got = subprocess.run(command, capture_output=True, text=True, check=False)
    assert got.returncode == 0, got.stderr
    return dict(zip(ASKED, map(json.loads, got.stdout.splitlines()), strict=True))


Answers = dict[tuple[str, str, str], dict[str, Any]]
OURS = [asked for asked in ASKED if asked[0] != "before"]


@pytest.mark.parametrize("asked", OURS, ids="-".join)
def test_the_variants_met_are_the_variants_listed(asked: tuple[str, str, str], answers: Answers) -> None:
    answer = answers[asked]
    assert answer["met"] == dict(Counter(name for name, _ in answer["listed"]))


@pytest.mark.parametrize("asked", OURS, ids="-".join)
def test_the_gemms_have_no_more_variants_than_there_are_plans(
    asked: tuple[str, str, str], answers: Answers
) -> None:
    met = answers[asked]["met"]
    assert all(1 <= met[name] <= answers[asked]["tiles"] for name in GEMMS)


@pytest.mark.parametrize("asked", OURS, ids="-".join)
def test_the_token_counts_to_warm_meet_every_variant_first(
    asked: tuple[str, str, str], answers: Answers
) -> None:
    assert set(answers[asked]["first"]) == set(answers[asked]["warm"])


def test_the_form_that_recompiles_has_two_variants_of_each_configuration(answers: Answers) -> None:
    # Two GEMMs. Both lengths are multiples of 16 at even numbers of tokens, and neither at odd ones; below 16 tokens
    # the padded list is 16 times the slots, so one of them is at odd numbers as well: a third variant of that plan.
    answer = answers["before", "fp8-tensor", "qwen3-30b"]
    assert answer["tiles"] == 3
    assert answer["met"] == {"grouped_gemm_kernel": 2 * (3 + 2 + 2)}
