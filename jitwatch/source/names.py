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


def _lexicon(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LENGTHS = _lexicon(
    """token tokens ntokens seqlen seqlens seq seqs sequence sequences len length lengths batch batches bs bsz
    row rows nrows req reqs request requests numel element elements nelement nelements queries chunks ntoken
    segs segments pages slots lines entries capacity prefix extend splits tasks task nnz samples points
    positions candidates drafts iter iters ctx nblocks blocks offset total tiles"""
)
_LETTERS = frozenset(
    {"T", "B", "M", "L", "S", "Z", "NB", "NT", "NC", "TC", "EM", "BT_LEN", "SQ", "SK", "SKV"}
)
"""Single capitals that mean a length more often than not; never N, K, D or H: they name widths as often."""

_CONSTANTS = _lexicon(
    """head heads nheads nhead hd qh kh kvh dim dims hidden vocab expert experts topk group groups layer layers rank
    ranks world warps warp stages stage sm sms core cores vectorcore cu cus window width cols ncols col channel
    channels feature features eps epsilon scale bits dtype per factor alpha beta theta base max min id idx index
    pid type mode flag has is use enable causal stride strides pad padding block tile page size split kernel
    lora nope rope rotary ratio levels bins pack packed elems log log2 kv_groups modality bos eos version dilation"""
)
_STRONG = _lexicon(
    """head heads nheads nhead dim dims hidden vocab expert experts topk group groups layer layers world warps warp
    stages sm sms core cores vectorcore cus cols ncols col channel channels feature features eps epsilon bits per lora
    rotary rope nope kernel width ratio levels bins dtype causal is has use enable flag dilation sm"""
)
"""Constants even beside a length's word: ``num_heads``, ``tokens_per_block``, ``HAS_SEQ_LENS``."""

_TILES = re.compile(
    r"^(BLOCK|TILE|GROUP|CHUNK|SUB|SPLIT|PAGE|B[A-Z]|B[A-Z]\d?|T?BLK|NUM_(STAGES|WARPS))(_?|_.*)$|"
    r"(_|^)(BLOCK|TILE)(_SIZE)?(_[A-Z\d]+)?$|^(block|tile|page|chunk|group)_?(size|len|length)?(_[a-z\d]+)?$"
)
_WEIGHTS = re.compile(
    r"(^|_)(w|w\d|wq|wk|wv|weights?|qweight|bias|gamma|beta|emb|embedding|codebook|lora_[ab])(_|$|\d)", re.I
)
_INDEX = re.compile(
    r"(^|_)(block_?(tables?|maps?|indices|ids)|page_tables?|table|indices|indptr|(cu_)?seq_?lens?|cu_seqlens\w*|ids|mapping|"
    r"positions?|lens|lengths|offsets|idx|req_to_token|slot\w*|sorted\w*|query_start_loc)(_|$)",
    re.I,
)
_POOLS = re.compile(r"cache|pool|buffer|state", re.I)
_BUCKETS = re.compile(r"bucket|np2|next_?p|pow(er)?_?(of_?)?2|log2|autotune|tune_key|cache_key", re.I)


class NameHint(Enum):
    """What a name suggests about a number."""

    LENGTH = "length"
    WEAK_LENGTH = "weak length"
    CONSTANT = "constant"
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
    if "stride" in parts or "strides" in parts:
        return NameHint.STRIDE
    if name in _LETTERS:
        return NameHint.WEAK_LENGTH
    if _TILES.search(name):
        return NameHint.TILE
    if any(part in _STRONG for part in parts):
        return NameHint.CONSTANT
    if any(part in _LENGTHS for part in parts):
        return NameHint.LENGTH
    if any(part in _CONSTANTS for part in parts):
        return NameHint.CONSTANT
    return NameHint.NONE


def is_weight(tensor: str) -> bool:
    """Whether a tensor's name says it belongs to the model: its shape is fixed at load."""
    return bool(_WEIGHTS.search(tensor.rpartition(".")[2]))


def is_index(tensor: str) -> bool:
    """Whether a tensor's name says it holds positions or lengths: none of its sizes is a model's."""
    return bool(_INDEX.search(tensor.rpartition(".")[2]))


def is_pool(tensor: str) -> bool:
    """Whether a tensor's name says it is a pool allocated once: its first size is fixed for the process."""
    return bool(_POOLS.search(tensor.rpartition(".")[2]))


def is_bucket(name: str) -> bool:
    """Whether a name says the value was rounded into a few buckets on purpose."""
    return bool(_BUCKETS.search(name))
