"""The machine code of the fused-MoE kernels for cuda:90: which matrix instructions there are, and what differs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton", "3.6")

from jitwatch.errors import JitwatchError
from jitwatch.kernels.fused_moe.constants import layer_of
from jitwatch.kernels.fused_moe.experts import Scheme
from jitwatch.kernels.fused_moe.problem import Shape
from jitwatch.kernels.fused_moe.tiles import Plan, Tile
from tests.kernels.moe_variants import unwritten_experts

PROGRAM = """
import json, sys
import torch
from jitwatch.runtime import offline
offline.activate("cuda:90", execute=False)
from jitwatch.kernels.fused_moe import kernel, launcher, token_kernel
from jitwatch.kernels.fused_moe.constants import layer_of
from jitwatch.kernels.fused_moe.experts import Scheme
from jitwatch.kernels.fused_moe.problem import Shape
from jitwatch.kernels.fused_moe.tiles import Accumulation, Plan, Tile
from tests.kernels.moe_variants import unwritten_experts

def ptx(jit):
    return list(jit.device_caches[0][0].values())[-1].asm["ptx"]

shape = Shape(2, 2, 1024, 768)
for scheme, block_m, tile, exact, by_token, direct in json.loads(sys.argv[1]):
    experts = unwritten_experts(shape, Scheme(scheme))
    layer = layer_of(experts, 2, False, True)
    x = torch.empty(3, shape.hidden, dtype=torch.bfloat16)
    ids, weights = torch.zeros(3, 2, dtype=torch.int32), torch.zeros(3, 2)
    accumulation = Accumulation.EXACT if exact else Accumulation.FAST
    plan = Plan(block_m, Tile(**tile), Tile(**tile), by_token, direct, accumulation)
    launcher.Run(x, experts, ids, weights, None, plan, layer).launch(torch.empty_like(x))
    second = token_kernel.down_by_token_kernel if by_token else kernel.down_kernel
    print(json.dumps([ptx(kernel.gate_up_kernel), ptx(second)]))
