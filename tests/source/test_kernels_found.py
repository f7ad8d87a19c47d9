"""Which functions are kernels, and what their decorators say."""

from __future__ import annotations

import pytest

from jitwatch.source import analyse_module
from jitwatch.source.model import DecoratorKind, Memo
from tests.source.reading import kernel, read


@pytest.mark.parametrize(
    "source",
    [
        "import cutlass.cute as cute\n@cute.jit\ndef f(x): pass\n",
        "import tilelang\n@tilelang.jit\ndef f(x): pass\n",
        "import tilelang\n@tilelang.jit(out_idx=[1])\ndef f(x): pass\n",
        "import helion\n@helion.jit\ndef f(x): pass\n",
        "import flyc\n@flyc.jit\ndef f(x): pass\n",
        "from numba import jit\n@jit\ndef f(x): pass\n",
        "import torch\n@torch.jit.script\ndef f(x): pass\n",
        "def jit(f): return f\n@jit\ndef f(x): pass\n",
    ],
)
def test_what_is_not_triton_is_no_kernel(source: str) -> None:
    assert analyse_module("f.py", source.encode()).kernels == ()


@pytest.mark.parametrize(
    "source",
    [
        "import triton\n@triton.jit\ndef f(x): pass\n",
        "import triton\n@triton.jit()\ndef f(x): pass\n",
        "from triton import jit\n@jit\ndef f(x): pass\n",
        "from vllm.triton_utils import triton\n@triton.jit\ndef f(x): pass\n",
        "from triton.experimental import gluon\n@gluon.jit\ndef f(x): pass\n",
        "import triton_dist\n@triton_dist.jit(do_not_specialize=['x'])\ndef f(x): pass\n",
        "import triton\n@triton.jit(repr=r, launch_metadata=m, noinline=True)\ndef f(x): pass\n",
        "import triton\nclass C:\n    @staticmethod\n    @triton.jit\n    def f(x): pass\n",
        "import triton\n@triton.heuristics({'E': lambda a: a['x'] == 1})\n@triton.jit\ndef f(x, E): pass\n",
        "import triton\n# above\n@triton.autotune(configs=[], key=['x'])\n# between\n@triton.jit\ndef f(x): pass\n",
        "import triton\ndef f(x): pass\nf = triton.jit(f)\n",
        "import triton\ndef f(x): pass\nf = triton.jit(f)\nf = triton.heuristics({'E': lambda a: 1})(f)\n",
        "import triton\ndef f(x): pass\ng = triton.jit(do_not_specialize=['x'])(f)\n",
        "try:\n    import triton\nexcept ImportError:\n    pass\nif True:\n    @triton.jit\n    def f(x): pass\n",
        "match 1:\n    case 1:\n        import triton\n        @triton.jit\n        def f(x): pass\n",
    ],
)
def test_every_form_of_decorating_makes_one_kernel(source: str) -> None:
    found = analyse_module("f.py", source.encode()).kernels
    assert [each.name for each in found] == ["f"]
    assert found[0].parameters[0].name == "x"


def test_a_project_decorator_counts_when_it_is_named() -> None:
    source = b"from mylib import kernel\n@kernel(do_not_specialize=['x'])\ndef f(x): pass\n"
    assert analyse_module("f.py", source).kernels == ()
    found = analyse_module("f.py", source, jit=("mylib.kernel",)).kernels
    assert [each.name for each in found[0].listed("do_not_specialize")] == ["x"]


def test_a_wrapping_call_leaves_its_decorators_outermost_first() -> None:
    found = kernel(
        """
        def f(x, n): pass
        f = triton.jit(f, do_not_specialize=["n"])
        run = triton.autotune(configs=[triton.Config({}), triton.Config({})], key=["n"])(f)
        """
    )
    assert [each.kind for each in found.decorators] == [DecoratorKind.AUTOTUNE, DecoratorKind.JIT]
    assert found.decorators[0].configurations == 2
    assert found.by_call


def test_an_opt_out_list_is_read_by_name_and_by_position() -> None:
    found = kernel("@triton.jit(do_not_specialize=['b', 0])\ndef f(a, b, c): pass\n")
    assert [each.name for each in found.listed("do_not_specialize")] == ["b", "a"]


@pytest.mark.parametrize("value", ["NAMES", "['a'] if HOPPER else ['b']", "['a', *(() if OLD else ('b',))]"])
def test_an_opt_out_list_that_is_an_expression_is_not_literal(value: str) -> None:
    listing = kernel(f"@triton.jit(do_not_specialize={value})\ndef f(a, b): pass\n").jit.listing(
        "do_not_specialize"
    )
    assert listing is not None
    assert not listing.literal


def test_the_span_of_an_entry_is_the_entry_in_a_file_with_a_mark_and_wide_characters() -> None:
    text = (
        "\ufeff# Größe\r\nimport triton\r\n@triton.jit(do_not_specialize=['ä', 'n'])\r\ndef f(ä, n): pass\r\n"
    )
    data = text.encode()
    entry = analyse_module("f.py", data).kernels[0].jit.listings[0].entries[1]
    assert data[entry.span.start : entry.span.end] == b"'n'"
    assert (entry.span.line, entry.span.column) == (3, 37)


def test_the_span_of_a_parameter_is_right_in_latin_1() -> None:
    data = "# -*- coding: latin-1 -*-\nimport triton\n@triton.jit\ndef f(grün, n): pass\n".encode("latin-1")
    found = analyse_module("f.py", data).kernels[0].parameters[1]
    assert data[found.span.start : found.span.end] == b"n"
    assert found.span.column == 13


@pytest.mark.parametrize(
    "body",
    [
        "@functools.lru_cache\ndef make(d):\n    @triton.jit\n    def f(x): pass\n    return f\n",
        "def make():\n    global K\n    @triton.jit\n    def f(x): pass\n    K = f\n",
        "def make(d):\n    @triton.jit\n    def f(x): pass\n    CACHE[d] = f\n    return f\n",
    ],
)
def test_a_factory_that_keeps_its_kernel_is_memoised(body: str) -> None:
    assert read(body).kernels[0].memo is Memo.MEMOISED


def test_a_kernel_built_and_launched_in_a_function_is_built_per_call() -> None:
    found = read("def run(x):\n    @triton.jit\n    def f(x): pass\n    f[(1,)](x)\n").kernels[0]
    assert found.memo is Memo.PER_CALL
    assert found.enclosing == "run"
