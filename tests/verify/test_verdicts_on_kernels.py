"""The verdict on each kind of kernel, by compiling it: what must not be called harmless first."""

from __future__ import annotations

from itertools import pairwise

import pytest

from jitwatch.kernels.rope_fp8_quant import before
from jitwatch.specialization import Parameter, Remedy, Value, classify, traits_of
from jitwatch.verify import Change, Form, KernelSource, Outcome, Pool, Request, verify_remedies
from jitwatch.verify.figures import Access, Figures
from jitwatch.verify.requests import job_of, roots_of
from tests.verify.conftest import Verify

ADD = "x=*bf16:16, y=*bf16:16, out=*bf16:16, n=i32:16, BLOCK=1024"
MOE = (
    "a=*bf16:16, b=*bf16:16, c=*bf16:16, sorted_ids=*i32:16, expert_ids=*i32:16, num_tokens_post_padded=*i32:16,"
    "N=i32:16, K=i32:16, EM=i32:16, num_valid_tokens=i32:16, stride_am=i32:16, stride_be=i32:16, stride_bn=i32:16,"
    "stride_cm=i32:16, top_k=8, BLOCK_M=16, BLOCK_N=64, BLOCK_K=64, GROUP=4"
)


def test_a_length_that_masks_the_contiguous_axis_costs_the_whole_vector_width(verify: Verify) -> None:
    verdict = verify("vector_add", "n=do_not_specialize", signature=ADD)["n"]
    assert verdict.outcome is Outcome.COSTS
    assert "global reads 8 → 1 wide" in verdict.reason
    assert "global stores 8 → 1 wide" in verdict.reason
    assert verdict.before is not None
    assert verdict.after is not None
    assert verdict.before.accesses[Access.LOAD] == {128: 2}
    assert verdict.after.accesses[Access.LOAD] == {16: 16}


@pytest.mark.parametrize("remedy", ["do_not_specialize_on_alignment", "annotate"])
def test_the_weaker_and_the_stronger_spelling_cost_the_same(verify: Verify, remedy: str) -> None:
    assert verify("vector_add", f"n={remedy}", signature=ADD)["n"].outcome is Outcome.COSTS


def test_a_stride_that_multiplies_the_row_index_costs(verify: Verify) -> None:
    verdict = verify("copy_rows", signature="x=*bf16:16, out=*bf16:16, stride=i32:16, WIDTH=1024")["stride"]
    assert verdict.outcome is Outcome.COSTS
    assert "8 → 1 wide" in verdict.reason


def test_what_is_harmless_alone_and_costs_together_is_not_called_harmless(verify: Verify) -> None:
    text = "x=*bf16:16, out=*bf16:16, heads=i32:16, width=i32:16, WIDTH=1024"
    assert (
        verify("copy_heads", "heads=do_not_specialize", signature=text)["heads"].outcome is Outcome.HARMLESS
    )
    verdicts = verify("copy_heads", signature=text)
    for name, other in [("heads", "width"), ("width", "heads")]:
        assert verdicts[name].outcome is Outcome.COSTS
        assert verdicts[name].reason.startswith(f"harmless alone, but with {other}: global reads 8 → 1 wide")
        assert verdicts[name].to_json()["after"]["accesses"]["global loads"] == {"16": 8}


def test_a_stride_of_one_that_is_folded_costs_although_its_divisibility_is_worth_nothing(
    verify: Verify,
) -> None:
    text = "x=*fp32:16, out=*fp32:16, stride_column=i32:1, rows=i32:16, BLOCK=512"
    verdict = verify("sum_columns", "stride_column=do_not_specialize", signature=text)["stride_column"]
    assert verdict.outcome is Outcome.COSTS
    assert verdict.reason.startswith("=1: global reads 4 → 1 wide")


def test_a_pointer_that_may_be_unaligned_is_not_proven(verify: Verify) -> None:
    """Half the reads are narrower: what that costs depends on where they are served from."""
    verdict = verify("vector_add", "x", signature=ADD)["x"]
    assert verdict.outcome is Outcome.UNKNOWN
    assert "global reads 8 → 1 wide" in verdict.reason


def test_a_constexpr_that_is_a_shape_does_not_compile_as_an_argument_and_the_reason_says_why(
    verify: Verify,
) -> None:
    verdict = verify("count_all", "length=runtime_argument", signature="out=*i32:16, length=64")["length"]
    assert verdict.outcome is Outcome.COSTS
    assert "does not compile as a run-time argument" in verdict.reason
    assert "constexpr" in verdict.reason.partition(": ")[2]


def test_a_row_count_is_harmless(verify: Verify) -> None:
    text = "x=*bf16:16, out=*bf16:16, num_rows=i32:16, WIDTH=512, ROWS=4"
    verdict = verify("scale_rows", signature=text)["num_rows"]
    assert verdict.outcome is Outcome.HARMLESS
    # 16 rows of one block are real together or not at all: one comparison instead of four.
    # (Triton up to 3.5 makes four either way.)
    assert verdict.reason == "identical code" or verdict.reason.startswith(
        "other: identical code; ÷16: same memory accesses"
    )


