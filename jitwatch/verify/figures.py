"""What the compiled code of one variant amounts to: the figures that are compared, and shown."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


class Access(enum.Enum):
    """A way to move data between global memory and the program."""

    LOAD = "global loads"
    STORE = "global stores"
    ATOMIC = "global atomics"
    ASYNC_COPY = "asynchronous copies"
    """From global to shared memory past the registers: what a pipelined loop uses on NVIDIA since sm_80."""
    BULK = "bulk copies"
    """Of the tensor memory accelerator (TMA); their width says nothing."""


MOVES = (Access.LOAD, Access.STORE, Access.ASYNC_COPY)
"""Those whose width follows from what is known of an address."""


@dataclass(frozen=True, slots=True)
class Figures:
    """One compiled variant. Counts are of instructions as written, each once, however often it runs."""

    code: str
    """Digest of the assembly text without debug lines, comments and names."""
    machine: str | None
    """Digest of the machine code, where the binary could be read."""
    accesses: Mapping[Access, Mapping[int, int]]
    """For each kind that occurs: bits a thread moves with one instruction, and how many such instructions."""
    singles: Mapping[Access, int]
    """How many of 64 bits move one element of 64 bits, an index or a pointer: they are no vectors. On NVIDIA, whose
    assembly tells them from two of 32 bits (``ld.global.b64``, ``ld.global.v2.b32``)."""
    matrix: Mapping[str, int]
    """Matrix instructions (``wgmma``, ``mma``, ``mfma``) and how many."""
    registers: int | None
    """Of one thread."""
    spills: int
    """Bytes a thread keeps in local memory."""
    shared: int
    """Bytes of a program."""
    warps: int
    instructions: int
    looped: int
    """Instructions inside loops."""
    loops: int

    def widths(self, *kinds: Access) -> Counter[int]:
        """Bits of an access to how many there are, of several kinds together."""
        return sum((Counter(self.accesses.get(kind, {})) for kind in kinds), Counter())

    @property
    def vector(self) -> int:
        """Bits of the widest access that can be of several elements; 0 for none."""
        moved = sum((self.widths(kind) for kind in MOVES), Counter())
        moved[64] -= sum(self.singles.get(kind, 0) for kind in MOVES)
        return max((bits for bits, number in moved.items() if number > 0), default=0)

    def count(self, kind: Access) -> int:
        """Accesses of a kind."""
        return self.widths(kind).total()

    def to_json(self) -> dict[str, Any]:
        """For a pipe, and for ``--format json``."""
        row = {name: value for name, value in asdict(self).items() if name not in ("accesses", "singles")}
        spelled = {k.value: {str(bits): n for bits, n in sorted(v.items())} for k, v in self.accesses.items()}
        return row | {"accesses": spelled, "singles": {kind.value: n for kind, n in self.singles.items()}}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Figures:
        """What ``to_json`` wrote."""
        accesses = {
            Access(kind): {int(bits): n for bits, n in widths.items()}
            for kind, widths in row["accesses"].items()
        }
        singles = {Access(kind): n for kind, n in row["singles"].items()}
        return cls(**{**row, "accesses": accesses, "singles": singles})
