"""Aligns random slots in Triton's interpreter, and says how the result differs from a plain sort."""

from __future__ import annotations

import argparse
import json

import torch

from jitwatch.kernels.fused_moe.alignment import align, most_blocks
from jitwatch.kernels.fused_moe.reference import local_ids


def differences(tokens: int, top_k: int, experts: int, block_m: int, mapped: bool, holes: bool) -> list[str]:
    """What is wrong with the order, the blocks or their number; nothing if all is right."""
    generator = torch.Generator().manual_seed(tokens)
    ids = torch.randint(experts, (tokens, top_k), generator=generator, dtype=torch.int32)
    if holes:
        ids[torch.rand(ids.shape, generator=generator) < 0.5] = -1
    number = torch.arange(experts, dtype=torch.int32)
    expert_map = torch.where(number % 3 == 0, number // 3, -1).to(torch.int32) if mapped else None
    held = -(-experts // 3) if mapped else experts
    aligned = align(ids, expert_map, held, block_m)

    local = local_ids(ids, expert_map).flatten()
    order = [slot for expert in range(held) for slot in (local == expert).nonzero().flatten().tolist()]
    blocks, first = [], 0
    for expert, count in enumerate(torch.bincount(local[local >= 0], minlength=held).tolist()):
        starts = range(0, count, block_m)
        blocks += [[expert, first + start, min(block_m, count - start)] for start in starts]
        first += count

    found = []
    assert aligned.slots is not None
    assert aligned.table is not None
    table = aligned.table.tolist()
    if table[0] != len(blocks) or len(blocks) > most_blocks(ids.numel(), held, block_m):
        found.append(f"{table[0]} blocks, wanted {len(blocks)}")
    if aligned.slots.tolist()[: len(order)] != order:
        found.append("slots in another order")
    if [table[1 + 3 * block : 4 + 3 * block] for block in range(len(blocks))] != blocks:
        found.append("other blocks")
    return found


def main() -> None:
    """Align the cases given as JSON and print what is wrong with each."""
    parser = argparse.ArgumentParser(description="Align slots of the fused-MoE target")
    parser.add_argument("cases", type=json.loads)
    print(json.dumps([differences(*case) for case in parser.parse_args().cases]))


if __name__ == "__main__":
    main()
