"""What a name alone suggests: the weakest evidence, used where launches and usage say nothing.

Words are whole parts of a snake-case or camel-case name. A name pattern alone finds about two thirds of the
arguments that public fixes changed, and flags row widths and head sizes with them; so a length's word loses to
a constant's word in the same name (``num_heads``, ``tokens_per_block``), and both lose to the launch.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")


def lexicon(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


_LENGTHS = lexicon(
    """token tokens ntokens ntoken seqlen seqlens seq seqs sequences len length lengths batch batches bs bsz rows nrows
    req reqs requests numel elements nelement nelements queries chunks nnz positions ctx"""
)
_CONTAINERS = lexicon(
    """segs segments pages slots lines entries splits tasks task samples points ranges words candidates drafts blocks
    nblocks tiles"""
)
"""Lengths when they are counted (``num_blocks``): without a count, as often parts of the model."""

_ITERATED = frozenset({"row", "rows", "batch", "bh", "token", "seq", "task"})
"""What a program iterates over when its loop count follows the request (``ROW_ITER``)."""

_COUNTED = frozenset({"num", "total"})

_LETTERS = frozenset({"T", "B", "M", "NB", "NT", "EM", "SQ", "SK", "SKV", "b"})
"""Single capitals that mean a length more often than not; not N, which names a width as often."""

_DIMENSIONS = frozenset({"S", "L", "Z", "NC", "TC", "NS"})
"""Letters that mean a length where an inner dimension of an activation is passed for them, and say nothing alone."""

_SIDES = re.compile(r"^[TSL]_?(q|k|kv|Q|K|KV)$")
"""Such a letter with a side of attention: what its queries, or its keys, are counted by."""

_RUN_TIME_TILES = re.compile(r"^B[A-Z]\d?$")

_WIDTHS = frozenset({"H", "K", "D", "V", "C", "G", "E", "W", "R", "HQ", "HK", "HV", "DK", "DV", "HKV", "KH"})
"""Single capitals that mean a width, a head or a group count; a letter is believed only where nothing else speaks."""

_CONSTANTS = lexicon(
    """hd qh kh kvh rank ranks stage cu window scale factor alpha beta theta base idx index pid type mode pad block tile
    page size split elems log log2 pack packed modality bos eos version"""
)
"""Constants unless a launch shows otherwise: ``slice_size`` has been the element count of a batch."""

_STRONG = lexicon(
    """head heads nheads nhead dim dims hidden vocab expert experts topk group groups layer layers world warps warp
    stages sm sms core cores vectorcore cus cols ncols col channel channels feature features eps epsilon bits
    temperature speculative spec draft splitk quant model delta padding lora rotary rope nope
    kernel width ratio levels bins dtype causal is has use enable flag dilation sm"""
)
"""Constants even beside a length's word: ``num_heads``, ``max_spec_len``, ``HAS_SEQ_LENS``."""

_REQUESTS = lexicon(
    "token tokens seq seqs seqlen seqlens sequence sequences req reqs requests batch batches bs len lens"
)

_HOLDERS = lexicon("block page kv head group expert chunk token byte word pack sample")
"""What a model or a tile has a fixed number of things of: ``queries_per_kv``, not ``rows_per_program``."""

_SHAPED = frozenset({"padded", "pad", "pow2", "p2"})

_STORES = frozenset({"state", "states", "cache", "ring", "buffer", "buf"})
"""What is allocated once: ``state_len`` and ``num_cache_lines`` are fixed for the process."""

_SLOTS = frozenset({"reqs", "requests", "batch", "bs", "seqs"})
"""What a server has a configured maximum of."""

_TENSORS = lexicon("ptr ptrs pointer indptr cu cumsum ids tensor mapping table loc")
"""A tensor's word: whatever else the name says is about what the tensor holds."""

_TILES = re.compile(
    r"^(BLOCK|TILE)(_[A-Z\d]+)*$"
    r"|^(CHUNK|SUB|SPLIT|PAGE|GROUP)(_SIZE|_LEN)?(_[A-Z\d]+)?$"
    r"|^B[A-Z]\d?$|^T?BLK|^num_(warps|stages)$"
    r"|_(BLOCK|TILE)(_SIZE)?$"
    r"|^(block|tile|page|chunk)(_size|_len|_length)?(_[a-z\d])?$"
    r"|_(block|tile|page|chunk)_(size|len)$"
)
_BUCKETS = re.compile(r"bucket|np2|next_?p|pow(er)?_?(of_?)?2|log2|autotune|tune_key|cache_key", re.I)


