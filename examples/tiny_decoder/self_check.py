"""Compares every kernel, and whole answers, with plain torch."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from tiny_decoder import kernels, reference
from tiny_decoder.model import Decoder, Row

TOLERANCE = 1e-4
TOKEN_COUNTS = (1, 16, 43)
"""One of each specialization class: 1, a multiple of 16, other."""

Comparison = tuple[str, torch.Tensor, torch.Tensor]
"""Name, what Triton computed, what torch computed."""


def self_check(decoder: Decoder) -> bool:
    """Print a line for each kernel with its largest error; returns whether all are within ``TOLERANCE``."""
    worst: dict[str, float] = {}
    for name, got, wanted in _comparisons(decoder):
        error = (got - wanted).abs().max().item()
        # `not <=` and max's order make a NaN stick.
        worst[name] = error if not error <= worst.get(name, 0.0) else worst.get(name, 0.0)
    for name, error in worst.items():
        print(f"{'ok    ' if error <= TOLERANCE else 'WRONG '} {name:<24} largest error {error:.1e}")
    return all(error <= TOLERANCE for error in worst.values())


def _comparisons(decoder: Decoder) -> Iterator[Comparison]:
    for num_tokens in TOKEN_COUNTS:
        yield from _rowwise(decoder, num_tokens)
        yield from _attention(decoder, num_tokens)
    yield from _answer(decoder, prompt=list(b"The quick brown fox jumps over the lazy dog"), max_tokens=6)


def _rowwise(decoder: Decoder, num_tokens: int) -> Iterator[Comparison]:
    shape = decoder.shape
    tokens = torch.arange(num_tokens, dtype=torch.int32, device=decoder.device) * 37 % shape.vocab
    embedded = kernels.embed(tokens, decoder.embedding)
    yield "embed", embedded, reference.embed(tokens, decoder.embedding)
    weight = _random(decoder, shape.width)
    yield "rms_norm", kernels.rms_norm(embedded, weight), reference.rms_norm(embedded, weight)
    gate_up = _random(decoder, num_tokens, 2 * shape.ffn)
    yield "silu_mul", kernels.silu_mul(gate_up), reference.silu_mul(gate_up)


def _attention(decoder: Decoder, length: int) -> Iterator[Comparison]:
    """A prompt of ``length`` tokens into a cache that is full of other numbers, then its last token again."""
    shape = decoder.shape
    qkv = _random(decoder, length, 3, shape.heads, shape.head_width)
    positions = torch.arange(length, dtype=torch.int32, device=decoder.device)
    wanted = torch.stack(
        [reference.rotate(qkv[:, 0], positions), reference.rotate(qkv[:, 1], positions), qkv[:, 2]], 1
    )
    # Pages in reverse, so that a kernel that ignored the table would read another token's keys.
    pages = list(reversed(range(-(-length // shape.page))))
    slots = torch.tensor(
        [pages[at // shape.page] * shape.page + at % shape.page for at in range(length)],
        dtype=torch.int32,
        device=decoder.device,
    )
    keys, values = (_random(decoder, 64, shape.heads, shape.head_width) for _ in range(2))
    kernels.rotary_cache(qkv, positions, slots, keys, values)
    yield "rotary_cache", qkv, wanted
    yield "rotary_cache", keys[slots.long()], wanted[:, 1]
    yield "rotary_cache", values[slots.long()], wanted[:, 2]

    attended = reference.attention(*wanted.unbind(1))
    yield "prompt_attention", kernels.prompt_attention(qkv), attended
    table = torch.tensor([pages], dtype=torch.int32, device=decoder.device)
    lengths = torch.tensor([length], dtype=torch.int32, device=decoder.device)
    last = kernels.cache_attention(qkv[-1:], keys, values, table, lengths, shape.page)
    yield "cache_attention", last, attended[-1:]


def _answer(decoder: Decoder, prompt: list[int], max_tokens: int) -> Iterator[Comparison]:
    """Each token that prefill and decode choose is one that plain torch finds best, within the tolerance."""
    pages = list(range(-(-(len(prompt) + max_tokens) // decoder.shape.page)))
    tokens = [*prompt, decoder.prefill(prompt, pages)]
    for position in range(len(prompt), len(prompt) + max_tokens):
        logits = decoder.reference_logits(tokens[:position])
        yield "whole decoder", logits[tokens[position]], logits.max()
        tokens += decoder.decode([Row(tokens[position], position, pages)])


def _random(decoder: Decoder, *size: int) -> torch.Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(len(size))).to(decoder.device)
