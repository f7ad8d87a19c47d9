"""On a GPU, ``jitwatch verify RUN`` times what it judges: ``python tests/gpu/verify_a_run.py``.

A recorded run of four kernels is verified from the command line. Checked: every verdict whose code changes has the
times of both forms, a mask along memory is slower and costs, a factor is not and is harmless, and a kernel whose
launch cannot be repeated (it follows addresses out of an integer tensor) is told and stops nothing. Exit code 1 when
one of it is not so.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PROGRAM = """
import torch, triton
import triton.language as tl

@triton.jit
def masked(x, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + offsets, tl.load(x + offsets, mask=offsets < n) * 2, mask=offsets < n)

@triton.jit
def scaled(x, factor, WIDTH: tl.constexpr):
    at = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
    tl.store(x + at, tl.load(x + at) * factor)

@triton.jit
def gathered(x, places, stride, WIDTH: tl.constexpr):
    at = tl.load(places + tl.program_id(0)) * stride + tl.arange(0, WIDTH)
    tl.store(x + at, tl.load(x + at) * 2)

@triton.jit
def followed(addresses, n, WIDTH: tl.constexpr):
    row = tl.load(addresses + tl.program_id(0)).to(tl.pointer_type(tl.bfloat16))
    row = tl.multiple_of(row, 16)
    offsets = tl.arange(0, WIDTH)
    tl.store(row + offsets, tl.load(row + offsets, mask=offsets < n) * n, mask=offsets < n)

x = torch.randn(2**26, device="cuda").to(torch.bfloat16)
addresses = torch.full((16,), x.data_ptr(), dtype=torch.int64, device="cuda")
places = torch.arange(2**10, device="cuda")
for n in (2**26, 2**26 - 5):
    masked[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](x, n, BLOCK=1024)
    scaled[(2**16,)](x, 1 + n % 16, WIDTH=1024)
    gathered[(2**10,)](x, places, 2**10 + n % 2, WIDTH=512)
    followed[(16,)](addresses, 1008 + n % 16, WIDTH=1024)
torch.cuda.synchronize()
"""


def verdicts_on(program: str) -> tuple[dict[tuple[str, str], dict[str, Any]], str]:
    """The rows that ``verify --format json`` prints, by kernel and parameter, and the table."""
    with tempfile.TemporaryDirectory() as folder:
        script, run = Path(folder, "program.py"), Path(folder, "run")
        script.write_text(program)
        jitwatch = [sys.executable, "-m", "jitwatch"]
        profile = [*jitwatch, "profile", "--out", str(run), sys.executable, str(script)]
        subprocess.run(profile, check=True, stdout=subprocess.DEVNULL)
        verify = [*jitwatch, "verify", str(run)]
        got = subprocess.run([*verify, "--format", "json"], check=True, capture_output=True, text=True).stdout
        table = subprocess.run(verify, check=True, capture_output=True, text=True).stdout
    return {(row["kernel"], row["parameter"]): row for row in json.loads(got)}, table


def wrong_in(found: dict[tuple[str, str], dict[str, Any]]) -> list[str]:
    """What is not as it must be."""
    wrong = []
    for (kernel, parameter), row in found.items():
        timed, changed = row["time_ratio"] is not None, bool(row["changed_lines"])
        if kernel == "followed":
            if timed or not any("was not timed" in note for note in row["notes"]):
                wrong.append("followed was timed, or its failure not told")
        elif timed != changed:
            wrong.append(f"{kernel}.{parameter}: changed {changed}, timed {timed}")
    costly, free = found["masked", "n"], found["scaled", "factor"]
    if costly["verdict"] != "costs" or not (costly["time_ratio"] or 0) > 1.02:
        wrong.append(f"masked.n: {costly['verdict']}, {costly['time_ratio']}")
    if free["verdict"] != "harmless" or not 0.98 < (free["time_ratio"] or 0) <= 1.02:
        wrong.append(f"scaled.factor: {free['verdict']}, {free['time_ratio']}")
    return wrong


def main() -> int:
    """Print the table and what is wrong."""
    found, table = verdicts_on(PROGRAM)
    print(table)
    for row in found.values():
        print(
            f"{row['kernel']}.{row['parameter']}: {row['verdict']}, ratio {row['time_ratio']}, {row['notes']}"
        )
    wrong = wrong_in(found)
    print("\n".join(wrong) or "all as it must be")
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())
