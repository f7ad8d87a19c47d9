"""Decides from the figures of two variants whether the second is as fast as the first.

The rule, in the order of what a GPU engineer looks at:

==================================================  ===========================================================
the code is the same                                harmless
a quarter of the bytes moves in narrower accesses   costs: up to 8 times the instructions for the same bytes;
                                                    vector_add over 2^28 bf16 went from 372 to 1031 us on an H200
less of them does, or there are more accesses       unknown
asynchronous, bulk copies or matrix units are lost  costs
a thread spills more                                costs
fewer programs fit on a multiprocessor              costs from half on, else unknown: many kernels have
                                                    warps to spare
more instructions in loops                          costs above 10 %, unknown above 2 %
a loop that the old form did not have               unknown: the old form had folded it away
more instructions outside loops                     harmless up to 24 or 5 %, else unknown: they run once
==================================================  ===========================================================

A 1 that Triton folds is worth a handful of integer instructions where it is a row count (16 of 527 in a rotary
embedding, no time), but a whole vector width where it is the stride of the contiguous axis: that is the first line's
business, not the last one's.
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from jitwatch.runtime.offline.target import Target
from jitwatch.verify.figures import Access, Figures

SAME_LOOP = 0.02
SLOWER_LOOP = 0.10
SMALL_PROLOGUE = 24
SMALL_PROLOGUE_SHARE = 0.05
LOST_OCCUPANCY = 0.5
NARROWER = 0.9
"""Mean width, against before, below which accesses count as narrower."""
NARROWED_SHARE = 0.25
"""Of the bits written. Less is an index or a scale beside the data."""
NARROWED_READS = 0.6
"""Of the bits read. Half can be an operand that the cache serves to every row (a bias, measured on an H200: 254.6
against 254.9 us, where all reads narrower cost 1.5 to 3.5 times): then only time tells."""

REGISTER_FILE = 65536
REGISTERS_STEP = 256
"""Registers are given to warps by this many (8 a thread), on every NVIDIA architecture since 5.0."""


class Outcome(enum.Enum):
    """What is known about a remedy."""

    HARMLESS = "harmless"
    COSTS = "costs"
    UNKNOWN = "unknown"


IDENTICAL = "identical code"

SEVERITY = {Outcome.HARMLESS: 0, Outcome.UNKNOWN: 1, Outcome.COSTS: 2}


@dataclass(frozen=True, slots=True)
class Effect:
    """One difference that matters, in words."""

    outcome: Outcome
    words: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two variants, judged."""

    outcome: Outcome
    reason: str


def compare(before: Figures, after: Figures, target: Target, element_bits: int | None = None) -> Comparison:
    """Judge `after` against `before`. `element_bits`: of the kernel's data, to speak of elements and not bits."""
    if before.code == after.code or (before.machine is not None and before.machine == after.machine):
        return Comparison(Outcome.HARMLESS, IDENTICAL)
    effects = [
        *_accesses(before, after, element_bits),
        *_units(before, after),
        *_spills(before, after),
        *_occupancy(before, after, target),
        *_loops(before, after),
        *_prologue(before, after),
    ]
    worst = max((effect.outcome for effect in effects), key=SEVERITY.__getitem__, default=Outcome.HARMLESS)
    told = [effect.words for effect in effects if effect.outcome is worst]
    if worst is Outcome.HARMLESS:
        told.insert(
            0, "same memory accesses" if before.accesses == after.accesses else "no narrower accesses"
        )
    return Comparison(worst, ", ".join(told[:3]))


READS = (Access.LOAD, Access.ASYNC_COPY)
"""Judged as one: a copy that loses its alignment becomes loads."""


def _accesses(before: Figures, after: Figures, element_bits: int | None) -> Iterator[Effect]:
    for name, kinds in {"reads": READS, "stores": (Access.STORE,), "atomics": (Access.ATOMIC,)}.items():
        old, new = before.widths(*kinds), after.widths(*kinds)
        if not (old and new) or old == new:
            continue
        more = new.total() - old.total()
        if more > 0 and _mean(new) < NARROWER * _mean(old):
            enough = NARROWED_READS if kinds is READS else NARROWED_SHARE
            outcome = Outcome.COSTS if narrowed_share(old, new) >= enough else Outcome.UNKNOWN
            yield Effect(outcome, f"global {name} {_narrowing(old, new, element_bits)}")
        elif more > 0 or max(new) < max(old):
            yield Effect(Outcome.UNKNOWN, f"global {name} {_shown(old)} → {_shown(new)}")