class NameHint(Enum):
    """What a name suggests about a number."""

    LENGTH = "length"
    WEAK_LENGTH = "weak length"
    """A letter such as ``T``."""
    COUNT = "count"
    """``num_blocks``: of a request or of the model."""
    DIMENSION = "dimension"
    """A length if an inner dimension of an activation is passed for it."""
    CONSTANT = "constant"
    WEAK_CONSTANT = "weak constant"
    """A constant unless a launch shows a length."""
    TILE = "tile"
    STRIDE = "stride"
    NONE = "none"


@lru_cache(maxsize=65536)
def words(name: str) -> tuple[str, ...]:
    """Split a name into lower-case words; capitals separated by underscores stay whole."""
    return tuple(word.lower() for word in _WORD.findall(name))


@lru_cache(maxsize=65536)
def hint(name: str) -> NameHint:
    """Return what a parameter's or a variable's name suggests."""
    name = name.rpartition(".")[2]
    parts = words(name)
    if parts[-1:] in (("width",), ("size",)) and "table" in parts:
        return NameHint.LENGTH
    if any(part in _TENSORS for part in parts):
        return NameHint.NONE
    if "stride" in parts or "strides" in parts:
        return NameHint.STRIDE
    if name in _LETTERS:
        return NameHint.WEAK_LENGTH
    if name in _DIMENSIONS or _SIDES.search(name):
        return NameHint.DIMENSION
    if name in _WIDTHS:
        return NameHint.CONSTANT
    if _TILES.search(name):
        return NameHint.TILE
    bare = tuple(part for part in parts if part not in _SHAPED)
    if "per" in bare[1:-1]:  # a share of a length only if a launch shows the length
        return NameHint.CONSTANT if bare[-1] in _HOLDERS else NameHint.NONE
    stored = any(part in _STORES for part in parts) and "key" not in parts  # CACHE_KEY_SEQLEN keys a cache
    if stored or (parts[:1] == ("token",) and parts[-1] in ("size", "bytes")):
        return NameHint.CONSTANT
    if parts[:1] == ("max",) and any(part in _SLOTS for part in parts):
        return NameHint.CONSTANT
    if parts[-1:] == ("id",):
        return NameHint.CONSTANT
    if "top" in parts and "k" in parts:
        return NameHint.CONSTANT
    if name.endswith("_OFFSET") and (name[:-7] in _LETTERS or name[:-7] == "BH"):
        return NameHint.WEAK_LENGTH
    if any(part in _STRONG for part in parts):
        return NameHint.CONSTANT
    loops = "iter" in parts and any(part in _ITERATED for part in parts)
    if loops or any(part in _LENGTHS for part in parts):
        return NameHint.LENGTH
    if any(part in _CONTAINERS for part in parts):
        if any(part in _COUNTED for part in parts):
            return NameHint.COUNT
        if "max" in parts:
            return NameHint.DIMENSION
    if any(part in _CONSTANTS for part in parts):
        return NameHint.WEAK_CONSTANT
    return NameHint.NONE


@lru_cache(maxsize=65536)
def run_time_hint(name: str) -> NameHint:
    """Return what the name of a run-time parameter suggests: no ``BT``, since tiles are known at compile time."""
    if _RUN_TIME_TILES.search(name):
        return {"BS": NameHint.LENGTH, "BH": NameHint.WEAK_LENGTH}.get(name, NameHint.NONE)
    return hint(name)


def names_store(name: str) -> bool:
    """Whether a name sizes something that is allocated once."""
    return any(part in _STORES for part in words(name))


def names_pointer(name: str) -> bool:
    """Whether a parameter's name says it is a pointer."""
    return name.endswith(("ptr", "ptrs", "_pointer")) or name.startswith("p_")


def counts_requests(name: str) -> bool:
    """Whether a name counts what arrives: tokens, sequences, requests, a batch."""
    return any(part in _REQUESTS for part in words(name))


def names_row(name: str) -> bool:
    """Whether a name is that of a stride of a table of pages, and not of its columns."""
    parts = set(words(name))
    return {"table", "stride"} <= parts and not parts.isdisjoint(("block", "page")) and "1" not in parts


def describes_batch(owner: str) -> bool:
    """Whether the name of an object says that it describes one batch: ``batch_info``, ``attn_metadata``."""
    return any(part in ("batch", "metadata") for part in words(owner.rpartition(".")[2]))


def is_bucket(name: str) -> bool:
    """Whether a name says the value was rounded into a few buckets on purpose."""
    return bool(_BUCKETS.search(name))
