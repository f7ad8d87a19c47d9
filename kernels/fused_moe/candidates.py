"""The tiles worth trying on Hopper, by scheme and rows of a block."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from jitwatch.kernels.fused_moe.experts import Scheme
from jitwatch.kernels.fused_moe.tiles import Tile

SHARED_BYTES = 220 << 10
"""What the operands in flight may take of a multiprocessor's shared memory; 227 KiB less what Triton adds."""


def heights(rows: float) -> tuple[int, ...]:
    """Rows of a block to try for that many rows per expert."""
    if rows <= 4:
        return (16,)
    return tuple(height for height in (16, 32, 64, 128) if rows / 2 <= height <= 2 * rows) or (128,)


def tiles(scheme: Scheme, block_m: int) -> tuple[Tile, ...]:
    """Tiles of either GEMM with that many rows."""
    found = few_rows(scheme, block_m) if block_m < 64 else many_rows(scheme, block_m)
    return tuple(tile for tile in found if shared_bytes(tile, scheme, block_m) <= SHARED_BYTES)


def few_rows(scheme: Scheme, block_m: int) -> Iterator[Tile]:
    """Bound by reading weights: deep steps, several in flight, swapped and not."""
    depths = {Scheme.PLAIN: (64, 128), Scheme.BLOCK: (128,)}.get(scheme, (128, 256))
    engines = (False, True) if block_m == 16 else (False,)
    for block_n, block_k, stages, bulk in itertools.product((64, 128), depths, (3, 5), engines):
        # Four stages of 256 by the copy engine were slower wherever the other three were tried.
        if not (bulk and block_k == 256):
            yield Tile(block_n, block_k, 4, stages, swap_ab=True, bulk=bulk)
    for block_n, block_k in itertools.product((32, 64, 128), depths):
        yield Tile(block_n, block_k, 4, 4)
    if scheme is Scheme.PLAIN:
        # bf16 has no slow path below 64 rows, so that its sides need no swapping: tried as widely as fp8's swapped.
        yield from (
            Tile(block_n, 256, 4, stages) for block_n, stages in ((32, 3), (64, 2), (64, 3), (128, 2))
        )
        yield from (Tile(block_n, 128, 4, stages) for block_n, stages in ((64, 3), (64, 6), (128, 3)))


def many_rows(scheme: Scheme, block_m: int) -> Iterator[Tile]:
    """Bound by multiplying: wide tiles, weights shared by neighbours."""
    depths = {Scheme.PLAIN: (64,)}.get(scheme, (128,))
    shapes = {64: ((64, 4), (128, 4), (256, 8)), 128: ((128, 8), (256, 8), (128, 4))}[block_m]
    for (block_n, warps), block_k, stages, bulk in itertools.product(shapes, depths, (3, 4), (False, True)):
        yield Tile(block_n, block_k, warps, stages, group_m=8, bulk=bulk)


def token_tiles(scheme: Scheme) -> tuple[Tile, ...]:
    """Tiles of the second GEMM that works on one token at a time."""
    depths = {Scheme.PLAIN: (64, 128), Scheme.BLOCK: (128,)}.get(scheme, (128, 256))
    return tuple(
        Tile(block_n, block_k, 4, stages)
        for block_n, block_k, stages in itertools.product((16, 32, 64), depths, (6, 10))
    )


def shared_bytes(tile: Tile, scheme: Scheme, block_m: int) -> int:
    """Bytes of the operands in flight."""
    size = 2 if scheme is Scheme.PLAIN else 1
    return (tile.block_n + block_m) * tile.block_k * tile.stages * size