"""

FEW = {"block_n": 64, "block_k": 128, "warps": 4, "stages": 3}
WIDE = {"block_n": 128, "block_k": 128, "warps": 4, "stages": 3, "group_m": 8}

SWAPPED = {**FEW, "swap_ab": True}

LAUNCHES = {
    "swapped": ["fp8-tensor", 16, SWAPPED, False, False, False],
    "swapped, exact": ["fp8-tensor", 16, SWAPPED, True, False, False],
    "not swapped": ["fp8-tensor", 16, FEW, True, False, False],
    "64 rows": ["fp8-tensor", 64, WIDE, False, False, False],
    "64 rows, exact": ["fp8-tensor", 64, WIDE, True, False, False],
    "copy engine": ["fp8-tensor", 16, {**SWAPPED, "bulk": True}, False, False, False],
    "copy engine, exact": ["fp8-tensor", 16, {**SWAPPED, "bulk": True}, True, False, False],
    "copy engine, 64 rows": ["fp8-tensor", 64, {**WIDE, "bulk": True}, False, False, False],
    "copy engine, 64 rows, exact": ["fp8-tensor", 64, {**WIDE, "bulk": True}, True, False, False],
    "by token": ["fp8-tensor", 16, FEW, True, True, False],
    "per token": ["fp8-token", 16, SWAPPED, True, False, False],
    "blocks": ["fp8-block", 16, SWAPPED, True, False, False],
    "bf16 swapped": ["plain", 16, SWAPPED, True, False, False],
    "direct": ["fp8-tensor", 16, SWAPPED, False, False, True],
    "direct, not swapped": ["fp8-tensor", 16, FEW, True, False, True],
}


@pytest.fixture(scope="module")
def ptx() -> dict[str, tuple[str, str]]:
    """PTX of both GEMMs by launch."""
    command = [sys.executable, "-c", PROGRAM, json.dumps(list(LAUNCHES.values()))]
    got = subprocess.run(command, capture_output=True, text=True, check=False)
    assert got.returncode == 0, got.stderr
    return dict(zip(LAUNCHES, (tuple(json.loads(line)) for line in got.stdout.splitlines()), strict=True))


Ptx = dict[str, tuple[str, str]]


def products(code: str) -> set[str]:
    """Matrix instructions, by shape and types."""
    return set(re.findall(r"(?:wgmma\.mma_async|mma)\.sync\.aligned\.([\w.]+)", code))


def additions(code: str) -> int:
    """Additions outside the matrix unit."""
    return Counter(re.findall(r"\badd\.f32\b", code))["add.f32"]


def test_without_swapped_sides_few_rows_of_fp8_are_multiplied_as_fp16(ptx: Ptx) -> None:
    for code in (*ptx["not swapped"], *ptx["direct, not swapped"], ptx["by token"][1]):
        assert products(code) == {"m16n8k16.row.col.f32.f16.f16.f32"}


@pytest.mark.parametrize(
    "launch", ["swapped", "swapped, exact", "copy engine", "per token", "blocks", "direct"]
)
def test_with_swapped_sides_fp8_is_multiplied_natively(launch: str, ptx: Ptx) -> None:
    for code in ptx[launch]:
        assert products(code) == {"m64n16k32.f32.e4m3.e4m3"}


def test_64_rows_need_no_swap(ptx: Ptx) -> None:
    for code in ptx["64 rows"]:
        assert products(code) == {"m64n128k32.f32.e4m3.e4m3"}


def test_bf16_swapped_fills_the_64_rows_as_well(ptx: Ptx) -> None:
    for code in ptx["bf16 swapped"]:
        assert products(code) == {"m64n16k16.f32.bf16.bf16"}


@pytest.mark.parametrize("launch", ["swapped", "64 rows", "copy engine", "copy engine, 64 rows"])
def test_exact_accumulation_adds_each_steps_products_in_fp32(launch: str, ptx: Ptx) -> None:
    tile = 64 * 16 if "64" not in launch else 128 * 64
    for fast, exact in zip(ptx[launch], ptx[f"{launch}, exact"], strict=True):
        assert additions(exact) - additions(fast) == tile // 128  # by 128 threads


@pytest.mark.parametrize("launch", ["swapped, exact", "64 rows, exact", "copy engine, 64 rows, exact"])
def test_exact_accumulation_waits_for_the_matrix_unit_before_it_reads_its_registers(
    launch: str, ptx: Ptx
) -> None:
    for code in ptx[launch]:
        addition = code.index("add.f32")
        wait = code.rindex("wgmma.wait_group.sync.aligned", 0, addition)
        assert "wgmma.mma_async" not in code[wait:addition]
        assert re.match(r"wgmma\.wait_group\.sync\.aligned \t?0", code[wait:])


def test_direct_refuses_scales_that_are_found_beforehand() -> None:
    experts = unwritten_experts(Shape(2, 2, 512, 256), Scheme.TOKEN)
    tile = Tile(64, 128, 4, 3, swap_ab=True)
    layer = layer_of(experts, 2, False, True)
    with pytest.raises(JitwatchError, match="set direct=False"):
        layer.gate_up(Plan(16, tile, tile, direct=True))


def test_the_copy_engine_fetches_the_weights_where_asked_to(ptx: Ptx) -> None:
    for by_engine, by_threads in zip(ptx["copy engine"], ptx["swapped"], strict=True):
        assert "cp.async.bulk.tensor.3d" in by_engine
        assert "cp.async.bulk.tensor" not in by_threads


@pytest.mark.parametrize("launch", LAUNCHES)
def test_weights_are_fetched_early_before_the_wait_for_the_kernel_before(launch: str, ptx: Ptx) -> None:
    # Direct, the first GEMM is the layer's first launch: what it would fetch is not known before the wait.
    for code in ptx[launch][launch.startswith("direct") :]:
        assert code.index("cp.async.bulk.prefetch.L2") < code.index("griddepcontrol.wait")
        assert "ld.local" not in code
