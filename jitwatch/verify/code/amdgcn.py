"""Reads AMD's assembly, as LLVM prints it."""

from __future__ import annotations

import re

from jitwatch.verify.code.tally import Tally
from jitwatch.verify.figures import Access

COMMENT = re.compile(r"\s*;.*|\s*//.*")
LABEL = re.compile(r"^[.\w$]+:")
BRANCH = re.compile(r"^s_c?branch")
ACCESS = re.compile(r"^(global|buffer|flat)_(load|store|atomic)_(\w+)")
BITS = {"byte": 8, "ubyte": 8, "sbyte": 8, "short": 16, "ushort": 16, "sshort": 16, "dword": 32}
MATRIX = re.compile(r"^v_s?mfmac?_|^v_s?wmmac?_")
FACT = re.compile(r"^\s*\.(vgpr_count|vgpr_spill_count|private_segment_fixed_size):\s*(\d+)", re.MULTILINE)


def read_amdgcn(text: str) -> Tally:
    """Count what matters in the assembly of one kernel."""
    tally = Tally()
    for raw in text.splitlines():
        tally.read_layout(raw.strip())
        line = COMMENT.sub("", raw).strip()
        if line.startswith((".section", ".amdhsa_kernel")) and tally.lines:
            break  # the descriptor and debug information follow
        if line and not line.startswith(".") and not LABEL.match(line):
            _instruction(tally, line)
    return tally


def read_resources(text: str) -> tuple[int | None, int]:
    """Vector registers of a thread, and bytes it spills."""
    facts = {name: int(number) for name, number in FACT.findall(text)}
    spills = max(4 * facts.get("vgpr_spill_count", 0), facts.get("private_segment_fixed_size", 0))
    return facts.get("vgpr_count"), spills


def _instruction(tally: Tally, line: str) -> None:
    opcode = line.split(None, 1)[0]
    if BRANCH.match(opcode):
        line = opcode  # a label's number is no part of the code
    access = ACCESS.match(opcode)
    if access:
        kind = {"load": Access.LOAD, "store": Access.STORE, "atomic": Access.ATOMIC}[access[2]]
        past_registers = kind is Access.LOAD and line.split()[-1] == "lds"
        tally.access(Access.ASYNC_COPY if past_registers else kind, _width(access[3]))
    elif MATRIX.match(opcode):
        tally.multiply(opcode)
    tally.instruction(line)


def _width(word: str) -> int:
    """Bits of one access: ``dwordx4`` is 128, ``ushort`` and ``short_d16_hi`` 16, ``b128`` as it says."""
    stem = word.split("_")[0]
    match = re.fullmatch(r"(?:lds)?dwordx(\d)|[bui](\d+)", stem)
    if match:
        return 32 * int(match[1]) if match[1] else int(match[2])
    return BITS.get(stem, 32)
