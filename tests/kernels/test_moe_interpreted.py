"""The fused-MoE kernels against the reference, in Triton's interpreter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton", "3.6")

from jitwatch.kernels.fused_moe.experts import Scheme
from tests.kernels.moe_cases import Case, tolerance

SCHEMES = tuple(scheme.value for scheme in Scheme)

CASES = (
    *(Case(scheme, 0) for scheme in SCHEMES),
    *(Case(scheme, tokens) for scheme in SCHEMES for tokens in (1, 7)),
    *(Case(scheme, 7, swap=False) for scheme in SCHEMES),
    *(Case(scheme, 5, hidden=256, inner=128) for scheme in SCHEMES),  # no step is cut short
    *(Case("fp8-tensor", 5, top_k=top_k, experts=17) for top_k in (1, 2, 16)),
    Case("fp8-tensor", 5, experts=1, top_k=1),
    Case("plain", 3, experts=40, top_k=2),  # most experts get nothing
    Case("plain", 9, dtype="fp16"),
    Case("plain", 9, dtype="fp32", block_k=64),
    Case("fp8-token", 5, per_channel=True),
    Case("fp8-token", 5, per_channel=True, swap=False),
    Case("fp8-tensor", 5, long_ids=True, dtype="fp16"),
    *(Case(scheme, 6, mapped=True) for scheme in SCHEMES),
    Case("fp8-tensor", 50, mapped=True, holes=True, experts=11),
    Case("plain", 6, holes=True),
    *(Case(scheme, 2, by_token=True, swap=False, mapped=scheme == "plain") for scheme in SCHEMES),
    Case("fp8-token", 2, by_token=True, swap=False, per_channel=True, holes=True),
    *(Case(scheme, 2, direct=True, mapped=scheme == "plain") for scheme in ("plain", "fp8-tensor")),
    Case("fp8-tensor", 3, direct=True, swap=False, top_k=5, experts=7, holes=True),
    Case("fp8-tensor", 2, direct=True, by_token=True, swap=False, mapped=True),
    # 1,104 products are promoted twice, and then there are some left.
    Case("fp8-tensor", 3, hidden=1104, inner=544),
    Case("fp8-token", 3, hidden=1104, inner=544, swap=False, per_channel=True),
    *(
        Case(scheme, 7, before=True, swap=swap)
        for scheme in ("plain", "fp8-tensor")
        for swap in (False, True)
    ),
    *(Case("plain", tokens, grouped=True, mapped=mapped) for tokens, mapped in ((1, False), (50, True))),
    # More slots than one program ranks: three chunks, blocks that straddle them, all tokens at the same experts.
    *(Case(scheme, 110) for scheme in SCHEMES),
    Case("fp8-tensor", 110, skew=40.0, swap=False, block_m=32, group_m=2),
    Case("plain", 110, skew=40.0, block_m=64, block_n=128, group_m=4, swap=False),
    Case("plain", 60, experts=300, top_k=8, hidden=32, inner=16, block_n=32, block_k=64, swap=False),
)


@pytest.fixture(scope="module")
def errors() -> dict[Case, float]:
    """All cases in one process that has the interpreter from the start."""
    command = [sys.executable, "-m", "tests.kernels.moe_cases", json.dumps([asdict(case) for case in CASES])]
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    got = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert got.returncode == 0, got.stderr
    return dict(zip(CASES, json.loads(got.stdout), strict=True))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_output_is_the_reference_within_what_rounding_explains(
    case: Case, errors: dict[Case, float]
) -> None:
    assert errors[case] < tolerance(case)