def _mean(widths: Counter[int]) -> float:
    return sum(bits * n for bits, n in widths.items()) / widths.total()


def narrowed_share(old: Counter[int], new: Counter[int]) -> float:
    """Part of the bits that moves with other instructions than before."""
    lost = old - new
    return sum(bits * n for bits, n in lost.items()) / sum(bits * n for bits, n in old.items())


def _narrowing(old: Counter[int], new: Counter[int], element_bits: int | None) -> str:
    """``8 → 1 wide``, of the accesses that became others; in bits where elements differ in size."""
    lost, gained = max(old - new, default=max(old)), max(new - old)
    if element_bits and not (lost % element_bits or gained % element_bits):
        return f"{lost // element_bits} → {gained // element_bits} wide"
    return f"{lost} → {gained} bits wide"


def _shown(widths: Counter[int]) -> str:
    return " + ".join(f"{n} of {bits} bits" for bits, n in sorted(widths.items(), reverse=True))


def _units(before: Figures, after: Figures) -> Iterator[Effect]:
    for kind in (Access.ASYNC_COPY, Access.BULK):
        old, new = before.count(kind), after.count(kind)
        if old and not new:
            yield Effect(Outcome.COSTS, f"{kind.value} {old} → 0")
    old, new = sum(before.matrix.values()), sum(after.matrix.values())
    if old and set(before.matrix) != set(after.matrix):
        names = f"{', '.join(sorted(before.matrix))} → {', '.join(sorted(after.matrix)) or 'none'}"
        yield Effect(Outcome.COSTS, f"matrix instructions {names}")
    elif old and new > old:
        yield Effect(Outcome.UNKNOWN, f"matrix instructions {old} → {new}")


def _spills(before: Figures, after: Figures) -> Iterator[Effect]:
    if after.spills > before.spills:
        yield Effect(Outcome.COSTS, f"spills {before.spills} → {after.spills} bytes a thread")


def _occupancy(before: Figures, after: Figures, target: Target) -> Iterator[Effect]:
    old, new = programs_resident(before, target), programs_resident(after, target)
    if old is None or new is None or new >= old:
        return
    words = f"registers {before.registers} → {after.registers}"
    if before.shared != after.shared:
        words += f", shared memory {before.shared} → {after.shared} bytes"
    words += f": {old} → {new} programs on a multiprocessor"
    yield Effect(Outcome.COSTS if new <= (1 - LOST_OCCUPANCY) * old else Outcome.UNKNOWN, words)


def programs_resident(figures: Figures, target: Target) -> int | None:
    """Programs that fit on one multiprocessor at a time; None where registers are not known."""
    if not figures.registers:
        return None
    if target.backend == "hip":
        # Four SIMDs of 512 vector registers a lane, given by 8; at most 8 waves each (CDNA 3).
        waves = 4 * min(8, 512 // _round_up(figures.registers, 8))
    else:
        by_registers = REGISTER_FILE // _round_up(figures.registers * target.warp_size, REGISTERS_STEP)
        waves = min(by_registers, target.threads_per_multiprocessor // target.warp_size)
    by_memory = target.max_shared_mem // figures.shared if figures.shared else 32
    return min(waves // figures.warps, by_memory, 32)


def _round_up(number: int, step: int) -> int:
    return -(-number // step) * step


def _loops(before: Figures, after: Figures) -> Iterator[Effect]:
    if not before.loops:
        if after.loops:
            yield Effect(
                Outcome.UNKNOWN, f"a loop of {after.looped} instructions that was folded away before"
            )
        return
    growth = after.looped / before.looped - 1
    if growth > SAME_LOOP:
        outcome = Outcome.COSTS if growth > SLOWER_LOOP else Outcome.UNKNOWN
        yield Effect(outcome, f"instructions in loops {before.looped} → {after.looped}")


def _prologue(before: Figures, after: Figures) -> Iterator[Effect]:
    old, new = before.instructions - before.looped, after.instructions - after.looped
    more, where = new - old, " outside loops" if after.loops else ""
    if more <= 0:
        yield Effect(Outcome.HARMLESS, f"{-more} fewer instructions" if more else "as many instructions")
        return
    small = more <= max(SMALL_PROLOGUE, SMALL_PROLOGUE_SHARE * old)
    words = f"{more} more instruction{'s' * (more > 1)}{where} ({old} → {new})"
    yield Effect(Outcome.HARMLESS if small else Outcome.UNKNOWN, words)
