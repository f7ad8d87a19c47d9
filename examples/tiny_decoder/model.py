"""The decoder: random seeded weights, a paged key-value cache, a pass for a prompt and one for a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from tiny_decoder import kernels, reference

Attend = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
"""From ``qkv`` [T, 3, H, D] and a layer's key and value cache to [T, H * D]."""


@dataclass(frozen=True)
class Shape:
    """Sizes of the decoder. fp32, so that rounding does not make a greedy token depend on its batch."""

    layers: int = 2
    heads: int = 2
    head_width: int = 32
    ffn: int = 128
    vocab: int = 256
    """One token a byte."""
    context: int = 256
    page: int = 8
    """Tokens in a page of the cache."""
    pages: int = 256

    @property
    def width(self) -> int:
        """Width of the residual stream."""
        return self.heads * self.head_width


@dataclass(frozen=True)
class Layer:
    """Weights of one layer, each [out, in], and its part of the cache, each [slots, H, D]."""

    norm_attention: torch.Tensor
    to_qkv: torch.Tensor
    to_residual: torch.Tensor
    norm_ffn: torch.Tensor
    to_gate_up: torch.Tensor
    to_down: torch.Tensor
    key_cache: torch.Tensor
    value_cache: torch.Tensor


@dataclass(frozen=True)
class Row:
    """One request's share of a batch: its newest token, where that stands, and the pages of its cache."""

    token: int
    position: int
    pages: Sequence[int]


class Decoder:
    """Predicts the next byte. The same ``seed`` gives the same weights on every device."""

    def __init__(self, device: torch.device, shape: Shape | None = None, seed: int = 0) -> None:
        self.shape = shape = shape or Shape()
        self.device = device
        generator = torch.Generator().manual_seed(seed)

        def weight(rows: int, columns: int, gain: float = 1.0) -> torch.Tensor:
            # Drawn on the CPU: a CUDA generator would draw other numbers than an offline run.
            drawn = torch.randn(rows, columns, generator=generator) * (gain * columns**-0.5)
            return drawn.to(device)

        def layer() -> Layer:
            cache = (shape.pages * shape.page, shape.heads, shape.head_width)
            return Layer(
                norm_attention=torch.ones(shape.width, device=device),
                to_qkv=weight(3 * shape.width, shape.width, gain=2.0),
                to_residual=weight(shape.width, shape.width),
                norm_ffn=torch.ones(shape.width, device=device),
                to_gate_up=weight(2 * shape.ffn, shape.width, gain=2.0),
                to_down=weight(shape.width, shape.ffn),
                key_cache=torch.zeros(cache, device=device),
                value_cache=torch.zeros(cache, device=device),
            )

        self.embedding = weight(shape.vocab, shape.width)
        self.layers = [layer() for _ in range(shape.layers)]
        self.norm = torch.ones(shape.width, device=device)
        self.head = weight(shape.vocab, shape.width)

    def prefill(self, prompt: Sequence[int], pages: Sequence[int]) -> int:
        """Read a prompt into its pages of the cache; returns the first token after it."""
        positions = list(range(len(prompt)))
        slots = [self._slot(pages, position) for position in positions]
        hidden = self._forward(prompt, positions, slots, lambda qkv, *_: kernels.prompt_attention(qkv))
        return self._choose(hidden[-1:])[0]

    def decode(self, rows: Sequence[Row]) -> list[int]:
        """Read one token of each request; returns the next of each."""
        table = self._page_table([row.pages for row in rows])
        lengths = self._indices([row.position + 1 for row in rows])

        def attend(qkv: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
            return kernels.cache_attention(qkv, keys, values, table, lengths, self.shape.page)

        slots = [self._slot(row.pages, row.position) for row in rows]
        tokens, positions = [row.token for row in rows], [row.position for row in rows]
        return self._choose(self._forward(tokens, positions, slots, attend))

    def reference_logits(self, tokens: Sequence[int]) -> torch.Tensor:
        """Logits [vocab] after ``tokens``, computed without cache and without Triton."""
        positions = self._indices(range(len(tokens)))
        hidden = reference.embed(self._indices(tokens), self.embedding)
        for layer in self.layers:
            qkv = self._split(reference.rms_norm(hidden, layer.norm_attention) @ layer.to_qkv.T)
            queries, keys = (reference.rotate(qkv[:, part], positions) for part in (0, 1))
            hidden = hidden + reference.attention(queries, keys, qkv[:, 2]) @ layer.to_residual.T
            gate_up = reference.rms_norm(hidden, layer.norm_ffn) @ layer.to_gate_up.T
            hidden = hidden + reference.silu_mul(gate_up) @ layer.to_down.T
        logits: torch.Tensor = reference.rms_norm(hidden[-1], self.norm) @ self.head.T
        return logits

    def _forward(
        self, tokens: Sequence[int], positions: Sequence[int], slots: Sequence[int], attend: Attend
    ) -> torch.Tensor:
        position_ids, slot_ids = self._indices(positions), self._indices(slots)
        hidden = kernels.embed(self._indices(tokens), self.embedding)
        for layer in self.layers:
            qkv = self._split(kernels.rms_norm(hidden, layer.norm_attention) @ layer.to_qkv.T)
            kernels.rotary_cache(qkv, position_ids, slot_ids, layer.key_cache, layer.value_cache)
            hidden = hidden + attend(qkv, layer.key_cache, layer.value_cache) @ layer.to_residual.T
            gate_up = kernels.rms_norm(hidden, layer.norm_ffn) @ layer.to_gate_up.T
            hidden = hidden + kernels.silu_mul(gate_up) @ layer.to_down.T
        return hidden

    def _choose(self, hidden: torch.Tensor) -> list[int]:
        logits = kernels.rms_norm(hidden, self.norm) @ self.head.T
        tokens: list[int] = logits.argmax(-1).tolist()
        return tokens

    def _split(self, qkv: torch.Tensor) -> torch.Tensor:
        return qkv.view(-1, 3, self.shape.heads, self.shape.head_width)

    def _slot(self, pages: Sequence[int], position: int) -> int:
        page, offset = divmod(position, self.shape.page)
        return pages[page] * self.shape.page + offset

    def _page_table(self, pages: Sequence[Sequence[int]]) -> torch.Tensor:
        # A multiple of four int32, so that each row starts 16-byte aligned.
        longest = align(max(map(len, pages)), 4)
        return self._indices([[*row, *[0] * (longest - len(row))] for row in pages])

    def _indices(self, values: Sequence[int] | Sequence[Sequence[int]]) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.int32, device=self.device)


def align(n: int, multiple: int) -> int:
    """Round ``n`` up to a multiple."""
    return -(-n // multiple) * multiple
