"""Tuning without a GPU: everything is compiled for cuda:90 and nothing runs, so that the times mean nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton", "3.6")

from jitwatch.kernels.fused_moe import candidates
from jitwatch.kernels.fused_moe.experts import Scheme
from jitwatch.kernels.fused_moe.table import Backend, Table

PROGRAM = """
import sys
import torch
from jitwatch.runtime import offline
offline.activate("cuda:90", execute=False)
from jitwatch.kernels.fused_moe import candidates, tune
from jitwatch.kernels.fused_moe.tiles import Tile

# One tile of each kind: the search is the same, and this is no place to compile a hundred kernels.
candidates.few_rows = lambda scheme, block_m: iter([Tile(64, 128, 4, 3, swap_ab=True), Tile(64, 128, 4, 3)])
candidates.many_rows = lambda scheme, block_m: iter([Tile(64, 128, 4, 3)])
candidates.token_tiles = lambda scheme: (Tile(16, 128, 4, 6),)
# The pool's processes would be without the stand-in device.
tune.compile_all = lambda jobs, processes: [tune.compile_plan(job) for job in jobs]

sys.argv = ["tune", "--out", sys.argv[1], "--models", "4:2:256:128", "--tokens", sys.argv[2]]
tune.main()
"""


def tune(out: Path, tokens: str) -> subprocess.CompletedProcess[str]:
    """Tune a small layer."""
    command = [sys.executable, "-c", PROGRAM, str(out), tokens]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_tuning_goes_on_from_its_file_and_refuses_one_of_another_machine(tmp_path: Path) -> None:
    out = tmp_path / "table.json"
    first = tune(out, "1,800")
    assert first.returncode == 0, first.stderr
    found = Table.load(out)
    assert [entry.tokens for entry in found.entries] == [1, 800]
    assert [result.backend for result in found.entries[0].results] == [
        Backend.SWAPPED.value,
        Backend.PLAIN.value,
    ]
    assert [result.backend for result in found.entries[1].results] == [Backend.PLAIN.value]

    second = tune(out, "1,2")
    assert second.returncode == 0, second.stderr
    again = Table.load(out)
    assert [entry.tokens for entry in again.entries] == [1, 800, 2]
    assert again.entries[:2] == found.entries

    out.write_text(out.read_text().replace("NVIDIA H200", "NVIDIA H100"))
    third = tune(out, "1,2,3")
    assert third.returncode != 0
    assert "is of another machine (device NVIDIA H100, here NVIDIA H200)" in third.stderr


@pytest.mark.parametrize("scheme", list(Scheme))
@pytest.mark.parametrize("block_m", [16, 32, 64, 128])
def test_every_candidate_fits_the_device(scheme: Scheme, block_m: int) -> None:
    tiles = candidates.tiles(scheme, block_m)
    assert len(tiles) == len(set(tiles)) > 0
    assert all(candidates.shared_bytes(tile, scheme, block_m) <= candidates.SHARED_BYTES for tile in tiles)
    # A step of the block scheme has one scale.
    assert all(tile.block_k == 128 for tile in tiles if scheme is Scheme.BLOCK)


@pytest.mark.parametrize("rows", [0.03, 1, 4, 5, 16, 33, 128, 1000])
def test_some_height_of_a_block_is_tried_for_any_rows_per_expert(rows: float) -> None:
    assert set(candidates.heights(rows)) <= {16, 32, 64, 128}
    assert candidates.heights(rows)
