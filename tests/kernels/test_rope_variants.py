"""How many variants the inverse-RoPE kernels have over T = 1..8192, by Triton's own binder for cuda:90."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("triton")
pytest.importorskip("torch")

LAYOUTS = {"TP8": (1, 8), "full-head": (8, 64)}
MOST = 8192

Keys = dict[str, list[int]]


@pytest.fixture(scope="module")
def keys() -> dict[tuple[str, str, bool, int], Keys]:
    """Token counts by key, for (form, layout, packed scales, shift of the positions)."""
    asked = [
        (form, layout, packed, 0)
        for form in ("before", "kernel")
        for layout in LAYOUTS
        for packed in (False, True)
    ]
    asked.append(("kernel", "TP8", False, 1))
    questions = [[form, *LAYOUTS[layout], packed, MOST, shift] for form, layout, packed, shift in asked]
    command = [sys.executable, "-m", "tests.kernels.rope_variants", json.dumps(questions)]
    got = subprocess.run(command, capture_output=True, text=True, check=False)
    assert got.returncode == 0, got.stderr
    return dict(zip(asked, map(json.loads, got.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("packed", [False, True], ids=["fp32", "packed"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_one_variant_serves_every_token_count(
    layout: str, packed: bool, keys: dict[tuple[str, str, bool, int], Keys]
) -> None:
    assert list(keys["kernel", layout, packed, 0].values()) == [list(range(1, MOST + 1))]


def test_positions_that_start_off_a_16_byte_unit_are_no_other_variant(
    keys: dict[tuple[str, str, bool, int], Keys],
) -> None:
    assert keys["kernel", "TP8", False, 1].keys() == keys["kernel", "TP8", False, 0].keys()


@pytest.mark.parametrize("packed", [False, True], ids=["fp32", "packed"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_form_that_recompiles_has_exactly_four_variants(
    layout: str, packed: bool, keys: dict[tuple[str, str, bool, int], Keys]
) -> None:
    def variant(tokens: int) -> str:
        if tokens == 1:
            return "= 1"
        return {0: "÷16", 13: "13..15", 14: "13..15", 15: "13..15"}.get(tokens % 16, "other")

    expected: dict[str, list[int]] = {}
    for tokens in range(1, MOST + 1):
        expected.setdefault(variant(tokens), []).append(tokens)
    assert sorted(keys["before", layout, packed, 0].values()) == sorted(expected.values())
    assert len(expected) == 4
