"""The story of the fused-MoE target as the tool tells it: what doubles its variants, and what ends that."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton", "3.6")

from jitwatch.kernels.fused_moe import before
from tests.conftest import Profiled

# Two experts a token, so that one number of tokens in eight makes a multiple of 16 slots. One tile.
SERVER = """
import importlib, sys
import torch
from jitwatch.kernels.fused_moe.experts import Scheme
from jitwatch.kernels.fused_moe.problem import Shape, make_experts, make_routing
from jitwatch.kernels.fused_moe.tiles import Plan, Tile

form = importlib.import_module(sys.argv[1])
shape = Shape(16, 2, 64, 32)
experts = make_experts(shape, Scheme.PLAIN, "cuda")
tile = Tile(32, 32, 4, 2)
for tokens in (40, 41, 43, 48, 51):
    x = torch.zeros(tokens, 64, dtype=torch.bfloat16, device="cuda")
    ids, weights = make_routing(tokens, shape, "cuda")
    form.fused_moe(x, experts, ids, weights, Plan(16, tile, tile))
"""

Write = Callable[..., Path]
Profile = Callable[..., Profiled]


def kernel_of(run: Profiled) -> Any:
    """The report on the grouped GEMM."""
    assert run.code == 0, run.stderr
    return next(kernel for kernel in run.report()["kernels"] if kernel["name"] == "grouped_gemm_kernel")


def jitwatch(*words: object) -> subprocess.CompletedProcess[str]:
    """Run a jitwatch command."""
    command = [sys.executable, "-m", "jitwatch", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_profile_lint_verify_and_fix_agree_on_the_two_lengths(write: Write, profile: Profile) -> None:
    server = write(SERVER, "server.py", preamble="")
    copy = write(Path(before.__file__).read_text(), "form.py", preamble="")
    run = profile(server, "form")
    first = kernel_of(run)

    # Both GEMMs are compiled for even lengths, and again for odd ones.
    assert (first["variants"], first["recompiles"]) == (4, 3)
    changed = {change["words"].partition(":")[0] for event in first["events"] for change in event["changed"]}
    assert {"EM", "num_valid_tokens"} <= changed

    proof = jitwatch("verify", run.directory, "--format", "json")
    assert proof.returncode == 0, proof.stderr
    verdicts = [verdict for verdict in json.loads(proof.stdout) if verdict["kernel"] == "grouped_gemm_kernel"]
    assert {verdict["verdict"] for verdict in verdicts} == {"harmless"}
    proven = {name for verdict in verdicts for name in verdict["parameter"].split(", ")}
    assert {"EM", "num_valid_tokens"} <= proven

    found = jitwatch("lint", "--isolated", "--no-cache", "--format", "json", copy)
    assert found.returncode == 1, found.stderr
    assert {(finding["code"], finding["parameter"]) for finding in json.loads(found.stdout)} == {
        ("JW001", "EM"),
        ("JW001", "num_valid_tokens"),
    }

    fixed = jitwatch("lint", "--isolated", "--no-cache", "--fix", "--unsafe-fixes", copy)
    assert fixed.returncode == 0, fixed.stdout
    assert '@triton.jit(do_not_specialize=["EM", "num_valid_tokens"])' in copy.read_text()
    assert kernel_of(profile(server, "form"))["variants"] == 2


def test_lint_finds_no_length_in_ours() -> None:
    folder = Path(before.__file__).parent
    ours = [folder / f"{name}.py" for name in ("kernel", "product", "token_kernel", "alignment", "quantize")]
    got = jitwatch("lint", "--isolated", "--no-cache", *ours)
    assert got.returncode == 0, got.stdout
