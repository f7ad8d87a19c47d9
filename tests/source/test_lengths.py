"""Which parameter is a length: the launches decide, and where they are silent the name."""

from __future__ import annotations

import textwrap

import pytest

from jitwatch.source.lengths import is_dead, is_opted_out
from jitwatch.source.model import Cardinality, Origin
from jitwatch.source.remedies import costs_width
from tests.source.reading import judged, kernel, parameter

USE = "tl.store(x, n)"


def launched(name: str, expression: str, annotation: str = "") -> str:
    return (
        f"@triton.jit\ndef kernel(x, {name}{annotation}):\n    tl.store(x, {name})\n"
        f"def go(x, weight, num_tokens, block_table, kv_cache):\n    kernel[(1,)](x, {expression})\n"
    )


@pytest.mark.parametrize(
    ("name", "expression"),
    [
        ("num_tokens", "weight.shape[0]"),
        ("seq_len", "64"),
        ("n_cols", "x.shape[0]"),
        ("HEAD_DIM", "x.shape[0]"),
        ("n", "x.shape[-1]"),
        ("n", "kv_cache.shape[0]"),
        ("K", "x.numel() // num_tokens"),
    ],
)
def test_what_a_launch_or_a_width_s_name_shows_to_be_constant_does_not_vary(
    name: str, expression: str
) -> None:
    assert not judged(launched(name, expression), name).varies


@pytest.mark.parametrize(
    ("name", "expression", "origin"),
    [
        ("n", "x.shape[0]", Origin.LENGTH),
        ("anything", "x.numel()", Origin.LENGTH),
        ("slice_size", "x.numel()", Origin.LENGTH),
        ("max_block_size", "block_table.shape[1]", Origin.LENGTH),
        ("T", "x.shape[1]", Origin.LENGTH),
        ("chunks", "triton.cdiv(num_tokens, 64)", Origin.DERIVED),
        ("BLOCK_T", "triton.next_power_of_2(num_tokens)", Origin.DERIVED),
    ],
)
def test_what_a_launch_shows_to_follow_the_request_varies(name: str, expression: str, origin: Origin) -> None:
    found = judged(launched(name, expression), name)
    assert found.varies
    assert found.origin is origin


def test_the_size_of_a_pool_is_told_from_a_length() -> None:
    found = judged(launched("n", "kv_cache.shape[0]", annotation=": tl.constexpr"), "n")
    assert found.origin is Origin.POOL


def test_without_a_launch_the_name_decides() -> None:
    source = (
        "@triton.jit\ndef kernel(x, num_tokens, width, hidden_size):\n    tl.store(x, num_tokens + width)\n"
    )
    assert judged(source, "num_tokens").varies
    assert not judged(source, "width").varies
    assert not judged(source, "hidden_size").varies


def test_a_constexpr_that_the_autotuner_must_provide_is_no_length() -> None:
    source = """
        @triton.autotune(configs=CONFIGS, key=["D"])
        @triton.jit
        def kernel(x, D, B: tl.constexpr):
            tl.store(x + tl.arange(0, B), D)
        def go(x):
            kernel[lambda meta: (triton.cdiv(x.numel(), meta["B"]),)](x, x.shape[-1])
        """
    assert not judged(source, "B").varies


@pytest.mark.parametrize(
    ("heuristic", "spread"),
    [
        ("args['n'] % 16 == 0", None),
        ("triton.cdiv(args['n'], 64)", Cardinality.UNBOUNDED),
        ("triton.next_power_of_2(args['n'])", Cardinality.LOG2),
        ("args['x'] is not None", None),
        ("min(args['D'], 64)", None),
    ],
)
def test_a_heuristic_follows_the_length_that_it_reads(heuristic: str, spread: Cardinality | None) -> None:
    source = f"""
        @triton.heuristics({{"H": lambda args: {heuristic}}})
        @triton.jit
        def kernel(x, n, D, H: tl.constexpr):
            tl.store(x + H, n)
        def go(x):
            kernel[(1,)](x, x.shape[0], 64)
        """
    found = judged(source, "H")
    assert found.varies == (spread is not None)
    assert spread is None or found.cardinality is spread


@pytest.mark.parametrize(
    "value", ["['n']", "[1]", "('n',)", "NAMES", "[*NAMES, 'm']", "['n'] if NEW else []"]
)
def test_a_list_that_names_a_parameter_or_hides_it_opts_it_out(value: str) -> None:
    found = kernel(f"@triton.jit(do_not_specialize={value})\ndef kernel(x, n, m):\n    {USE}\n")
    assert is_opted_out(found, found.parameters[1])


def test_a_list_that_names_others_does_not_opt_out() -> None:
    found = kernel(f"@triton.jit(do_not_specialize=['m'])\ndef kernel(x, n, m):\n    {USE}\n")
    assert not is_opted_out(found, found.parameters[1])


def test_a_handed_on_parameter_of_an_unknown_function_is_alive() -> None:
    assert not is_dead(parameter("@triton.jit\ndef kernel(x, n):\n    elsewhere(x, n)\n", "n"))


