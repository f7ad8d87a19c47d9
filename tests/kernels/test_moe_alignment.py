"""The alignment of slots by expert, to the last number, in Triton's interpreter."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton", "3.6")

# Tokens, experts a token, experts, rows of a block, every third expert here, choices of none.
CASES = (
    (1, 1, 1, 16, False, False),
    (1, 8, 40, 16, False, False),
    (2, 8, 3, 16, False, False),  # a chunk of 16, full
    (3, 8, 200, 16, False, True),
    (5, 16, 7, 16, True, False),
    (8, 8, 2, 16, False, False),  # the largest of one program, blocks that a program's slots fill twice
    (13, 5, 300, 16, False, False),  # one more than a program's, more bins than slots
    (40, 7, 11, 32, True, True),
    (64, 2, 1, 128, False, False),
    (9, 2, 4, 16, True, True),
    (150, 8, 30, 64, False, False),  # histograms of more than one piece
    (300, 7, 130, 16, True, False),  # a large batch, its chunks of 128
    (260, 8, 2, 128, False, True),
    (6, 2, 2, 16, False, False),
)


@pytest.fixture(scope="module")
def wrong() -> dict[tuple[int, ...], list[str]]:
    """What is wrong with each case, all in one process that has the interpreter from the start."""
    command = [sys.executable, "-m", "tests.kernels.moe_alignments", json.dumps(CASES)]
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    got = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert got.returncode == 0, got.stderr
    return dict(zip(CASES, json.loads(got.stdout), strict=True))


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, map(int, case))))
def test_slots_and_blocks_are_those_of_a_stable_sort(
    case: tuple[int, ...], wrong: dict[tuple[int, ...], list[str]]
) -> None:
    assert wrong[case] == []
