"""The machine code of the inverse-RoPE kernels for cuda:90: widths of loads and stores, and what differs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("triton")
pytest.importorskip("torch")

from jitwatch.kernels.rope_fp8_quant import kernel

PROGRAM = """
import importlib, json, sys
import torch
from jitwatch.runtime import offline
offline.activate("cuda:90", execute=False)
from jitwatch.kernels.rope_fp8_quant import launcher

sys.path.insert(0, sys.argv[2])

for form, tokens in json.loads(sys.argv[1]):
    o = torch.empty(tokens, 8, 512, dtype=torch.bfloat16)
    outputs = launcher.allocate(tokens, 8, 1, False, o.device)
    module = importlib.import_module(form)
    module.launch(o, torch.empty(tokens, dtype=torch.int64), torch.empty(64, 64), *outputs)
    jit = module.inverse_rope_fp8_quant_kernel
    kernels = jit.device_caches[0][0] if hasattr(jit, "device_caches") else jit.cache[0]  # from Triton 3.3 on, before
    print(json.dumps(list(kernels.values())[-1].asm["ptx"]))
"""

KERNEL = "jitwatch.kernels.rope_fp8_quant.kernel"
BEFORE = "jitwatch.kernels.rope_fp8_quant.before"
OPT_OUT = '@triton.jit(do_not_specialize=["positions_ptr", "num_tokens"])'
SPECIALISED = "specialised"
"""A copy of ours without its opt-outs."""

LAUNCHES = ((KERNEL, 16), (SPECIALISED, 16), (BEFORE, 2), (BEFORE, 1), (BEFORE, 13), (BEFORE, 16))


@pytest.fixture(scope="module")
def ptx(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], str]:
    """PTX of the variant that each launch compiled."""
    folder = tmp_path_factory.mktemp("copy")
    source = Path(kernel.__file__).read_text()
    copy = source.replace(OPT_OUT, "@triton.jit").replace("num_tokens: tl.int32", "num_tokens")
    assert copy.count("@triton.jit\n") == source.count("@triton.jit\n") + 1
    (folder / f"{SPECIALISED}.py").write_text(copy)
    command = [sys.executable, "-c", PROGRAM, json.dumps(LAUNCHES), str(folder)]
    got = subprocess.run(command, capture_output=True, text=True, check=False)
    assert got.returncode == 0, got.stderr
    return dict(zip(LAUNCHES, map(json.loads, got.stdout.splitlines()), strict=True))


def accesses(ptx: str) -> Counter[str]:
    """Loads from and stores to memory by instruction."""
    return Counter(re.findall(r"\b(?:ld|st)\.(?:global|local)[.\w]*", ptx))


def statements(ptx: str) -> list[str]:
    """Instructions without debug lines, labels and comments, registers included."""
    lines = (line.split("//")[0].strip() for line in ptx.splitlines())
    return [line for line in lines if line and not line.startswith((".", "$", "{", "}"))]


def test_every_load_and_store_of_values_and_angles_has_full_width(ptx: dict[tuple[str, int], str]) -> None:
    found = accesses(ptx[KERNEL, 16])
    assert {name: n for name, n in found.items() if name.startswith("ld")} == {
        "ld.global.v4.b32": 6,  # four chunks of 8 bf16 a thread, 4 cosines, 4 sines
        "ld.global.b64": 1,  # the position
    }
    assert {name: n for name, n in found.items() if name.startswith("st")} == {
        "st.global.v2.b32": 4,  # four chunks of 8 fp8 a thread, a warp's 256 bytes in one piece
        "st.global.b32": 4,  # the scales
    }


def test_the_opt_outs_cost_nothing(ptx: dict[tuple[str, int], str]) -> None:
    # At T = 16 the specialised copy knows that num_tokens and the address of the positions are multiples of 16.
    assert statements(ptx[KERNEL, 16]) == statements(ptx[SPECIALISED, 16])


def test_the_form_that_recompiles_loads_partners_and_angles_one_by_one(
    ptx: dict[tuple[str, int], str],
) -> None:
    found = accesses(ptx[BEFORE, 2])
    assert (found["ld.global.b16"], found["ld.global.b32"]) == (16, 32)


def test_three_of_its_four_variants_are_the_same_code(ptx: dict[tuple[str, int], str]) -> None:
    plain, one = statements(ptx[BEFORE, 2]), statements(ptx[BEFORE, 1])
    assert statements(ptx[BEFORE, 13]) == plain
    assert statements(ptx[BEFORE, 16]) == plain
    assert one != plain
