"""JW009: an argument derived from a length, left specialised beside one that was opted out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitwatch.lint.length_rule import SpecialisedLengthRule
from jitwatch.lint.rule import Invalid, Valid

if TYPE_CHECKING:
    from jitwatch.source.lengths import Judgement
    from jitwatch.source.model import Kernel, Parameter


class DerivedLengthLeftSpecialised(SpecialisedLengthRule):
    """Opt out of what is derived from a length, too, not of the length alone.

    ## What it does
    Finds kernels with an opt-out list that leaves out an argument computed from a length: a padded stride
    (`align(T, 4)`), a product, a quotient, the stride of the rows of a page table.

    ## Why is this bad?
    The derived argument changes its class at other values than the length does, so that the opt-out removes
    some variants and leaves the rest: in vLLM's `_fused_inv_rope_fp8_quant_per_head` the published fix named
    `num_tokens` and left two variants, since a scale's stride is `align(T, 4)`: a multiple of 16 for T % 16 in
    13, 14, 15 and 0. The full fix came months later.

    ## Known problems
    A derived argument that is always a multiple of 16 makes one variant; the linter does not know the factors. A
    table that is allocated once has one width in a process, and another in a deployment with longer contexts.

    ## Example
    ```python
    @triton.jit(do_not_specialize=["num_tokens"])
    def quantise(x, scales, num_tokens, scale_stride):
        ...

    quantise[grid](x, scales, num_tokens, align(num_tokens, 4))
    ```

    ## Use instead
    ```python
    @triton.jit(do_not_specialize=["num_tokens", "scale_stride"])
    def quantise(x, scales, num_tokens, scale_stride):
        ...
    ```

    ## Fix safety
    As for `JW001`: safe where the argument stays among scalars, else unsafe.

    ## References
    - vLLM pull requests 42849 and 50176: the first fix and the full one
    """

    code = "JW009"
    name = "derived-length-left-specialised"
    VALID = (
        Valid(
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["num_tokens", "scale_stride"])
            def quantise(scales, num_tokens, scale_stride):
                if tl.program_id(0) < num_tokens:
                    tl.store(scales + tl.program_id(1) * scale_stride + tl.program_id(0), 0.0)

            def launch(scales, num_tokens):
                quantise[(num_tokens,)](scales, num_tokens, triton.cdiv(num_tokens, 4) * 4)
            """
        ),
        Valid(
            """\
            import triton
            import triton.language as tl

            # A vector's stride is 1, and nothing in this kernel is opted out.
            @triton.jit(do_not_specialize=["n_rows"])
            def count(out, seq_lens, n_rows, stride):
                if tl.program_id(0) < n_rows:
                    tl.store(out + tl.program_id(0), tl.load(seq_lens + tl.program_id(0) * stride))

            @triton.jit
            def first(out, block_table, stride):
                for page in range(16):
                    tl.store(out, tl.load(block_table + tl.program_id(0) * stride + page))

            def launch(out, seq_lens, block_table):
                count[(4,)](out, seq_lens, seq_lens.shape[0], seq_lens.stride(0))
                first[(4,)](out, block_table, block_table.stride(0))
            """
        ),
        Valid(
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["num_tokens"])
            def quantise(x, num_tokens, row_stride, WIDTH: tl.constexpr):
                if tl.program_id(0) < num_tokens:
                    tl.store(x + tl.program_id(0) * row_stride + tl.arange(0, WIDTH), 0.0)

            def launch(x, num_tokens):
                quantise[(num_tokens,)](x, num_tokens, x.stride(0), WIDTH=x.shape[-1])
            """
        ),
    )
    INVALID = (
        Invalid(
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["num_tokens"])
            def quantise(scales, num_tokens, scale_stride):
                if tl.program_id(0) < num_tokens:
                    tl.store(scales + tl.program_id(1) * scale_stride + tl.program_id(0), 0.0)

            def launch(scales, num_tokens):
                quantise[(num_tokens,)](scales, num_tokens, triton.cdiv(num_tokens, 4) * 4)
            """,
            (
                (
                    5,
                    34,
                    (
                        "`scale_stride` of `quantise` is derived from a length "
                        "(`triton.cdiv(num_tokens, 4) * 4`) and specialised, beside an opted-out "
                        "`num_tokens`: it goes on splitting the kernel by its own classes"
                    ),
                ),
            ),
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["num_tokens", "scale_stride"])
            def quantise(scales, num_tokens, scale_stride):
                if tl.program_id(0) < num_tokens:
                    tl.store(scales + tl.program_id(1) * scale_stride + tl.program_id(0), 0.0)

            def launch(scales, num_tokens):
                quantise[(num_tokens,)](scales, num_tokens, triton.cdiv(num_tokens, 4) * 4)
            """,
        ),
        Invalid(
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["num_pages"])
            def gather(out, block_table, num_pages, table_stride):
                for page in range(num_pages):
                    tl.store(out + page, tl.load(block_table + tl.program_id(0) * table_stride + page))

            def launch(out, block_table):
                gather[(4,)](out, block_table, block_table.shape[1], block_table.stride(0))
            """,
            (
                (
                    5,
                    41,
                    (
                        "`table_stride` of `gather` is the stride of a table's rows (`block_table.stride(0)`) and "
                        "specialised, beside an opted-out `num_pages`: it goes on splitting the kernel by its own "
                        "classes"
                    ),
                ),
            ),
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["num_pages", "table_stride"])
            def gather(out, block_table, num_pages, table_stride):
                for page in range(num_pages):
                    tl.store(out + page, tl.load(block_table + tl.program_id(0) * table_stride + page))

            def launch(out, block_table):
                gather[(4,)](out, block_table, block_table.shape[1], block_table.stride(0))
            """,
        ),
    )

    def message(self, kernel: Kernel, parameter: Parameter, judgement: Judgement) -> str:
        """What is wrong with this length."""
        from jitwatch.source import wording

        what = wording.what(judgement, "derived from a length")
        return (
            f"`{parameter.name}` of `{kernel.name}` is {what}{wording.origin(judgement)} and "
            f"specialised, beside an opted-out `{wording.opted_out_beside(kernel)}`: it goes on splitting the kernel "
            "by its own classes"
        )
