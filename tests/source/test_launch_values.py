"""Where the arguments of a launch come from."""

from __future__ import annotations

import pytest

from jitwatch.source.model import Cardinality, Origin
from tests.source.reading import judged, passed, project, read


@pytest.mark.parametrize(
    "host",
    [
        "def go(weight):\n    n = weight.shape[0]",
        "def go(self):\n    n = self.weight.numel()",
        "def go(x):\n    n = x.shape[-1]",
        "def go(x):\n    rows, n = x.shape",
        "def go(q, v):\n    B, T, H, K, n = *q.shape, v.shape[-1]",
        "def go(x):\n    num_heads = x.shape[1]\n    n = num_heads",
        "def go(config):\n    n = config.max_seq_len",
        "def go(x):\n    n = triton.next_power_of_2(x.shape[-1])",
        "def go(topk_ids):\n    n = topk_ids.shape[1]",
        "def go(x):\n    n = x.element_size()",
        "def go():\n    n = torch.cuda.get_device_properties(0).multi_processor_count",
        "n = 128\ndef go(x):\n    pass",
        "def go(x):\n    w = torch.empty(64, 32)\n    n = w.shape[0]",
        "def go(x, head_dim):\n    n = head_dim * 2",
    ],
)
def test_what_the_model_fixes_is_no_length(host: str) -> None:
    value = passed(host)
    assert value.origin in (Origin.MODEL_CONSTANT, Origin.LITERAL, Origin.UNKNOWN)
    assert value.origin is not Origin.UNKNOWN or "head" not in host


@pytest.mark.parametrize(
    "host",
    [
        "def go(x):\n    n = x.shape[0]",
        "def go(x):\n    n = x.size(0)",
        "def go(x):\n    n = x.size()[0]",
        "def go(x):\n    n = x.numel()",
        "def go(cu_seqlens):\n    n = len(cu_seqlens) - 1",
        "def go(x):\n    n, D = x.shape",
        "def go(q, v):\n    n, T, H, K, V = *q.shape, v.shape[-1]",
        "def go(q):\n    B, T, H, K = q.shape\n    n = T",
        "def go(x):\n    shape = x.shape\n    n = shape[0]",
        "def go(metadata):\n    n = metadata.num_tokens",
        "def go(num_tokens: int):\n    n = num_tokens",
        "def go(x):\n    n = int(x.shape[0])",
        "def go(x):\n    m = x.shape[0]\n    k = m\n    n = k",
        "def go(x):\n    n = x.shape[0] if x.dim() > 1 else 1",
        "def go(x, W):\n    x2 = x.view(-1, W)\n    n = x2.shape[0]",
        "def go(x):\n    y = torch.empty((x.shape[0], 4))\n    n = y.shape[0]",
        "def go(block_table):\n    n = block_table.shape[1]",
    ],
)
def test_what_a_request_brings_is_a_length(host: str) -> None:
    value = passed(host)
    assert value.origin is Origin.LENGTH
    assert value.cardinality is Cardinality.UNBOUNDED


@pytest.mark.parametrize(
    ("expression", "spread"),
    [
        ("triton.cdiv(T, 64)", Cardinality.UNBOUNDED),
        ("(T + 63) // 64", Cardinality.UNBOUNDED),
        ("math.ceil(T / 8)", Cardinality.UNBOUNDED),
        ("T * 4", Cardinality.UNBOUNDED),
        ("align(T, 4)", Cardinality.UNBOUNDED),
        ("min(T, 4096)", Cardinality.UNBOUNDED),
        ("triton.next_power_of_2(T)", Cardinality.LOG2),
        ("2 ** math.ceil(math.log2(T))", Cardinality.LOG2),
        ("1 << (T - 1).bit_length()", Cardinality.LOG2),
        ("max(16, triton.next_power_of_2(T))", Cardinality.LOG2),
        ("min(64, triton.next_power_of_2(T))", Cardinality.FEW),
        ("triton.cdiv(T, 2048 * 32)", Cardinality.FEW),
        ("T % 16", Cardinality.FEW),
    ],
)
def test_what_is_computed_from_a_length_says_how_far_it_spreads(expression: str, spread: Cardinality) -> None:
    value = passed(f"def go(x):\n    T = x.shape[0]\n    n = {expression}")
    assert value.cardinality is spread


