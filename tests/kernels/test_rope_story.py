"""The story of the target as the tool tells it: four variants, what splits them, and what ends that."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton")
pytest.importorskip("torch")

from jitwatch.kernels.rope_fp8_quant import before
from tests.conftest import Profiled

SERVER = """
import importlib, sys
import torch
from jitwatch.kernels.rope_fp8_quant import launcher

forms = [importlib.import_module(name) for name in sys.argv[1:]]
cache = torch.zeros(64, 64, device="cuda")
for tokens in (2, 1, 3, 13, 16, 17, 29, 32, 100, 1021, 1024):
    o = torch.zeros(tokens, 8, 512, dtype=torch.bfloat16, device="cuda")
    positions = torch.zeros(tokens, dtype=torch.int64, device="cuda")
    for form in forms:
        launcher.inverse_rope_fp8_quant(o, positions, cache, 1, packed_scales=False, launch=form.launch)
"""

Write = Callable[..., Path]
Profile = Callable[..., Profiled]


def kernels_of(run: Profiled) -> dict[str, Any]:
    """The report's kernels by the last part of their module's name."""
    assert run.code == 0, run.stderr
    return {kernel["module"].rpartition(".")[2]: kernel for kernel in run.report()["kernels"]}


def test_the_profile_names_both_arguments_and_its_plan_holds(write: Write, profile: Profile) -> None:
    server = write(SERVER, "server.py", preamble="")
    package = "jitwatch.kernels.rope_fp8_quant"
    first = kernels_of(profile(server, f"{package}.before", f"{package}.kernel"))

    assert (first["kernel"]["variants"], first["kernel"]["recompiles"]) == (1, 0)
    assert first["before"]["variants"] == 4
    causes = [event["changed"] for event in first["before"]["events"] if event["recompile"]]
    assert [[change["words"] for change in changed] for changed in causes] == [
        ["num_tokens: 2 (other) → 1 (=1)"],
        ["scale_stride_k: 4 (other) → 16 (÷16)"],
        ["num_tokens: 13 (other) → 16 (÷16)"],
    ]

    # The first step of the plan is the fix that was published first, the second what it left over.
    plan = first["before"]["plan"]
    assert [(step["variants_before"], step["variants_after"]) for step in plan] == [(4, 2), (2, 1)]
    assert plan[0]["decorator"] == '@triton.jit(do_not_specialize=["num_tokens"])'
    source = Path(before.__file__).read_text()
    for number, step in enumerate(plan):
        write(source.replace("@triton.jit\n", step["decorator"] + "\n"), f"step{number}.py", preamble="")
    second = kernels_of(profile(server, "step0", "step1"))
    assert {name: kernel["variants"] for name, kernel in second.items()} == {"step0": 2, "step1": 1}


def findings(form: str) -> set[tuple[str, str]]:
    """Codes and parameters that `jitwatch lint` finds in a form."""
    path = Path(before.__file__).with_name(f"{form}.py")
    command = [sys.executable, "-m", "jitwatch", "lint", "--isolated", "--no-cache"]
    got = subprocess.run([*command, "--format", "json", path], capture_output=True, text=True, check=False)
    assert got.returncode in (0, 1), got.stderr
    return {(finding["code"], finding["parameter"]) for finding in json.loads(got.stdout)}


def test_lint_finds_nothing_to_shorten_in_the_form_with_one_variant() -> None:
    assert findings("kernel") == set()


def test_lint_finds_the_length_and_the_strides_derived_from_it_without_a_run() -> None:
    found = findings("before")
    assert {("JW001", "num_tokens"), ("JW001", "scale_stride_k")} <= found
    # Of no rule's interest: what stays the same from launch to launch.
    assert not {"o_stride_head", "cache_stride_position", "values_stride_token"} & {name for _, name in found}
