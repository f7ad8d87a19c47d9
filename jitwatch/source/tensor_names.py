"""What the name of a tensor suggests: whose sizes are the model's, a pool's, or a request's."""

from __future__ import annotations

import re

from jitwatch.source.names import lexicon, words

_ACTIVATIONS = re.compile(
    r"^(d?[a-z]|[A-Z]|[a-z]\d|x\w{0,3}|d[oqkvxy]|\w*(inputs?|inp|out|outputs?|hidden\w*|states?|logits|quer(y|ies)|"
    r"keys?|values?|grad\w*|tokens?|tensor|src|dst|self|scores?|probs?|residual|act\w*|mat\w*|data|\w_2d|\w_flat|"
    r"flat\w*|qkv|mixed\w*))$|ids|idx|lens?|mask|slot|pos|loc|ptr|map|table|batch|seq|req|target|label",
    re.I,
)
"""Names of what a request brings; the first size of anything else may belong to the model."""

_WEIGHTS = re.compile(
    r"(^|_)(b|rhs|mat2|inv_freq|freqs|centroids|multipliers|w|w\d|wq|wk|wv|weights?|qweight|qzeros|bias|gamma|beta|"
    r"emb|embedding|codebook|lora_[ab])(_|$|\d)",
    re.I,
)

_ROUTING = re.compile(r"(top_?k|rout\w*|gat\w*|attn\w*|sampl\w*|scor\w*)_weights?", re.I)
"""Weights that are computed per token."""

_INDEX = re.compile(
    r"(^|_)(block_?(tables?|maps?|indices|ids)|page_tables?|indices|indptr|(cu_)?seq_?lens?|cu_seqlens\w*|ids|mapping|"
    r"positions?|lens|lengths|offsets|idx|req_to_token|slot\w*|sorted\w*|query_start_loc)(_|$)",
    re.I,
)

_TABLES = re.compile(r"(block|page)_?(tables?|maps?)|cu_seq|indptr", re.I)

_PAGE_TABLES = re.compile(r"(block|page)_?(tables?|maps?)|req_to_token", re.I)

_TOP_K = re.compile(r"top_?k", re.I)

_CHOICES = re.compile(r"top_?k|expert|(^|_)(indices|ids|idx)$", re.I)

_POOLS = re.compile(
    r"^(?!.*(cos|sin|rope|intermediate|chunk|loc|ind|idx|ids)).*((cache|pool)s?|(conv|ssm|recurrent|mamba|kv)_states?|"
    r"(k|v|kv)_buffer)$|req_to_token$",
    re.I,
)

_INDICES = lexicon(
    """ids id idx index indices indptr slot slots position positions pos lens len lengths mapping map mask masks table
    loc start starts count counts num token tokens req reqs cu offsets flags valid page pages seq seqs batch accept
    accepted order sorted candidates drafts rejected sampled tree bonus"""
)
"""What an index tensor's name says it holds."""


def is_activation(tensor: str) -> bool:
    """Whether a tensor's name is one of those that requests bring."""
    return bool(_ACTIVATIONS.search(tensor.rpartition(".")[2]))


def is_weight(tensor: str) -> bool:
    """Whether a tensor's name says it belongs to the model: its shape is fixed at load."""
    name = tensor.rpartition(".")[2]
    return bool(_WEIGHTS.search(name)) and not _ROUTING.search(name)


def is_pool(tensor: str) -> bool:
    """Whether a tensor's name says it is a pool allocated once: its first size is fixed for the process."""
    return bool(_POOLS.search(tensor.rpartition(".")[2]))


def is_table(tensor: str) -> bool:
    """Whether a tensor's name says it maps requests to pages: both of its sizes follow the requests."""
    return bool(_TABLES.search(tensor.rpartition(".")[2]))


def is_index(tensor: str) -> bool:
    """Whether a tensor's name says it holds positions or lengths: none of its sizes is a model's."""
    return bool(_INDEX.search(tensor.rpartition(".")[2]))


def is_page_table(tensor: str) -> bool:
    """Whether a tensor's name says it holds, request by request, the pages or slots of its tokens."""
    return bool(_PAGE_TABLES.search(tensor.rpartition(".")[2]))


def has_index_rows(tensor: str) -> bool:
    """Whether a tensor's name says it holds indices whose rows, if it has any, may be as wide as a request is long."""
    last = words(tensor)[-1:]
    held = is_page_table(tensor) or (is_index(tensor) and not _INDICES.isdisjoint(last))
    return held and not _TOP_K.search(tensor)


def is_choice(tensor: str) -> bool:
    """Whether a tensor's name says it holds a fixed number of choices a token."""
    return bool(_CHOICES.search(tensor))


def holds_indices(tensor: str) -> bool:
    """Whether a pointer's name says that positions, lengths or flags are behind it."""
    return any(part in _INDICES for part in words(tensor))