def test_the_strides_of_a_padded_buffer_follow_its_length() -> None:
    value = passed(
        """
        def go(x):
            padded = triton.cdiv(x.shape[0], 4) * 4
            scales = torch.empty((8, 4, padded)).transpose(1, 2)
        """,
        "scales.stride(2)",
    )
    assert value.origin is Origin.DERIVED


@pytest.mark.parametrize(
    ("expression", "origin"),
    [
        ("block_table.stride(1)", Origin.STRIDE),
        ("block_table.stride(-1)", Origin.STRIDE),
        ("weight.stride(0)", Origin.STRIDE),
        ("x.stride(0)", Origin.STRIDE),
        ("kv_cache.stride(0)", Origin.STRIDE),
        ("idx_q.stride(0)", Origin.STRIDE),
        ("topk_ids.stride(0)", Origin.STRIDE),
        ("block_table.stride(0)", Origin.ROW),
        ("meta.page_table[:4].stride(-2)", Origin.ROW),
        ("sorted_token_ids.stride(0)", Origin.ROW),
        ("self.req_to_token.stride(0) if meta else 0", Origin.ROW),
    ],
)
def test_the_stride_of_a_row_of_a_table_is_told_from_other_strides(expression: str, origin: Origin) -> None:
    host = (
        "def go(self, x, weight, block_table, sorted_token_ids, kv_cache, idx_q, topk_ids, meta):\n    pass"
    )
    assert passed(host, expression).origin is origin


@pytest.mark.parametrize(
    ("expression", "varies"),
    [
        ("batch_info.num_segments", True),
        ("meta.metadata.num_splits", True),
        ("config.num_segments", False),
        ("self.num_segments", False),
        ("batch_info.num_heads", False),
        ("batch_info.max_segments", False),
    ],
)
def test_what_the_description_of_a_batch_counts_follows_the_batch(expression: str, varies: bool) -> None:
    value = passed("def go(self, config, meta, batch_info):\n    pass", expression)
    assert (value.origin is Origin.LENGTH) == varies


def test_what_a_function_of_another_file_returns_is_not_known_by_a_weak_word_of_its_name() -> None:
    assert passed("def go(meta):\n    n, m = split_decodes(meta, 1)").origin is Origin.UNKNOWN


def test_the_hops_are_told_from_the_launch_back_to_the_source() -> None:
    value = passed("def go(x):\n    T = x.shape[0]\n    rows = T * 4", "rows")
    assert value.hops == ("rows = T * 4", "T = x.shape[0]")


def test_a_value_is_followed_into_the_function_that_computes_it() -> None:
    value = passed(
        """
        def settings(n):
            block = triton.next_power_of_2(n)
            return block, 4
        def go(x):
            block, warps = settings(x.shape[0])
        """,
        "block",
    )
    assert value.cardinality is Cardinality.LOG2


def test_a_recursive_assignment_ends() -> None:
    assert passed("def go(x):\n    n = n + 1\n    n = m\n    m = n").origin is Origin.UNKNOWN


@pytest.mark.parametrize(
    "launch",
    [
        "kernel[grid](x, 3, n=x.shape[0])",
        "kernel[lambda m: (1,)](x, 3, x.shape[0], num_warps=4)",
        "kernel.run(x, 3, x.shape[0], grid=(1,), warmup=False)",
        "kernel.warmup(x, 3, x.shape[0], grid=(1,))",
        "functools.partial(kernel[grid], x, 3)(x.shape[0]) or kernel[grid](x, 3, x.shape[0])",
        "wrap_triton(kernel)[grid](x, 3, x.shape[0])",
        "k = kernel if x else kernel\n    k[grid](x, 3, x.shape[0])",
    ],
)
def test_every_form_of_launching_binds_its_arguments(launch: str) -> None:
    source = f"@triton.jit\ndef kernel(x, a, n):\n    pass\ndef go(x):\n    {launch}\n"
    assert judged(source, "n", "kernel").origin is Origin.LENGTH


def test_options_are_kept_apart_from_arguments() -> None:
    whole = project(kernels="@triton.jit\ndef k(x): pass\ndef go(x):\n    k[(1,)](x, num_warps=8)\n")
    (bound,) = whole.launches_of(whole.kernels["kernels.py"][0])
    assert list(bound.arguments) == ["x"]
    assert bound.options["num_warps"].text == "8"


