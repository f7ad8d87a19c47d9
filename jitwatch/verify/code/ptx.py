"""Reads NVIDIA's assembly, PTX, as LLVM prints it."""

from __future__ import annotations

import re

from jitwatch.verify.code.tally import Tally
from jitwatch.verify.figures import Access

COMMENT = re.compile(r"//.*")
LABEL = re.compile(r"^\$?\w+:")
ENTRY = re.compile(r"\.entry\s+([\w$]+)")
STATEMENT = re.compile(r"^(?:@!?%\w+\s+)?([a-z][\w.:]*)\s*(.*)$", re.DOTALL)
WIDTH = re.compile(r"\.[busf](\d+)\b|\.(bf16x2|f16x2)\b")
PARAMETER = re.compile(r"\bkernel_param_(\d+)")
COPY_BYTES = re.compile(r"\],\s*(0x[0-9a-f]+|\d+)")


def read_ptx(text: str) -> Tally:
    """Count what matters in the PTX of one kernel."""
    tally = Tally()
    entry = ENTRY.search(text)
    name = re.compile(rf"\b{re.escape(entry[1])}(?=_param|\b)") if entry else None
    for raw in text.splitlines():
        tally.read_layout(raw.strip())
        line = COMMENT.sub("", raw).strip()
        if line.startswith(".section"):
            break  # nothing but debug information follows
        for statement in LABEL.sub("", line).split(";"):
            _statement(tally, statement.strip(" {}\t"), name)
    tally.lines = _renumbered(tally.lines)
    return tally


def _renumbered(lines: list[str]) -> list[str]:
    """The instructions with their parameters counted among those that are read: an unread one moves the others."""
    read = sorted({int(number) for line in lines for number in PARAMETER.findall(line)})
    places = {str(number): i for i, number in enumerate(read)}
    return [PARAMETER.sub(lambda match: f"kernel_param_{places[match[1]]}", line) for line in lines]


def _statement(tally: Tally, statement: str, name: re.Pattern[str] | None) -> None:
    match = STATEMENT.match(statement)
    if match is None:
        return
    opcode, operands = match.groups()
    parts = opcode.split(".")
    if parts[0] == "bra":
        statement = statement.split("$")[0]  # a label's number is no part of the code
    _count_access(tally, opcode, parts, operands)
    if parts[0] in ("wgmma", "mma", "tcgen05") and any(part.startswith("mma") for part in parts):
        tally.multiply(_matrix_name(parts))
    tally.instruction(name.sub("kernel", statement) if name else statement)


def _count_access(tally: Tally, opcode: str, parts: list[str], operands: str) -> None:
    if parts[0] == "cp" and "async" in parts:
        if "bulk" in parts and "global" in opcode:
            tally.access(Access.BULK, 0)
        elif "global" in parts:
            size = COPY_BYTES.search(operands)
            tally.access(Access.ASYNC_COPY, 8 * int(size[1], 0) if size else 0)
    elif "global" in parts:
        kinds = {"ld": Access.LOAD, "st": Access.STORE, "atom": Access.ATOMIC, "red": Access.ATOMIC}
        if parts[0] in kinds:
            lanes, bits = _width(opcode, parts)
            tally.access(kinds[parts[0]], lanes * bits, single=(lanes, bits) == (1, 64))


def _width(opcode: str, parts: list[str]) -> tuple[int, int]:
    """Words of one access and bits of each: ``ld.global.v4.b32`` moves 128."""
    lanes = next((int(part[1:]) for part in parts if part in ("v2", "v4", "v8")), 1)
    match = WIDTH.search(opcode)
    return lanes, int(match[1]) if match and match[1] else 32


def _matrix_name(parts: list[str]) -> str:
    shape = next((part for part in parts if re.match(r"m\d+n\d+k\d+$", part)), "")
    return f"{parts[0]} {shape}".strip()
