"""The lines in which the assembly of two variants differs, what tells most first.

Lines are compared without the numbers of registers and the offsets of addresses, which differ wherever one
instruction more comes before, and as a heap, since the compiler orders independent ones as it likes. What is left
is read at a glance::

    - 2 × @%p ld.global.v4.b32 { %r, %r, %r, %r }, [ %rd ]
    + 16 × @%p ld.global.b16 { %rs }, [ %rd ]
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

MOST = 12
"""Lines that are shown."""

REGISTER = re.compile(r"(%[a-z]+)\d+\b|(?<![\w.])([vsa])(?:\d+|\[\d+:\d+\])(?![\w.])")
OFFSET = re.compile(r"\s*\+\s*-?\d+(?=\s*\])|\s+offset:\d+")
KINDS = (
    re.compile(r"global|^(buffer|flat)_|^(@!?%p )?cp\.async"),
    re.compile(r"wgmma|\bmma|mfma|tcgen05|wmma"),
    re.compile(r"shared|^ds_|local|^scratch_"),
    re.compile(r"^(@!?%p )?bra|branch|^(@!?%p )?bar|s_barrier"),
)
"""Global memory, matrix units, other memory, control; the rest comes last."""


def changed_lines(before: Iterable[str], after: Iterable[str], most: int = MOST) -> tuple[list[str], int]:
    """Lines of the old and of the new code only, with ``-`` and ``+``, and how many more there are."""
    old, new = Counter(map(plain, before)), Counter(map(plain, after))
    rows = {"-": _told("-", old - new), "+": _told("+", new - old)}
    half = most // 2
    shares = {
        sign: max(half, most - len(rows[other])) for sign, other in (("-", "+"), ("+", "-")) if rows[sign]
    }
    shown = sorted(
        (rank, "-+".index(sign), i, text)
        for sign, share in shares.items()
        for i, (rank, text) in enumerate(rows[sign][:share])
    )
    return [text for *_, text in shown], sum(map(len, rows.values())) - len(shown)


def plain(line: str) -> str:
    """An instruction without the numbers of its registers and the offset of its address."""
    text = REGISTER.sub(lambda match: match[1] or match[2], OFFSET.sub("", " ".join(line.split())))
    return text + " }" if text.count("{") > text.count("}") else text


def _told(sign: str, lines: Counter[str]) -> Sequence[tuple[int, str]]:
    """Each line once, with its rank and how often it occurs; the most telling first."""
    ranked = sorted((_rank(text), -count, text) for text, count in lines.items())
    return [
        (rank, f"{sign} {-count} × {text}" if count < -1 else f"{sign} {text}")
        for rank, count, text in ranked
    ]


def _rank(text: str) -> int:
    return next((i for i, kind in enumerate(KINDS) if kind.search(text)), len(KINDS))
