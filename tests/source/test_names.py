"""What names suggest, and what they must not."""

from __future__ import annotations

import pytest

from jitwatch.source.names import NameHint, hint, is_bucket, names_row, run_time_hint
from jitwatch.source.tensor_names import holds_indices, is_pool, is_weight

SUGGEST_A_LENGTH = (NameHint.LENGTH, NameHint.WEAK_LENGTH, NameHint.COUNT)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "num_heads",
            "head_dim",
            "HEAD_DIM",
            "n_cols",
            "hidden_size",
            "vocab_size",
            "num_experts",
            "top_k",
            "topk",
        ),
        *(
            "num_queries_per_kv",
            "tokens_per_block",
            "group_size",
            "num_groups",
            "eps",
            "num_warps",
            "NUM_SMS",
            "H",
            "K",
        ),
        *("BLOCK_M", "BLOCK_SIZE", "BT", "TILE_N", "block_size", "page_size", "CHUNK_SIZE", "num_stages"),
        *(
            "stride_xm",
            "x_row_stride",
            "HAS_SEQ_LENS",
            "USE_TOKENS",
            "state_len",
            "MAX_CACHE_LEN",
            "max_spec_len",
        ),
        *(
            "num_draft_tokens",
            "max_num_reqs",
            "max_model_len",
            "bias_token_id",
            "token_size",
            "is_causal",
            "dtype",
        ),
        *("Kq", "Dkv", "T_max", "Block_q"),
        *("cu_seqlens", "seq_lens_ptr", "block_table", "token_ids", "query_start_loc", "x", "n", "out"),
    ],
)
def test_the_name_of_a_constant_or_a_tensor_suggests_no_length(name: str) -> None:
    assert hint(name) not in SUGGEST_A_LENGTH


@pytest.mark.parametrize(
    "name",
    [
        *(
            "num_tokens",
            "NUM_TOKENS",
            "num_valid_tokens",
            "seq_len",
            "max_seqlen_q",
            "seqlen",
            "n_rows",
            "numel",
        ),
        *(
            "n_elements",
            "batch_size",
            "bs",
            "num_reqs",
            "num_seqs",
            "num_sequences",
            "token_num",
            "BATCH_NUM",
            "T",
        ),
        *("BLOCK_TABLE_WIDTH", "vec_len", "num_chunks", "ROW_ITER", "NT", "num_blocks", "total_prefix_pages"),
    ],
)
def test_the_name_of_a_length_suggests_one(name: str) -> None:
    assert hint(name) in SUGGEST_A_LENGTH


def test_a_share_of_a_length_needs_a_launch_to_show_it() -> None:
    assert hint("rows_per_program") is NameHint.NONE


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("block_table_stride_1", False),
        ("cos_table_stride", False),
        ("block_stride", False),
        ("page_table", False),
        ("block_table_stride", True),
        ("page_table_stride_0", True),
        ("stride_block_table", True),
    ],
)
def test_the_stride_of_a_row_of_pages_is_told_by_its_name(name: str, row: bool) -> None:
    assert names_row(name) == row


@pytest.mark.parametrize("name", ["Sq", "Skv", "T_kv", "TQ", "L_k"])
def test_a_letter_with_the_side_of_attention_that_it_counts_needs_a_launch_too(name: str) -> None:
    assert hint(name) is NameHint.DIMENSION


@pytest.mark.parametrize(
    ("name", "at_run_time"),
    [("BT", NameHint.NONE), ("BK", NameHint.NONE), ("block_size", NameHint.TILE), ("BS", NameHint.LENGTH)],
)
def test_a_letter_of_a_tile_is_one_only_where_it_is_known_at_compile_time(
    name: str, at_run_time: NameHint
) -> None:
    assert hint(name) is NameHint.TILE
    assert run_time_hint(name) is at_run_time


@pytest.mark.parametrize("name", ["M_BUCKET", "bucket_M", "M_NP2", "max_len_next_power_of_2", "BS_POW2"])
def test_a_bucket_says_so(name: str) -> None:
    assert is_bucket(name)


@pytest.mark.parametrize("name", ["topk_weights", "router_weights", "hidden_states", "attn_weights"])
def test_what_is_computed_per_token_is_no_weight(name: str) -> None:
    assert not is_weight(name)


@pytest.mark.parametrize(
    "name", ["hidden_states", "cos_sin_cache", "intermediate_cache1", "out_cache_loc", "x"]
)
def test_what_only_sounds_like_a_pool_is_none(name: str) -> None:
    assert not is_pool(name)


def test_pools_weights_and_indices_are_known_by_name() -> None:
    assert all(map(is_pool, ("kv_cache", "k_caches", "conv_states", "req_to_token")))
    assert all(map(is_weight, ("weight", "self.w1", "lm_head_bias", "embedding")))
    assert all(map(holds_indices, ("slot_mapping_ptr", "seq_lens", "block_table_ptr", "positions")))
