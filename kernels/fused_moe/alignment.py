"""Sorts the slots by expert, on the GPU, in one launch whose shape follows from the number of slots alone.

A slot is one of a token's k choices, numbered ``token * k + choice``. A block is up to ``BLOCK_M`` slots of one
expert: what one row of programs of a GEMM works on. Every program ranks one chunk of slots by comparing all pairs,
and counts the slots of the other chunks by itself. So nothing is shared between programs, nothing is waited for,
and the order is the same each time. The other programs of the launch quantize the layer's input meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl

from jitwatch.kernels.fused_moe.quantize import quantize_row

CHUNK = 64
"""Most slots that one program aligns alone, and slots of a program in a batch of some."""

LARGE_CHUNK = 128
"""Slots of a program in a large batch: fewer programs count all the others' slots."""

LARGE = 2048
"""Slots of a large batch."""

HISTOGRAM = tl.constexpr(1024)
"""Slots counted at a time."""

NO_EXPERT = tl.constexpr(1 << 30)
"""Sorts after every expert: slots past the end, and those of other ranks."""


@triton.jit
def local_expert(ids_ptr, map_ptr, slot, live, MAPPED: tl.constexpr):
    """The local number of each slot's expert, or ``NO_EXPERT``."""
    expert = tl.load(ids_ptr + slot, mask=live, other=-1).to(tl.int32)
    if MAPPED:
        expert = tl.load(map_ptr + expert, mask=expert >= 0, other=-1).to(tl.int32)
    return tl.where(expert >= 0, expert, NO_EXPERT)


@triton.jit
def count_others(expert, CHUNK: tl.constexpr):
    """For each slot: those of its expert before it, all of its expert, and those of the experts before.

    The three counts share one sum over all pairs, ten bits each.
    """
    slot = tl.arange(0, CHUNK)
    same = tl.where(slot[None, :] < slot[:, None], 1 + (1 << 10), 1 << 10)
    before = tl.where(expert[None, :] < expert[:, None], 1 << 20, 0)
    counts = tl.sum(tl.where(expert[:, None] == expert[None, :], same, before), axis=1)
    return counts & 1023, (counts >> 10) & 1023, counts >> 20


@triton.jit
def count_slots(ids_ptr, map_ptr, first, last, BINS: tl.constexpr, MAPPED: tl.constexpr):
    """Slots of each expert among ``first .. last``; the last bin holds those of none."""
    counts = tl.zeros((BINS,), tl.int32)
    for start in range(first, last, HISTOGRAM):
        slot = start + tl.arange(0, HISTOGRAM)
        expert = local_expert(ids_ptr, map_ptr, slot, slot < last, MAPPED)
        counts += tl.histogram(tl.minimum(expert, BINS - 1), BINS)
    return tl.where(tl.arange(0, BINS) == BINS - 1, 0, counts)


@triton.jit
def write_blocks(table_ptr, block, expert, first, rows, opens):
    """Write the entry of each block that a slot opens: its expert, where its slots start, and how many."""
    entry = table_ptr + 1 + 3 * block
    tl.store(entry, expert, mask=opens)
    tl.store(entry + 1, first, mask=opens)
    tl.store(entry + 2, rows, mask=opens)


@triton.jit
def align_one_chunk(expert, slots_ptr, table_ptr, BLOCK_M: tl.constexpr, CHUNK: tl.constexpr):
    """Align a batch of at most ``CHUNK`` slots: every number is a count of pairs, whatever the experts' number."""
    slot = tl.arange(0, CHUNK)
    live = expert < NO_EXPERT
    rank, total, before = count_others(expert, CHUNK)
    opens = live & (rank % BLOCK_M == 0)
    opened_before = (expert[None, :] < expert[:, None]) & opens[None, :]
    block = tl.sum(opened_before.to(tl.int32), axis=1) + rank // BLOCK_M
    tl.store(slots_ptr + before + rank, slot, mask=live)
    write_blocks(table_ptr, block, expert, before + rank, tl.minimum(total - rank, BLOCK_M), opens)
    tl.store(table_ptr, tl.sum(opens.to(tl.int32)))


@triton.jit
def align_chunk(
    ids_ptr,
    map_ptr,
    slots_ptr,
    table_ptr,
    num_slots,
    chunk,
    BINS: tl.constexpr,
    MAPPED: tl.constexpr,
    BLOCK_M: tl.constexpr,
    CHUNK: tl.constexpr,
):
    """Align one chunk of a larger batch."""
    earlier = count_slots(ids_ptr, map_ptr, 0, chunk * CHUNK, BINS, MAPPED)
    total = earlier + count_slots(ids_ptr, map_ptr, chunk * CHUNK, num_slots, BINS, MAPPED)
    blocks = tl.cdiv(total, BLOCK_M)
    start = tl.cumsum(total, 0) - total
    first_block = tl.cumsum(blocks, 0) - blocks
    if chunk == 0:
        tl.store(table_ptr, tl.sum(blocks))

    within = tl.arange(0, CHUNK)
    slot = chunk * CHUNK + within
    expert = local_expert(ids_ptr, map_ptr, slot, slot < num_slots, MAPPED)
    live = expert < NO_EXPERT
    own = tl.minimum(expert, BINS - 1)
    rank, _, _ = count_others(expert, CHUNK)
    rank += tl.gather(earlier, own, 0)
    first = tl.gather(start, own, 0) + rank
    tl.store(slots_ptr + first, slot, mask=live)
    rows = tl.minimum(tl.gather(total, own, 0) - rank, BLOCK_M)
    block = tl.gather(first_block, own, 0) + rank // BLOCK_M
    write_blocks(table_ptr, block, expert, first, rows, live & (rank % BLOCK_M == 0))


