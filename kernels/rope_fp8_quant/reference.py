"""What the kernels compute, in plain torch: slow, and the judge of both of them."""

from __future__ import annotations

import torch

HEAD = 512
"""Values of a head: 448 plain ones, then 64 rotary ones."""

ROTARY = 64
"""The last values of a head, 32 interleaved (even, odd) pairs."""

CHUNK = 128
"""Values that share a scale; four chunks a head."""

FP8_MAX = 448.0
"""Largest finite e4m3fn."""

EPSILON = 1e-10
"""Smallest chunk maximum; keeps the scale of an all-zero chunk positive."""

SCALE_ALIGNMENT = 4
"""Rows of the scale storage are padded to a multiple of this, since TMA reads them in units of 16 bytes."""


def inverse_rope_fp8_quant(
    o: torch.Tensor,
    positions: torch.Tensor,
    cos_sin_cache: torch.Tensor,
    n_groups: int,
    *,
    packed_scales: bool,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Undo the rotary embedding of every head and quantize it to e4m3fn in chunks of 128.

    ``o`` bf16 [T, H, 512]; ``positions`` int64 [T]; ``cos_sin_cache`` fp32 [P, 64], 32 cosines then 32 sines
    of a position. H heads are n_groups groups of H / n_groups.

    Returns ``values`` e4m3fn [T, n_groups, D], D = H / n_groups * 512, and ``scales``: fp32
    [n_groups, T', D / 128] or, packed, int32 [n_groups, T', D / 512] whose bytes are the biased exponents of a
    head's four scales, lowest chunk first. T' is T rounded up to 4; the rows past T are zero.
    """
    tokens, heads, _ = o.shape
    rotated = rotate_back(o, positions, cos_sin_cache).view(tokens, heads * HEAD // CHUNK, CHUNK)
    exponents = scale_exponents(rotated.abs().amax(-1))
    values = (rotated / torch.exp2(exponents.double())[..., None]).clamp(-FP8_MAX, FP8_MAX)
    scales = pack(exponents) if packed_scales else torch.exp2(exponents.double()).float()
    scales = torch.cat([scales, scales.new_zeros(-tokens % SCALE_ALIGNMENT, scales.shape[1])])
    return (
        values.float().to(torch.float8_e4m3fn).view(tokens, n_groups, heads // n_groups * HEAD),
        scales.unflatten(1, (n_groups, scales.shape[1] // n_groups)).transpose(0, 1),
    )


def rotate_back(o: torch.Tensor, positions: torch.Tensor, cos_sin_cache: torch.Tensor) -> torch.Tensor:
    """Rotate the last 64 values of each head back; returns float64 [T, H, 512] holding float32 numbers.

    The sums are exact, then rounded where a float32 register holds them: ``fma(even, cos, odd * sin)`` rounds
    its product, then its sum. Without that, one value in a million falls on the other side of an fp8 rounding
    boundary, and an exact comparison is impossible.
    """
    x = o.double()
    cos, sin = cos_sin_cache[positions].double()[:, None, :].chunk(2, dim=-1)
    even, odd = x[..., -ROTARY::2], x[..., -ROTARY + 1 :: 2]
    rotated = torch.stack(
        [even * cos + round_to_float32(odd * sin), odd * cos - round_to_float32(even * sin)], dim=-1
    )
    return torch.cat([x[..., :-ROTARY], round_to_float32(rotated).flatten(-2)], dim=-1)


def round_to_float32(x: torch.Tensor) -> torch.Tensor:
    """Round float64 values to the nearest float32, kept as float64."""
    return x.float().double()


def scale_exponents(amax: torch.Tensor) -> torch.Tensor:
    """Return int64 n of the smallest power of two 2**n that brings a chunk of maximum ``amax`` within 448."""
    mantissa, exponent = torch.frexp(amax.clamp(min=EPSILON) / FP8_MAX)
    return torch.where(mantissa == 0.5, exponent - 1, exponent).long()


def pack(exponents: torch.Tensor) -> torch.Tensor:
    """Pack float32's biased exponents of the four scales of a head into int32, lowest chunk first."""
    biased = (exponents + 127).unflatten(-1, (-1, HEAD // CHUNK))
    shifts = torch.arange(0, 32, 8, device=exponents.device)
    # A shift by 24 of an exponent above 127 passes 2^31: the wrap to int32 is the byte pattern wanted.
    return (biased << shifts).sum(-1).to(torch.int32)
