"""From a compiled kernel's text and binary to its figures."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from jitwatch.verify.code import amdgcn, elf, ptx
from jitwatch.verify.figures import Figures


def instructions(backend: str, text: str) -> Sequence[str]:
    """The instructions of one variant's assembly, as its digest is made of them."""
    return (amdgcn.read_amdgcn(text) if backend == "hip" else ptx.read_ptx(text)).lines


def measure(backend: str, text: str, binary: bytes | None, *, shared: int, warps: int) -> Figures:
    """Figures of one variant for a ``cuda`` (PTX, cubin) or ``hip`` (amdgcn, hsaco) target."""
    if backend == "hip":
        tally, (registers, spills) = amdgcn.read_amdgcn(text), amdgcn.read_resources(text)
    else:
        tally = ptx.read_ptx(text)
        registers, spills = elf.read_cubin(binary) if binary else (None, 0)
    return Figures(
        code=hashlib.blake2b("\n".join(tally.lines).encode(), digest_size=8).hexdigest(),
        machine=elf.machine_code(binary) if binary else None,
        accesses=tally.accesses,
        singles=tally.singles,
        matrix=tally.matrix,
        registers=registers,
        spills=spills,
        shared=shared,
        warps=warps,
        instructions=len(tally.lines),
        looped=tally.looped,
        loops=tally.loops,
    )
