"""The weights of a layer's experts and how they are quantized: what is passed in, once a model."""

from __future__ import annotations

import enum
from dataclasses import dataclass

import torch

FP8 = torch.float8_e4m3fn

FP8_MAX = 448.0
"""Largest finite e4m3fn."""

GROUP = 128
"""Values that share a scale in the block scheme: 1x128 of activations, 128x128 of weights."""

EPSILON = 1e-10
"""Smallest maximum that a dynamic scale is made of; keeps the scale of an all-zero row positive."""


class Scheme(enum.Enum):
    """How weights and activations are held."""

    PLAIN = "plain"
    """bf16 (or fp16, fp32), no scales."""
    TENSOR = "fp8-tensor"
    """Static w8a8: one scale for all activations, known beforehand; one for each expert's matrix."""
    TOKEN = "fp8-token"
    """Dynamic: a scale for each row of activations; for weights one a matrix or one an output channel."""
    BLOCK = "fp8-block"
    """Dynamic: a scale for each 128 values of a row of activations; for weights one for 128x128."""


@dataclass(frozen=True)
class Experts:
    """Weights of E experts, each K -> 2N -> N -> K."""

    gate_up: torch.Tensor
    """[E, 2N, K]: N rows that make the gate, then N rows that make what it gates."""
    down: torch.Tensor
    """[E, K, N]."""
    scheme: Scheme = Scheme.PLAIN
    gate_up_scale: torch.Tensor | None = None
    """fp32 [E]; or [E, 2N] (token scheme); or [E, 2N / 128, K / 128], rounded up (block scheme)."""
    down_scale: torch.Tensor | None = None
    """fp32 [E]; or [E, K] (token scheme); or [E, K / 128, N / 128], rounded up (block scheme)."""
    input_scale: torch.Tensor | None = None
    """fp32 [1], tensor scheme only: scale of the layer's input."""
    inner_scale: torch.Tensor | None = None
    """fp32 [1], tensor scheme only: scale of what goes into the second matrix."""

    @property
    def count(self) -> int:
        """E, the experts held here."""
        return int(self.gate_up.shape[0])

    @property
    def hidden(self) -> int:
        """K, the width of a token."""
        return int(self.gate_up.shape[2])

    @property
    def inner(self) -> int:
        """N, the width between the two matrices."""
        return int(self.gate_up.shape[1]) // 2

    @property
    def quantized(self) -> bool:
        """Whether the matrices are multiplied in fp8."""
        return self.scheme is not Scheme.PLAIN
