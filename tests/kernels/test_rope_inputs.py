"""What the launcher of the inverse-RoPE target refuses, and in which words."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("triton")
pytest.importorskip("torch")

import torch

from jitwatch.errors import JitwatchError
from jitwatch.kernels.rope_fp8_quant import launcher

GOOD = {
    "o": torch.zeros(4, 8, 512, dtype=torch.bfloat16),
    "positions": torch.zeros(4, dtype=torch.int64),
    "cos_sin_cache": torch.zeros(16, 64),
    "n_groups": 2,
}


@pytest.fixture(autouse=True)
def _interpreting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The launcher takes CPU tensors under the interpreter only."""
    monkeypatch.setenv("TRITON_INTERPRET", "1")


def test_good_inputs_are_not_refused() -> None:
    launcher.check_inputs(**GOOD)


@pytest.mark.parametrize(
    "o",
    [
        pytest.param(
            torch.zeros(4, 12, 512, dtype=torch.bfloat16)[:, 4:], id="a slice of a buffer with more heads"
        ),
        pytest.param(torch.zeros(4, 4112, dtype=torch.bfloat16)[:, :4096].view(4, 8, 512), id="padded rows"),
        pytest.param(torch.zeros(8, 8, 512, dtype=torch.bfloat16)[::2], id="every second token"),
    ],
)
def test_rows_of_a_larger_buffer_are_not_refused(o: Any) -> None:
    launcher.check_inputs(**{**GOOD, "o": o})


def test_no_tokens_are_not_refused_and_give_empty_outputs() -> None:
    values, scales = launcher.inverse_rope_fp8_quant(
        GOOD["o"][:0], GOOD["positions"][:0], GOOD["cos_sin_cache"], 2
    )
    assert (values.shape, scales.shape) == ((0, 2, 2048), (2, 0, 16))


def test_outputs_have_the_layout_their_readers_expect() -> None:
    values, scales = launcher.allocate(5, 8, 2, False, torch.device("cpu"))
    assert (values.transpose(0, 1).stride(), scales.transpose(1, 2).stride()) == (
        (2048, 10240, 1),
        (128, 1, 8),
    )
    _, packed = launcher.allocate(5, 8, 2, True, torch.device("cpu"))
    assert (packed.dtype, packed.shape) == (torch.int32, (2, 4, 8))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("o", torch.zeros(4, 8, 256, dtype=torch.bfloat16), r"o has shape \(4, 8, 256\)"),
        ("o", torch.zeros(4, 4096, dtype=torch.bfloat16), r"o has shape \(4, 4096\)"),
        ("o", torch.zeros(4, 0, 512, dtype=torch.bfloat16), "at least one head"),
        ("o", torch.zeros(4, 8, 512), "o is torch.float32: pass torch.bfloat16"),
        (
            "o",
            torch.zeros(8, 4, 512, dtype=torch.bfloat16).transpose(0, 1),
            "heads of a token must be contiguous",
        ),
        (
            "o",
            torch.zeros(4, 8, 1024, dtype=torch.bfloat16)[:, :, ::2],
            "heads of a token must be contiguous",
        ),
        ("o", torch.zeros(4, 4104, dtype=torch.bfloat16)[:, :4096].view(4, 8, 512), "token stride is 4104"),
        (
            "o",
            torch.zeros(4 * 4096 + 4, dtype=torch.bfloat16)[4:].view(4, 8, 512),
            "o starts at byte 8 of a 16",
        ),
        ("n_groups", 3, "n_groups is 3: pass a divisor of the 8 heads"),
        ("n_groups", 0, "n_groups is 0"),
        ("positions", torch.zeros(5, dtype=torch.int64), "one position for each of the 4 tokens"),
        ("positions", torch.zeros(4, 1, dtype=torch.int64), r"positions has shape \(4, 1\)"),
        ("positions", torch.zeros(4, dtype=torch.int32), "positions is torch.int32: pass torch.int64"),
        ("positions", torch.zeros(8, dtype=torch.int64)[::2], "positions has stride"),
        ("cos_sin_cache", torch.zeros(16, 32), r"pass \[positions, 64\], 32 cosines then 32 sines"),
        ("cos_sin_cache", torch.zeros(16, 64, dtype=torch.float64), "pass torch.float32"),
        ("cos_sin_cache", torch.zeros(16, 128)[:, :64], "cos_sin_cache has strides"),
        ("cos_sin_cache", torch.zeros(16 * 64 + 1)[1:].view(16, 64), "starts at byte 4 of a 16-byte unit"),
        ("cos_sin_cache", torch.zeros(16, 64, device="meta"), "on cpu, cpu, meta: move them to one device"),
    ],
)
def test_a_bad_input_is_refused_in_one_line(name: str, value: Any, words: str) -> None:
    with pytest.raises(JitwatchError, match=words) as error:
        launcher.check_inputs(**{**GOOD, name: value})
    assert "\n" not in str(error.value)


def test_a_cpu_tensor_is_refused_outside_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_INTERPRET")
    with pytest.raises(JitwatchError, match="o is on cpu: move the inputs to a CUDA device"):
        launcher.check_inputs(**GOOD)