@pytest.mark.parametrize(("pointer", "costs"), [("values", True), ("slot_mapping", False)])
def test_a_kernel_that_moves_indices_has_no_width_to_lose(pointer: str, costs: bool) -> None:
    found = kernel(
        f"""
        @triton.jit
        def kernel({pointer}, n, B: tl.constexpr):
            offsets = tl.arange(0, B)
            tl.store({pointer} + offsets, 0, mask=offsets < n)
        """
    )
    assert costs_width(found, found.parameters[1]) == costs


@pytest.mark.parametrize(
    ("statement", "costs"),
    [
        ("n = n.to(tl.int64)", True),
        ("n = n * 2", True),
        ("n = B * 2", True),
        ("n = tl.load(ends) - tl.load(ends + 1)", False),
    ],
)
def test_a_length_that_is_only_cast_keeps_the_divisibility_it_came_with(statement: str, costs: bool) -> None:
    found = kernel(
        f"""
        @triton.jit
        def kernel(values, ends, n, B: tl.constexpr, VARLEN: tl.constexpr):
            if VARLEN:
                {statement}
            offsets = tl.arange(0, B)
            tl.store(values + offsets, 0, mask=offsets < n)
        """
    )
    assert costs_width(found, found.parameters[2]) == costs


REPLACED = """
    @triton.jit
    def kernel(x, ends, {name}, B: tl.constexpr, FLAG: tl.constexpr):
        if FLAG:
            {statement}
        for start in range(0, {name}, B):
            tl.store(x + start, 0)
"""


@pytest.mark.parametrize(
    ("name", "statement", "launch"),
    [
        ("extent", "extent = extent.to(tl.int64)", ""),
        ("extent", "extent = B * 2", ""),
        ("stride_b", "stride_b = tl.load(ends)", ""),
        ("num_heads", "num_heads = tl.load(ends)", ""),
        (
            "extent",
            "extent = tl.load(ends + 1) - tl.load(ends)",
            "def go(x, ends):\n    kernel[(1,)](x, ends, 64)",
        ),
        ("extent", "extent = tl.load(ends)", "def go(x, weight):\n    kernel[(1,)](x, x, weight.shape[0])"),
    ],
)
def test_what_is_replaced_by_no_loaded_number_or_is_known_otherwise_is_no_length(
    name: str, statement: str, launch: str
) -> None:
    source = textwrap.dedent(REPLACED).format(name=name, statement=statement) + launch
    assert not judged(source, name).varies


@pytest.mark.parametrize(
    "launch", ["", "def go(x, ends, wide):\n    wide = x.shape[1]\n    kernel[(1,)](x, ends, wide)"]
)
def test_what_a_loaded_number_replaces_for_each_sequence_is_a_length(launch: str) -> None:
    statement = "start, end = tl.load(ends), tl.load(ends + 1)\n        extent = end - start"
    source = textwrap.dedent(REPLACED).format(name="extent", statement=statement) + launch
    found = judged(source, "extent")
    assert found.varies
    assert found.replaced != bool(launch)


def count_by_name(name: str, use: str, passed: str) -> str:
    return (
        f"@triton.jit\ndef kernel(x, {name}: tl.constexpr):\n    {use}\n"
        "def go(x, max_loras, rows_per_request, num_splits, forward_batch, k_total):\n"
        f"    splits = triton.cdiv(k_total, 64)\n    NUM_KV_SPLITS = num_splits\n"
        f"    total_splits = table[max_seqlen]\n    kernel[(1,)](x, {passed})\n"
    )


COUNTED = "for i in range({name}):\n        tl.store(x + i, 0)"


@pytest.mark.parametrize(
    ("name", "use", "passed"),
    [
        ("NUM_SLOTS", COUNTED, "max_loras"),
        ("NUM_SPLITS", COUNTED, "splits"),
        ("NUM_SPLITS", "for i in tl.static_range(NUM_SPLITS):\n        tl.store(x + i, 0)", "num_splits"),
        ("NUM_ROWS", COUNTED, "rows_per_request"),
    ],
)
def test_the_name_of_a_count_is_not_believed_against_what_the_launch_calls_it(
    name: str, use: str, passed: str
) -> None:
    assert not judged(count_by_name(name, use.format(name=name), passed), name).varies


@pytest.mark.parametrize(
    ("name", "passed"),
    [
        ("NUM_SPLITS", "num_splits"),
        ("NUM_KV_SPLITS", "forward_batch.num_splits"),
        ("NUM_SPLITS", "NUM_KV_SPLITS"),
        ("NUM_SPLITS", "total_splits"),
        ("NUM_ROWS", "k_total"),
        ("NUM_SPLITS", "*k_total"),
    ],
)
def test_the_name_of_a_count_is_believed_where_the_launch_says_no_more(name: str, passed: str) -> None:
    assert judged(count_by_name(name, COUNTED.format(name=name), passed), name).varies


def test_a_bucket_by_its_name_takes_powers_of_two() -> None:
    source = (
        "@triton.jit\ndef kernel(x, BS_POW2: tl.constexpr):\n    tl.store(x + tl.arange(0, BS_POW2), 0)\n"
    )
    found = judged(source, "BS_POW2")
    assert (found.origin, found.cardinality) == (Origin.DERIVED, Cardinality.LOG2)
