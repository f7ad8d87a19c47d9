"""The inverse-RoPE kernels on a CUDA device against the reference, byte for byte."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("triton")
pytest.importorskip("torch")

import torch

if not torch.cuda.is_available() or torch.cuda.get_device_capability() < (8, 9):
    pytest.skip("needs a CUDA device with e4m3 (compute capability 8.9)", allow_module_level=True)

from jitwatch.kernels.rope_fp8_quant import kernel, launcher, reference
from tests.kernels.rope_cases import Case, make_inputs, run

LAYOUTS = [(1, 8), (8, 8), (8, 64), (4, 32), (8, 128), (2, 6), (3, 3), (1, 1), (1, 16), (16, 16)]


def random_cases(count: int, most_tokens: int) -> list[Case]:
    """Random shapes; every token count up to 40 comes first, so that each class is met often."""
    draw = random.Random(0)
    cases = []
    for number in range(count):
        groups, heads = draw.choice(LAYOUTS)
        tokens = number + 1 if number < 40 else draw.randint(1, most_tokens)
        cases.append(Case("kernel", tokens, groups, heads, draw.random() < 0.3, draw.choice((0, 0, 1, 8))))
    return cases


@pytest.mark.parametrize("case", random_cases(200, 700), ids=str)
def test_every_byte_of_a_random_shape_equals_the_reference(case: Case) -> None:
    outcome = run(case, "cuda", seed=case.tokens)
    assert (outcome.padding_zero, outcome.scales_equal, outcome.wrong_values) == (True, True, 0.0)


@pytest.mark.parametrize(
    "case", [Case("before", t, 2, 8, p) for t in (1, 13, 16, 50) for p in (False, True)], ids=str
)
def test_the_form_that_recompiles_computes_the_same_bytes(case: Case) -> None:
    outcome = run(case, "cuda")
    assert (outcome.padding_zero, outcome.scales_equal, outcome.wrong_values) == (True, True, 0.0)


def test_the_entry_point_returns_the_layouts_it_promises() -> None:
    o, positions, cache = make_inputs(Case("kernel", 7, 2, 8), "cuda", 0)
    values, scales = launcher.inverse_rope_fp8_quant(o, positions, cache, 2, packed_scales=False)
    expected, expected_scales = reference.inverse_rope_fp8_quant(o, positions, cache, 2, packed_scales=False)
    assert values.stride() == (2048, 7 * 2048, 1)
    assert scales.stride() == (16 * 8, 1, 8)
    assert torch.equal(values.contiguous().view(torch.uint8), expected.view(torch.uint8))
    assert torch.equal(scales, expected_scales[:, :7])


def test_offsets_past_2_to_the_31_reach_the_right_rows() -> None:
    tokens, heads, groups = 70_001, 64, 8  # 2.3e9 values in o and out
    if torch.cuda.mem_get_info()[0] < 10 << 30:
        pytest.skip("needs 10 GiB of free device memory")
    o = torch.empty(tokens, heads, reference.HEAD, dtype=torch.bfloat16, device="cuda").normal_()
    positions = torch.arange(tokens, device="cuda") % 4096
    cache = torch.rand(4096, reference.ROTARY, device="cuda")
    values, scales = launcher.allocate(tokens, heads, groups, False, o.device)
    kernel.launch(o, positions, cache, values, scales)
    for rows in (slice(0, 64), slice(65_500, 65_600), slice(tokens - 64, tokens)):
        expected, expected_scales = reference.inverse_rope_fp8_quant(
            o[rows], positions[rows], cache, groups, packed_scales=False
        )
        got = values.transpose(0, 1)[rows].contiguous()
        assert torch.equal(got.view(torch.uint8), expected.view(torch.uint8))
        assert torch.equal(scales.transpose(1, 2)[:, rows], expected_scales[:, : got.shape[0]])


def test_one_variant_serves_the_whole_suite_of_a_layout() -> None:
    for tokens in (1, 2, 13, 16, 29, 48, 100):
        o, positions, cache = make_inputs(Case("kernel", tokens, 4, 4), "cuda", 0)
        launcher.inverse_rope_fp8_quant(o, positions, cache, 4, packed_scales=False)
        if tokens == 1:
            compiled = compiled_variants()
    assert compiled_variants() == compiled


def compiled_variants() -> int:
    """Variants of the kernel in Triton's in-memory caches."""
    caches = kernel.inverse_rope_fp8_quant_kernel.device_caches.values()
    return sum(len(kernels) for kernels, *_ in caches)
