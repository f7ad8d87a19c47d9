"""JW014: a length that lost its constexpr and is still specialised."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitwatch.lint.length_rule import SpecialisedLengthRule
from jitwatch.lint.rule import Invalid, Valid

if TYPE_CHECKING:
    from jitwatch.source.lengths import Judgement
    from jitwatch.source.model import Kernel, Parameter


class HalfDemotedLength(SpecialisedLengthRule):
    """Finish the demotion of a constexpr length: opt it out as well.

    ## What it does
    Finds run-time lengths in a constexpr's spelling (`NUM_TOKENS`, beside constexprs in capitals) that are
    specialised.

    ## Why is this bad?
    Removing `tl.constexpr` turns a compile for every value into one for each class: the value 1, multiples of
    16, all others, times the classes of the other arguments. Of 118 public demotions 54 stopped there, and the
    stall that remains is rarer and so harder to find.

    ## Example
    ```python
    @triton.jit
    def fill(x, NUM_TOKENS, BLOCK: tl.constexpr):
        ...
    ```

    ## Use instead
    ```python
    @triton.jit(do_not_specialize=["NUM_TOKENS"])
    def fill(x, NUM_TOKENS, BLOCK: tl.constexpr):
        ...
    ```

    ## Fix safety
    As for `JW001`: safe where the argument stays among scalars, else unsafe.
    """

    code = "JW014"
    name = "half-demoted-length"
    VALID = (
        Valid(
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["NUM_TOKENS"])
            def fill(x, NUM_TOKENS, BLOCK: tl.constexpr):
                for row in range(NUM_TOKENS):
                    tl.store(x + row * BLOCK + tl.arange(0, BLOCK), 0.0)
            """
        ),
    )
    INVALID = (
        Invalid(
            """\
            import triton
            import triton.language as tl

            @triton.jit
            def fill(x, NUM_TOKENS, BLOCK: tl.constexpr):
                for row in range(NUM_TOKENS):
                    tl.store(x + row * BLOCK + tl.arange(0, BLOCK), 0.0)
            """,
            (
                (
                    5,
                    13,
                    (
                        "`NUM_TOKENS` of `fill` is a length (by its name) that is no constexpr, as its "
                        "spelling promises, but still specialised: 1, multiples of 16 and all other "
                        "values compile apart"
                    ),
                ),
            ),
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["NUM_TOKENS"])
            def fill(x, NUM_TOKENS, BLOCK: tl.constexpr):
                for row in range(NUM_TOKENS):
                    tl.store(x + row * BLOCK + tl.arange(0, BLOCK), 0.0)
            """,
        ),
    )

    def message(self, kernel: Kernel, parameter: Parameter, judgement: Judgement) -> str:
        """What is wrong with this length."""
        from jitwatch.source import wording

        what = wording.what(judgement) + wording.origin(judgement)
        return (
            f"`{parameter.name}` of `{kernel.name}` is {what} that is no constexpr, as "
            "its spelling promises, but still specialised: 1, multiples of 16 and all other values compile apart"
        )
