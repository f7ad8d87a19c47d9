"""Reads the compiled binary: an ELF file with one section of machine code a function.

The layout is the ELF specification's. Of NVIDIA's own sections only ``.nv.info`` is read: records of a format
byte, an attribute byte and a payload, where attribute 0x2f is a function's register count and 0x11 its stack frame,
the same two numbers that ``cuobjdump -res-usage`` prints as REG and STACK (held against it by a test).
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator

REGISTERS, FRAME = 0x2F, 0x11
SIZED = 4
"""Format of a record whose payload has a length."""


def sections(binary: bytes) -> dict[str, bytes]:
    """Sections by name. Raises ValueError for what is no 64-bit ELF file."""
    if binary[:5] != b"\x7fELF\x02":
        raise ValueError("not a 64-bit ELF file")
    (table,) = struct.unpack_from("<Q", binary, 0x28)
    entry, number, names = struct.unpack_from("<HHH", binary, 0x3A)
    rows = [struct.unpack_from("<IIQQQQ", binary, table + entry * i) for i in range(number)]
    start = rows[names][4]
    return {
        _text_at(binary, start + name): b"" if kind == 8 else binary[offset : offset + size]
        for name, kind, _flags, _address, offset, size in rows
    }


def machine_code(binary: bytes) -> str:
    """Digest of the machine code alone."""
    code = [data for name, data in sorted(sections(binary).items()) if name.startswith(".text")]
    return hashlib.blake2b(b"".join(code), digest_size=8).hexdigest()


def read_cubin(binary: bytes) -> tuple[int | None, int]:
    """Registers of a thread, and bytes of its stack frame, which in Triton's kernels are spills."""
    found: dict[int, int] = {}
    for attribute, payload in _records(sections(binary).get(".nv.info", b"")):
        if attribute in (REGISTERS, FRAME):
            _function, number = struct.unpack_from("<II", payload)
            found[attribute] = max(number, found.get(attribute, 0))
    return found.get(REGISTERS), found.get(FRAME, 0)


def _records(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(data):
        form, attribute, size = struct.unpack_from("<BBH", data, at)
        at += 4
        if form == SIZED:
            yield attribute, data[at : at + size]
            at += size


def _text_at(binary: bytes, start: int) -> str:
    return binary[start : binary.index(b"\0", start)].decode("ascii", "replace")
