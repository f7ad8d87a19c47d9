"""``lint --fix --verify``: both forms are compiled by Triton, for a target that is not there."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.lint.conftest import Lint

pytest.importorskip("triton")
pytest.importorskip("torch")

CHECKOUT = Path(__file__).parents[2]

BOTH = """\
import triton
import triton.language as tl


@triton.jit
def scale_rows(x, out, num_tokens, WIDTH: tl.constexpr):
    rows = tl.program_id(0) * 4 + tl.arange(0, 4)
    at = rows[:, None] * WIDTH + tl.arange(0, WIDTH)[None, :]
    inside = (rows < num_tokens)[:, None]
    tl.store(out + at, tl.load(x + at, mask=inside) * 2, mask=inside)


@triton.jit
def copy_positions(positions, out_positions, num_tokens, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_positions + at, tl.load(positions + at, at < num_tokens), at < num_tokens)
"""
"""A mask of rows, which the compiler alone proves harmless; and a mask along memory, which the linter lets pass where
only indices are moved."""


def run(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False, cwd=cwd)


ROPE = """\
import before
import torch

for tokens in (2, 1, 13, 16):
    before.launch(
        torch.zeros(tokens, 8, 512, dtype=torch.bfloat16, device="cuda"),
        torch.zeros(tokens, dtype=torch.int64, device="cuda"),
        torch.zeros(1, 64, device="cuda"),
        torch.zeros(1, tokens, 8 * 512, dtype=torch.float8_e4m3fn, device="cuda"),
        torch.zeros(1, 8 * 4, -(-tokens // 4) * 4, device="cuda"),
    )
"""
"""One token count of each of the kernel's four variants."""


def test_the_rope_kernel_ends_with_one_variant_for_all_token_counts_and_is_proven_harmless(
    tmp_path: Path,
) -> None:
    before = CHECKOUT / "kernels/rope_fp8_quant/before.py"
    copy = tmp_path / "before.py"
    shutil.copy(before, copy)
    (tmp_path / "main.py").write_text(ROPE)
    command = ("-m", "jitwatch", "profile", "--offline=cuda:90", "--out", "run", sys.executable, "main.py")
    recorded = run(*command, cwd=tmp_path)
    assert recorded.returncode == 0, recorded.stderr
    fixed = run("-m", "jitwatch", "lint", "--profile=run", "--fix", "--verify", "before.py", cwd=tmp_path)

    opted_out = '@triton.jit(do_not_specialize=["num_tokens", "scale_stride_k"])'
    assert copy.read_text() == before.read_text().replace("@triton.jit", opted_out), fixed.stderr
    told = [" ".join(line.split()) for line in fixed.stderr.splitlines()]
    assert len([line for line in told if line.startswith("proven harmless for cuda:90: ")]) == 2
    assert told[-1].startswith("predicted: 4 variants → 1, would have ended 3 misses and saved ")
    counted = run("-c", COUNT, str(copy), cwd=CHECKOUT)
    assert counted.returncode == 0, counted.stderr
    assert json.loads(counted.stdout) == [[1, 8192]]


COUNT = """\
import importlib.util, json, sys
from jitwatch.kernels.rope_fp8_quant import before
spec = importlib.util.spec_from_file_location("fixed", sys.argv[1])
fixed = importlib.util.module_from_spec(spec)
spec.loader.exec_module(fixed)
from jitwatch.runtime import offline
from tests.kernels import rope_variants
offline.activate("cuda:90", execute=False)
rope_variants.FORMS["fixed"] = fixed.launch
keys = rope_variants.count("fixed", 1, 8, False, range(1, 8193), 0)
print(json.dumps([[counts[0], counts[-1]] for counts in keys.values()]))
"""
"""Triton's own binder, asked for each token count from 1 to 8192."""


def test_the_example_servers_kernels_are_fixed_where_it_is_proven(tmp_path: Path) -> None:
    shutil.copytree(CHECKOUT / "examples/tiny_decoder", tmp_path / "tiny_decoder")
    ran = run("-m", "jitwatch", "lint", "--fix", "--verify", "--format=concise", "tiny_decoder", cwd=tmp_path)
    before = (CHECKOUT / "examples/tiny_decoder/kernels.py").read_text()
    listed = '@triton.jit(do_not_specialize=["num_tokens"])\n'
    wanted = before.replace("out, num_tokens: tl.constexpr", "out, num_tokens")
    for name in ("embed_kernel", "rotary_cache_kernel"):
        wanted = wanted.replace(f"@triton.jit\ndef {name}", f"{listed}def {name}")
    assert (tmp_path / "tiny_decoder/kernels.py").read_text() == wanted
    assert ran.returncode == 1
    assert [line.split()[1] for line in ran.stdout.splitlines() if line.startswith("tiny_decoder")] == [
        "JW003"
    ]
    assert "Fixed 2 findings. Left: 1 finding" in ran.stdout


def test_what_is_harmless_is_applied_and_what_costs_is_left_with_its_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lint: Lint
) -> None:
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "ops.py"
    source.write_text(BOTH)
    assert lint("--fix").code == 1
    assert source.read_text() == BOTH
    ran = lint("--fix", "--verify", "--format=json")
    assert load(source) == {"scale_rows": ["num_tokens"], "copy_positions": []}
    (finding,) = ran.findings
    assert (finding["kernel"], finding["applicability"]) == ("copy_positions", "display")
    assert re.search(r"that costs, for cuda:90: .*global (reads|stores) \d → 1 wide", finding["remedy"])


def test_a_kernel_that_cannot_be_imported_is_not_proven_and_stays_unsafe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lint: Lint
) -> None:
    monkeypatch.chdir(tmp_path)
    source = f"import not_there_at_all\n{BOTH.partition('@triton.jit')[0]}@triton.jit{BOTH.split('@triton.jit')[1]}"
    (tmp_path / "ops.py").write_text(source)
    ran = lint("--fix", "--verify", "--format=json")
    assert (tmp_path / "ops.py").read_text() == source
    (finding,) = ran.findings
    assert finding["applicability"] == "unsafe"
    assert "not proven for cuda:90: " in finding["remedy"]
    assert "not_there_at_all" in finding["remedy"]