def test_a_guess_that_leaves_out_the_access_that_matters_proves_nothing(verify: Verify) -> None:
    verdict = verify("copy_if_asked")["stride"]
    assert verdict.outcome is Outcome.UNKNOWN
    assert verdict.reason.endswith("give --signature")
    text = "x=*bf16:16, out=*bf16:16, stride=i32:16, COPY=True, WIDTH=1024"
    assert verify("copy_if_asked", signature=text)["stride"].outcome is Outcome.COSTS
    text = text.replace("True", "False")
    assert verify("copy_if_asked", signature=text)["stride"].outcome is Outcome.HARMLESS


def test_a_constexpr_that_only_masks_is_harmless_as_an_argument(verify: Verify) -> None:
    text = "out=*i32:16, length=100, BLOCK=128"
    assert verify("count_up", "length=runtime_argument", signature=text)["length"].outcome is Outcome.HARMLESS


def test_the_token_counts_of_a_mixture_of_experts_are_dead_and_its_strides_are_not(verify: Verify) -> None:
    verdicts = verify("grouped_matmul", signature=MOE)
    for name in ("EM", "num_valid_tokens"):
        assert verdicts[name].outcome is Outcome.HARMLESS, verdicts[name]
        assert verdicts[name].reason == "identical code"
    for name in ("K", "stride_am", "stride_bn", "stride_cm", "N"):
        assert verdicts[name].outcome is Outcome.COSTS, verdicts[name]


def test_on_amd_the_same_verdicts_come_out_of_amdgcn(verify: Verify) -> None:
    verdict = verify("vector_add", "n=do_not_specialize", signature=ADD, target="hip:gfx942")["n"]
    assert (verdict.outcome, verdict.target) == (Outcome.COSTS, "hip:gfx942")
    assert "global reads 4 → 1 wide" in verdict.reason
    text = "x=*bf16:16, out=*bf16:16, num_rows=i32:16, WIDTH=512, ROWS=4"
    assert verify("scale_rows", signature=text, target="hip:gfx942")["num_rows"].outcome is Outcome.HARMLESS


# -- the inverse rotary embedding of kernels/rope_fp8_quant, whose four classes come from two arguments ---------


def rope_form(parameters: tuple[Parameter, ...], tokens: int) -> Form:
    """The variant that a launch with `tokens` tokens compiles: 64 heads in 8 groups."""
    width, padded = 8 * 512, -(-tokens // 4) * 4
    pointers = ["bfloat16", "int64", "float32", "float8_e4m3fn", "float32"]
    values: list[Value] = [
        *({"tensor": dtype, "shape": [1], "mod16": 0} for dtype in pointers),
        *(tokens, 64 * 512, 512, 64, tokens * width, width, 32 * padded, padded),
        *(8, 4, 128, 64, 448.0, 1e-10, False),
    ]
    traits = traits_of("3.7")
    classes = (
        classify(value, parameter, traits) for value, parameter in zip(values, parameters, strict=True)
    )
    return Form(tuple(classes), (("num_warps", "1"),))


@pytest.fixture(scope="module")
def rope() -> KernelSource:
    """The kernel as it recompiles."""
    function = before.inverse_rope_fp8_quant_kernel
    parameters = tuple(Parameter(each.name, each.is_constexpr) for each in function.params)
    module, path, line = before.__name__, before.__file__, function.fn.__code__.co_firstlineno
    return KernelSource(function.fn.__qualname__, module, path, line, roots_of(module, path), parameters)


def test_two_thirteen_and_sixteen_tokens_compile_to_one_code_and_one_token_to_another(
    rope: KernelSource, pool: Pool
) -> None:
    jobs = [job_of(rope, rope_form(rope.parameters, tokens), "cuda:90") for tokens in (2, 13, 16, 1)]
    pool.compile(jobs)
    two, thirteen, sixteen, one = (Figures.from_json(pool.answer(job)["figures"]) for job in jobs)
    assert two.code == thirteen.code == sixteen.code != one.code
    assert 0 < abs(two.instructions - one.instructions) <= 24


def test_both_arguments_of_the_rotary_embedding_are_harmless_alone_and_together(
    rope: KernelSource, pool: Pool
) -> None:
    forms = tuple(rope_form(rope.parameters, tokens) for tokens in (1, 2, 13, 16))
    assert all(a != b for a, b in pairwise(forms))
    names = [parameter.name for parameter in rope.parameters]
    requests = [
        Request(rope, Change(names.index(name), Remedy.SPECIALIZE), forms)
        for name in ("num_tokens", "scale_stride_k")
    ]
    for verdict in verify_remedies(requests, "cuda:90", pool=pool):
        assert verdict.outcome is Outcome.HARMLESS, verdict.reason
        assert verdict.reason.startswith("other, ÷16: identical code") or verdict.reason == "identical code"