def test_a_launch_through_a_class_finds_the_kernel_of_that_class() -> None:
    source = "".join(
        f"class {name}:\n    @staticmethod\n    @triton.jit\n    def kernel(x, n): pass\n"
        for name in ("A", "B")
    )
    whole = project(kernels=source + "def go(x):\n    B.kernel[(1,)](x, x.shape[0])\n")
    first, second = whole.kernels["kernels.py"]
    assert whole.launches_of(first) == ()
    assert len(whole.launches_of(second)) == 1


def test_a_launch_in_another_module_is_found_through_its_import() -> None:
    whole = project(
        ops="@triton.jit\ndef scale(x, n): tl.store(x, n)\n",
        model="from pkg.ops import scale as run\ndef go(x):\n    run[(1,)](x, x.shape[0])\n",
        other="def scale(x): pass\ndef go(x):\n    scale[0](x)\n",
    )
    (bound,) = whole.launches_of(whole.kernels["ops.py"][0])
    assert bound.launch.path == "model.py"
    assert bound.arguments["n"].origin is Origin.LENGTH


def test_a_call_of_a_subscript_that_is_no_kernel_is_dropped() -> None:
    whole = project(
        kernels="@triton.jit\ndef k(x): pass\ndef go(x):\n    handlers['k'](x)\n    Box[int](x)\n"
    )
    assert whole.launches == {}


def test_a_moving_slice_is_an_offset_and_a_leading_one_is_not() -> None:
    module = read(
        """
        def go(seq_lens, x, start):
            k[(1,)](seq_lens[start:], seq_lens[:start], seq_lens[4:], x[start:], x[:, start:])
        """
    )
    assert [value.offset for value in module.launches[0].positional] == [True, False, False, False, True]


STARRED = """
    @triton.jit
    def kernel(x, n, B: tl.constexpr):
        tl.store(x + n, 0)
    def go(x, weight, others):
        rows, columns = x.shape
        {before}
        kernel[(1,)](x, {star})
    """


@pytest.mark.parametrize(
    ("before", "star"),
    [
        ("given = {'n': weight.shape[0]}", "**given"),
        ("given = dict(n=columns, B=rows)", "**given"),
        ("pass", "**{'n': 64}"),
        ("given = {'n': rows}\n        given = others", "**given"),
        ("given = {'n': rows}\n        given['n'] = 64", "**given"),
        ("given = {'n': rows}\n        given.update(others)", "**given"),
        ("given = {'n': rows, **others}", "**given"),
        ("given = {'n': rows}\n        given |= others", "**given"),
        ("given = {'n': rows}\n        adjust(given)", "**given"),
        ("for given in others:\n            pass", "**given"),
    ],
)
def test_a_dictionary_that_may_hold_something_else_shows_no_length(before: str, star: str) -> None:
    assert not judged(STARRED.format(before=before, star=star), "n").varies


@pytest.mark.parametrize(
    ("before", "star"),
    [
        ("given = {'n': rows}", "**given"),
        ("given = dict(n=rows, B=16)", "**given"),
        ("given = dict(others, n=rows)", "**given"),
        ("given = {**others, 'n': rows}", "**given"),
        ("given = {'n': rows}\n        given['B'] = 16", "**given"),
        ("inner = {'n': rows}\n        given = {**inner, 'B': 16}", "**given"),
        ("pass", "**{'n': rows}"),
        ("pass", "**dict(n=rows), B=16"),
        ("given: dict = {'B': 16, 'n': rows}", "**given, num_warps=4"),
    ],
)
def test_a_dictionary_spelled_out_shows_what_a_launch_passes(before: str, star: str) -> None:
    source = STARRED.format(before=before, star=star)
    assert judged(source, "n").varies
    assert read(source).launches[0].starred


@pytest.mark.parametrize(
    ("launch", "varies"), [("kernel[(1,)](x, **others)", True), ("kernel[(1,)](x, B=4)", False)]
)
def test_a_letter_speaks_where_every_launch_hides_what_it_passes(launch: str, varies: bool) -> None:
    source = f"""
        @triton.jit
        def kernel(x, T=8, B: tl.constexpr = 4):
            tl.store(x + T, 0)
        def go(x, others):
            {launch}
        """
    assert judged(source, "T").varies == varies
