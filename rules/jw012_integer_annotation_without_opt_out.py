"""JW012: an integer annotation that fixes the type and leaves the classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitwatch.lint.length_rule import SpecialisedLengthRule
from jitwatch.lint.rule import Invalid, Valid

if TYPE_CHECKING:
    from jitwatch.source.lengths import Judgement
    from jitwatch.source.model import Kernel, Parameter


class IntegerAnnotationWithoutOptOut(SpecialisedLengthRule):
    """Opt an annotated length out: the annotation alone adds a variant that buys nothing.

    ## What it does
    Finds lengths annotated `tl.int32`, `tl.int64` or `int` that are specialised.

    ## Why is this bad?
    The annotation fixes the type, so that large values compile no second time, but the classes stay: multiples
    of 16 compile apart, and the value 1 makes a third variant that is not even folded. On Triton 3.9 its code
    is the same byte for byte as for 17, and still it is a whole compile. Together with the opt-out there is
    exactly one variant in every release from 3.0 to 3.9.

    ## Example
    ```python
    @triton.jit
    def fill(x, num_tokens: tl.int32):
        ...
    ```

    ## Use instead
    ```python
    @triton.jit(do_not_specialize=["num_tokens"])
    def fill(x, num_tokens: tl.int32):
        ...
    ```

    ## Fix safety
    As for `JW001`: safe where the argument stays among scalars, else unsafe.
    """

    code = "JW012"
    name = "integer-annotation-without-opt-out"
    VALID = (
        Valid(
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["num_tokens"])
            def fill(x, num_tokens: tl.int64, eps: tl.float32, num_heads: tl.int32):
                if tl.program_id(0) < num_tokens:
                    tl.store(x + tl.program_id(0) * num_heads, eps)
            """
        ),
    )
    INVALID = (
        Invalid(
            """\
            import triton
            import triton.language as tl

            @triton.jit()
            def fill(x, num_tokens: tl.int32):
                if tl.program_id(0) < num_tokens:
                    tl.store(x + tl.program_id(0), 0.0)
            """,
            (
                (
                    5,
                    13,
                    (
                        "`num_tokens: tl.int32` of `fill` is a length (by its name): the annotation "
                        "fixes its type, but multiples of 16 and the value 1 compile apart all the same"
                    ),
                ),
            ),
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["num_tokens"])
            def fill(x, num_tokens: tl.int32):
                if tl.program_id(0) < num_tokens:
                    tl.store(x + tl.program_id(0), 0.0)
            """,
        ),
    )

    def message(self, kernel: Kernel, parameter: Parameter, judgement: Judgement) -> str:
        """What is wrong with this length."""
        from jitwatch.source import wording

        what = wording.what(judgement) + wording.origin(judgement)
        return (
            f"`{parameter.name}: {parameter.annotation}` of `{kernel.name}` is {what}: "
            "the annotation fixes its type, but multiples of 16 and the value 1 compile apart all the same"
        )
