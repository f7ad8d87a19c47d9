"""The inverse-RoPE kernels against the reference, in Triton's interpreter: bytes, not tolerances."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict

import pytest

pytest.importorskip("triton")
pytest.importorskip("torch")

from tests.kernels.rope_cases import Case, Outcome

# One token count at least of each class that `before` splits: 1; a multiple of 16; 13..15 past one; other.
TOKEN_COUNTS = (1, 2, 3, 13, 14, 15, 16, 17, 32)

CASES = (
    *(Case("kernel", tokens, 1, 2) for tokens in TOKEN_COUNTS),
    *(Case("kernel", tokens, 1, 2, packed=True) for tokens in TOKEN_COUNTS),
    *(Case("before", tokens, 1, 2) for tokens in TOKEN_COUNTS),
    *(Case("before", tokens, 1, 2, packed=True) for tokens in (1, 3, 13, 16)),
    *(Case("kernel", 5, groups, heads) for groups, heads in ((1, 8), (8, 8), (2, 6), (3, 3), (1, 1))),
    *(Case("before", 5, groups, heads) for groups, heads in ((1, 8), (8, 8), (2, 6))),
    Case("kernel", 2, 8, 64),
    Case("kernel", 2, 8, 64, packed=True),
    *(
        Case(form, 5, 2, 4, packed, hidden_heads=3)
        for form in ("kernel", "before")
        for packed in (False, True)
    ),
    # Ours alone: the other's float32 logarithm rounds a step of the scale away when it is one unit past it.
    Case("kernel", 16, 1, 1, edge=True),
    # Token 2 starts 2^31 values in, past what 32 bits can say. 4 GiB of address space, six pages of memory.
    *(Case(form, 3, 1, 2, token_stride=2**30) for form in ("kernel", "before")),
    *(Case("kernel", 0, 2, 4, packed) for packed in (False, True)),
)


@pytest.fixture(scope="module")
def outcomes() -> dict[Case, Outcome]:
    """All cases in one process that has the interpreter from the start."""
    command = [sys.executable, "-m", "tests.kernels.rope_cases", json.dumps([asdict(case) for case in CASES])]
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    got = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert got.returncode == 0, got.stderr
    return {case: Outcome(**outcome) for case, outcome in zip(CASES, json.loads(got.stdout), strict=True)}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_byte_equals_the_reference(case: Case, outcomes: dict[Case, Outcome]) -> None:
    outcome = outcomes[case]
    assert outcome.padding_zero
    assert outcome.scales_equal
    assert outcome.wrong_values == 0, (
        f"{outcome.wrong_values:.2%} differ, by up to {outcome.worst_step} steps"
    )
