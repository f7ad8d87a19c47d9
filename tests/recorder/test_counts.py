"""What the report counts is what a bare Triton hook in the same process counts, and each miss has the right cause."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Profiled

Write = Callable[..., Path]
Profile = Callable[..., Profiled]

BARE_HOOK = """
import json, sys
counts = {}
knobs = getattr(triton, "knobs", None)
where = (knobs.runtime, "jit_cache_hook") if knobs else (triton.runtime.jit.JITFunction, "cache_hook")
previous = getattr(*where)
def bare(**call):
    counts[call["fn"].name] = counts.get(call["fn"].name, 0) + 1
    return previous(**call) if previous else None
setattr(*where, bare if knobs else staticmethod(bare))
"""


def kernel_named(report: dict[str, Any], name: str) -> dict[str, Any]:
    """A kernel of the report."""
    (found,) = [kernel for kernel in report["kernels"] if kernel["name"] == name]
    return dict(found)


def test_the_sweep_over_a_length_and_its_padded_form_shows_exactly_its_four_classes(
    write: Write, profile: Profile
) -> None:
    program = write(
        BARE_HOOK
        + """
@triton.jit
def kernel(num_tokens, stride):
    tl.device_print("n", num_tokens + stride)

for T in range(1, 65):
    kernel[(1,)](num_tokens=T, stride=(T + 3) // 4 * 4)
print(json.dumps(counts))
"""
    )
    run = profile(program)
    kernel = kernel_named(run.report(), "kernel")
    assert json.loads(run.stdout) == {"kernel": 4}
    assert (kernel["variants"], kernel["recompiles"], len(kernel["events"])) == (4, 3, 4)

    first_of_class = [(miss["args"][0][2], miss["args"][1][2]) for miss in run.events("miss")]
    assert first_of_class == [(1, 4), (2, 4), (13, 16), (16, 16)]
    causes = [[change["argument"] for change in event["changed"]] for event in kernel["events"]]
    assert causes == [[], ["num_tokens"], ["stride"], ["num_tokens"]]
    classes = [
        (
            change["before"]["class"],
            change["after"]["class"],
            change["before"]["value"],
            change["after"]["value"],
        )
        for event in kernel["events"]
        for change in event["changed"]
    ]
    assert classes == [("=1", "other", 1, 2), ("other", "÷16", 4, 16), ("other", "÷16", 13, 16)]

    arguments = {argument["name"]: argument for argument in kernel["arguments"]}
    assert arguments["num_tokens"]["recompiles"] == 2
    assert arguments["stride"]["recompiles"] == 1
    assert arguments["num_tokens"]["classes"] == ["=1", "other", "÷16"]
    # Each alone leaves the other's classes; together one variant is left.
    assert arguments["num_tokens"]["variants_saved"]["do_not_specialize"] == 2
    assert arguments["stride"]["variants_saved"]["do_not_specialize"] == 1
    assert kernel["plan"][-1]["variants_after"] == 1


def test_opting_both_arguments_out_leaves_the_one_variant_the_plan_predicts(
    write: Write, profile: Profile
) -> None:
    program = write(
        """
        @triton.jit(do_not_specialize=["num_tokens", "stride"])
        def kernel(num_tokens, stride):
            tl.device_print("n", num_tokens + stride)

        for T in range(1, 65):
            kernel[(1,)](num_tokens=T, stride=(T + 3) // 4 * 4)
        """
    )
    kernel = kernel_named(profile(program).report(), "kernel")
    assert (kernel["variants"], kernel["recompiles"]) == (1, 0)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_generated_sweep_is_counted_exactly(write: Write, profile: Profile, seed: int) -> None:
    """Random launches of three kernels: classes, constexprs, floats, None, widths, opt-outs, options, re-decoration."""
    program = write(
        BARE_HOOK
        + f"""
import random
random.seed({seed})

@triton.jit
def plain(a, b, c):
    tl.device_print("a", a)

@triton.jit(do_not_specialize=["a"])
def opted(a, MODE: tl.constexpr):
    tl.device_print("a", a)

def decorate():
    @triton.jit
    def inner(a):
        tl.device_print("a", a)
    return inner

numbers = [1, 2, 3, 15, 16, 17, 32, 48, 0, -16, 2**31, 2**31 + 16, 2**40]
for _ in range(25):
    plain[(1,)](random.choice(numbers), random.choice([1.5, 2.0]), random.choice([None, 3, True]))
    opted[(1,)](random.choice(numbers), MODE=random.choice([1, 2, "x"]), num_warps=random.choice([2, 4]))
    decorate()[(1,)](random.choice([3, 16]))
print(json.dumps(counts))
"""
    )
    run = profile(program)
    assert run.code == 0, run.stderr
    report = run.report()
    bare = {name.rpartition(".")[2]: count for name, count in json.loads(run.stdout).items()}
    reported = {each["name"].rpartition(".")[2]: sum(each["misses"].values()) for each in report["kernels"]}
    assert reported == bare
    assert sum(report["totals"]["misses"].values()) == sum(bare.values())
    for kernel in report["kernels"]:
        assert len(kernel["events"]) == sum(kernel["misses"].values())
        unexplained = [event for event in kernel["events"][1:] if not event["changed"]]
        assert unexplained == []


def test_the_example_server_is_counted_exactly(profile: Profile, tmp_path: Path) -> None:
    for package in ("torch", "starlette", "uvicorn", "httpx"):
        pytest.importorskip(package)
    serve = Path(__file__).resolve().parents[2] / "examples" / "serve.py"
    counted = tmp_path / "counted.json"
    run = profile(serve, "--demo", "--count-misses", counted, options=("--offline",), timeout=240)
    assert run.code == 0, run.stderr
    report = run.report()
    reported = {kernel["name"]: sum(kernel["misses"].values()) for kernel in report["kernels"]}
    assert reported == json.loads(counted.read_text())
    assert kernel_named(report, "rms_norm_kernel")["recompiles"] == 0
    causes = {
        kernel["name"]: {a["name"] for a in kernel["arguments"] if a["recompiles"]}
        for kernel in report["kernels"]
        if kernel["recompiles"]
    }
    assert causes == {
        "embed_kernel": {"num_tokens"},
        "rotary_cache_kernel": {"num_tokens"},
        "cache_attention_kernel": {"table_stride"},
    }