UNREAD = """\
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": size}) for size in (512, 1024)], key=["num_tokens"])
@triton.jit
def double(x, out, num_tokens, max_len: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < num_tokens) * 2, at < num_tokens)


def launch(x, out, max_seq_len):
    double[(x.shape[0],)](x, out, x.shape[0], max_seq_len)
"""


def test_what_is_dropped_is_proven_and_stays_unsafe_and_a_shorter_key_is_a_matter_of_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lint: Lint
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ops.py").write_text(UNREAD)
    ran = lint("--fix", "--verify", "--format=json")
    found = {each["code"]: each for each in ran.findings}
    assert (tmp_path / "ops.py").read_text() == UNREAD
    assert {code: each["applicability"] for code, each in found.items()} == {
        "JW003": "unsafe",
        "JW004": "unsafe",
    }
    assert found["JW004"]["remedy"].endswith("; proven harmless for cuda:90: identical code")
    assert (
        "not proven for cuda:90: the code of every configuration stays the same" in found["JW003"]["remedy"]
    )


def load(path: Path) -> dict[str, list[str]]:
    """Names that the kernels of a file opt out."""
    spec = importlib.util.spec_from_file_location("loaded", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {
        name: [each.name for each in kernel.params if each.do_not_specialize]
        for name, kernel in vars(module).items()
        if hasattr(kernel, "params")
    }


PROGRAM = textwrap.dedent(
    """
    import torch
    from ops import scale_rows

    for tokens in (16, 17, 1, 32):
        x = torch.empty(tokens, 64, device="cuda")
        scale_rows[(tokens,)](x, torch.empty_like(x), tokens, WIDTH=64)
    """
)


def test_of_a_run_what_it_showed_is_fixed_and_prediction_and_proof_are_told(
    tmp_path: Path, lint: Lint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ops.py").write_text(BOTH)
    (tmp_path / "main.py").write_text(PROGRAM)
    command = ("-m", "jitwatch", "profile", "--offline=cuda:90", "--out", "run", sys.executable, "main.py")
    recorded = run(*command, cwd=tmp_path)
    assert recorded.returncode == 0, recorded.stderr

    report = run("-m", "jitwatch", "report", "run", "--verify", cwd=tmp_path)
    assert "proven harmless, num_tokens (cuda:90): " in " ".join(report.stdout.split()), report.stdout

    ran = lint("--profile", "run", "--fix", "--verify", "--format=concise", "ops.py")

    assert load(tmp_path / "ops.py") == {"scale_rows": ["num_tokens"], "copy_positions": []}
    told = [" ".join(line.split()) for line in ran.err.splitlines()]
    assert told[0].startswith("scale_rows ops.py:")
    assert told[1] == "num_tokens: do_not_specialize"
    assert told[2].startswith("observed 2 recompiles, ")
    assert told[3] == "proven harmless for cuda:90: identical code" or told[3].startswith("proven harmless")
    assert told[4].startswith("predicted: 3 variants → 1, would have ended 2 misses and saved ")
