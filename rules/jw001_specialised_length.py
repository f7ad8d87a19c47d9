"""JW001: a length that splits the kernel into variants for nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitwatch.lint.length_rule import SpecialisedLengthRule
from jitwatch.lint.rule import Invalid, Valid

if TYPE_CHECKING:
    from jitwatch.source.lengths import Judgement
    from jitwatch.source.model import Kernel, Parameter


class SpecialisedLength(SpecialisedLengthRule):
    """Keep a length out of the compile key when its divisibility buys nothing.

    ## What it does
    Finds run-time parameters that follow the size of a request (a token count, a batch, a sequence length, the
    width of a block table) and that are specialised, in kernels whose loads and stores do not need it.

    ## Why is this bad?
    Triton compiles a kernel apart for the value 1, for multiples of 16 and for all other values of each integer
    argument. The first request of an unseen class waits for a compile: 60 to 700 ms measured for kernels of a
    few dozen lines. Several lengths multiply. Where the length only bounds whole rows, counts a loop or picks a
    row, the compiled code is the same: masking rows by an opted-out count measured 255 us against 256 us.

    ## Known problems
    A length that masks the axis contiguous in memory is left alone, since vectorised loads need its
    divisibility; `JW008` finds those that were opted out all the same. Where a list of opt-outs is not written
    out, the kernel is left alone. What a name alone suggests is used only where no launch is found in the
    linted files.

    ## Example
    ```python
    @triton.jit
    def scale_rows(x, out, num_tokens, WIDTH: tl.constexpr):
        row = tl.program_id(0)
        if row < num_tokens:
            ...
    ```

    ## Use instead
    ```python
    @triton.jit(do_not_specialize=["num_tokens"])
    def scale_rows(x, out, num_tokens, WIDTH: tl.constexpr):
        ...
    ```
    Or put the count into the grid and drop the argument; or, where the value 1 must stay special,
    `do_not_specialize_on_alignment` (Triton 3.2 and later).

    ## Fix safety
    Safe where the length stays among scalars: it is compared with a program id or a loaded number, and only guards
    a branch, masks whole accesses, or enters a scalar that is stored. Nothing that decides the width of an access
    depends on it then. Else unsafe, a loop's count included: `--fix --verify` compiles both forms and compares them.

    ## References
    - vLLM pull request 42849: one `num_tokens` opted out after stalls at serving time
    - helion pull request 2426: opting out of everything cost up to half the speed of memory-bound kernels
    """

    code = "JW001"
    name = "specialised-length"
    VALID = (
        Valid(
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["num_tokens"])
            def scale_rows(x, out, num_tokens, WIDTH: tl.constexpr):
                row = tl.program_id(0)
                columns = tl.arange(0, WIDTH)
                if row < num_tokens:
                    tl.store(out + row * WIDTH + columns, tl.load(x + row * WIDTH + columns) * 2)
            """
        ),
        Valid(
            """\
            import triton
            import triton.language as tl

            # The mask runs along memory: the vectorised load needs to know that n is divisible.
            @triton.jit
            def add(x, y, out, n_elements, BLOCK: tl.constexpr):
                offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
                mask = offsets < n_elements
                tl.store(out + offsets, tl.load(x + offsets, mask) + tl.load(y + offsets, mask), mask)

            def launch(x, y, out):
                add[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), BLOCK=1024)
            """
        ),
        Valid(
            """\
            import triton
            import triton.language as tl

            @triton.jit
            def scale(x, num_heads, head_dim, eps, stride_row, BLOCK: tl.constexpr):
                row = tl.program_id(0)
                if row < num_heads:
                    tl.store(x + row * stride_row + head_dim, eps)
            """
        ),
        Valid(
            """\
            import triton
            import triton.language as tl

            import cutlass.cute as cute

            @cute.jit
            def scale(x, num_tokens):
                if num_tokens > 1:
                    x[0] = 0
            """
        ),
        Valid(
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=LENGTHS)
            def scale(x, num_tokens):
                if tl.program_id(0) < num_tokens:
                    tl.store(x + tl.program_id(0), 0.0)
            """
        ),
    )
    INVALID = (
        Invalid(
            """\
            import triton
            import triton.language as tl

            @triton.jit  # hot
            def scale_rows(x, out, num_tokens, WIDTH: tl.constexpr):
                row = tl.program_id(0)
                columns = tl.arange(0, WIDTH)
                if row < num_tokens:
                    tl.store(out + row * WIDTH + columns, tl.load(x + row * WIDTH + columns) * 2)
            """,
            (
                (
                    5,
                    24,
                    (
                        "`num_tokens` of `scale_rows` is a length (by its name) and specialised: 1, "
                        "multiples of 16 and all other values compile apart, yet it only bounds a mask"
                    ),
                ),
            ),
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["num_tokens"])  # hot
            def scale_rows(x, out, num_tokens, WIDTH: tl.constexpr):
                row = tl.program_id(0)
                columns = tl.arange(0, WIDTH)
                if row < num_tokens:
                    tl.store(out + row * WIDTH + columns, tl.load(x + row * WIDTH + columns) * 2)
            """,
        ),
        Invalid(
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["a"], debug=False)
            def count(x, a, n, WIDTH: tl.constexpr):
                for row in range(a, n):
                    tl.store(x + row * WIDTH + tl.arange(0, WIDTH), 0.0)

            def launch(x):
                n, width = x.shape
                count[(1,)](x, 3, n, WIDTH=width)
            """,
            (
                (
                    5,
                    17,
                    (
                        "`n` of `count` is a length (`n = x.shape[0]`) and specialised: 1, multiples of "
                        "16 and all other values compile apart, yet it only counts a loop"
                    ),
                ),
            ),
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["a", "n"], debug=False)
            def count(x, a, n, WIDTH: tl.constexpr):
                for row in range(a, n):
                    tl.store(x + row * WIDTH + tl.arange(0, WIDTH), 0.0)

            def launch(x):
                n, width = x.shape
                count[(1,)](x, 3, n, WIDTH=width)
            """,
        ),
    )

    def message(self, kernel: Kernel, parameter: Parameter, judgement: Judgement) -> str:
        """What is wrong with this length."""
        from jitwatch.source import wording

        return (
            f"`{parameter.name}` of `{kernel.name}` is a length{wording.origin(judgement)} and specialised: "
            f"1, multiples of 16 and all other values compile apart, yet it only {wording.uses(parameter)}"
        )