@triton.jit(do_not_specialize=["ids_ptr", "map_ptr", "num_slots", "num_chunks"])
def prepare_kernel(
    ids_ptr,
    map_ptr,
    slots_ptr,
    table_ptr,
    x_ptr,
    q_ptr,
    scale_ptr,
    num_slots: tl.int32,
    num_chunks: tl.int32,
    BINS: tl.constexpr,
    MAPPED: tl.constexpr,
    BLOCK_M: tl.constexpr,
    CHUNK: tl.constexpr,
    ONE_CHUNK: tl.constexpr,
    QUANTIZED: tl.constexpr,
    WIDTH: tl.constexpr,
    SCHEME: tl.constexpr,
    ROW_BLOCK: tl.constexpr,
    OVERLAP: tl.constexpr,
):
    """The first ``num_chunks`` programs align a chunk each; each of the others quantizes one row of ``x``."""
    if OVERLAP:
        tl.extra.cuda.gdc_wait()
        tl.extra.cuda.gdc_launch_dependents()
    program = tl.program_id(0)
    if program < num_chunks:
        if ONE_CHUNK:
            slot = tl.arange(0, CHUNK)
            expert = local_expert(ids_ptr, map_ptr, slot, slot < num_slots, MAPPED)
            align_one_chunk(expert, slots_ptr, table_ptr, BLOCK_M, CHUNK)
        else:
            align_chunk(
                ids_ptr, map_ptr, slots_ptr, table_ptr, num_slots, program, BINS, MAPPED, BLOCK_M, CHUNK
            )
    elif QUANTIZED:
        quantize_row(x_ptr, q_ptr, scale_ptr, program - num_chunks, WIDTH, SCHEME, ROW_BLOCK)


@dataclass(frozen=True)
class Alignment:
    """Slots in the order of their experts, and the blocks they make up. Sizes follow from M, k, E, BLOCK_M."""

    slots: torch.Tensor | None
    """int32 [M * k]: slot numbers; what lies past the blocks' slots is not written. None: each slot is a block."""
    table: torch.Tensor | None
    """int32 [1 + 3 * most blocks]: how many blocks, then expert, first place in ``slots`` and rows of each."""
    most_blocks: int

    @classmethod
    def empty(cls, slots: int, experts: int, block_m: int, device: torch.device) -> Alignment:
        """Room for any routing of that many slots."""
        most = most_blocks(slots, experts, block_m)
        return cls(
            torch.empty(slots, dtype=torch.int32, device=device),
            torch.empty(1 + 3 * most, dtype=torch.int32, device=device),
            most,
        )


def most_blocks(slots: int, experts: int, block_m: int) -> int:
    """The most blocks that any routing needs: each expert in use may leave one block partly filled."""
    return min(slots, slots // block_m + min(experts, slots))


def chunk_size(slots: int) -> int:
    """Slots that a program ranks, by comparing all pairs: a power of two.

    Eight slots in a chunk of 128 would take 2,700 instructions, in one of 16 they take 140.
    """
    if slots > LARGE:
        return LARGE_CHUNK
    return min(CHUNK, max(16, int(triton.next_power_of_2(slots))))


def bins(experts: int) -> int:
    """Bins of the histogram: the experts and one for none, a power of two, at least a warp."""
    return max(32, int(triton.next_power_of_2(experts + 1)))


def align(topk_ids: torch.Tensor, expert_map: torch.Tensor | None, experts: int, block_m: int) -> Alignment:
    """Align slots and nothing else, for who multiplies by other means."""
    slots = topk_ids.numel()
    aligned = Alignment.empty(slots, experts, block_m, topk_ids.device)
    chunk = chunk_size(slots)
    chunks = triton.cdiv(slots, chunk)
    prepare_kernel[(chunks,)](
        topk_ids,
        expert_map,
        aligned.slots,
        aligned.table,
        None,
        None,
        None,
        slots,
        chunks,
        BINS=0 if chunks == 1 else bins(experts),
        MAPPED=expert_map is not None,
        BLOCK_M=block_m,
        CHUNK=chunk,
        ONE_CHUNK=chunks == 1,
        QUANTIZED=False,
        WIDTH=0,
        SCHEME="",
        ROW_BLOCK=0,
        OVERLAP=False,
        num_warps=8,
    )
    return aligned
