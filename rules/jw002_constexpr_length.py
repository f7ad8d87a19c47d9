"""JW002: a length passed as tl.constexpr."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from jitwatch.lint.finding import Applicability, Finding
from jitwatch.lint.rule import Invalid, Rule, Valid

if TYPE_CHECKING:
    from jitwatch.source.lengths import Judgement
    from jitwatch.source.model import Kernel, Module, Parameter, Project


class ConstexprLength(Rule):
    """Pass a length as an ordinary argument, not as `tl.constexpr`.

    ## What it does
    Finds `tl.constexpr` parameters that follow the size of a request, by what the launches pass and by their
    name, helpers that take such a constexpr over from a kernel, sizes of caches and pools, and widths of page tables.

    ## Why is this bad?
    A constexpr is part of the compile key with its value: every new token count is a compile of 60 ms and more,
    without end, and each variant stays in memory. Traffic with varying lengths keeps the program compiling for
    hours.

    ## Known problems
    A constexpr divisor is cheaper than a run-time one, and a training job may see one length for ever: then the
    constexpr is right, and a comment that says so suppresses the finding.

    ## Example
    ```python
    @triton.jit
    def cumsum(x, T: tl.constexpr, BLOCK: tl.constexpr):
        for start in range(0, T, BLOCK):
            ...
    ```

    ## Use instead
    ```python
    @triton.jit(do_not_specialize=["T"])
    def cumsum(x, T, BLOCK: tl.constexpr):
        for start in range(0, T, BLOCK):
            ...
    ```
    Removing `tl.constexpr` alone is half the way: the argument is specialised then (`JW014`). A length that
    shapes a tensor or an unrolled loop cannot simply become a run-time value: loop over fixed tiles, or pass a
    bucket (a power of two) as the constexpr and the length as a bound.

    ## Fix safety
    Unsafe: it takes `tl.constexpr` off and names the argument in `do_not_specialize` (one that bounds the axis
    contiguous in memory stays specialised). A product that was folded at compile time is computed in 32 bits
    then, and can overflow. Safe where the length is only compared with a program id or a loaded scalar, and every
    launch is seen and passes an int (numpy's are constexprs, but no arguments). There is no fix where the kernel, a
    helper or a launch needs the value at compile time.

    ## References
    - flash-linear-attention pull request 669, vLLM pull request 25432: `T` and `N` demoted from constexpr
    - TensorRT-LLM pull request 7495: a constexpr token count cost 14 % of throughput
    """

    code = "JW002"
    name = "constexpr-length"
    VALID = (
        Valid(
            """\
            import triton
            import triton.language as tl

            @triton.jit
            def norm(x, n_rows, HIDDEN: tl.constexpr, num_heads: tl.constexpr, eps: tl.constexpr, BLOCK: tl.constexpr):
                columns = tl.arange(0, BLOCK)
                mask = columns < HIDDEN
                value = tl.load(x + tl.program_id(0) * HIDDEN + columns, mask)
                tl.store(x + tl.program_id(0) * HIDDEN + columns, value + eps + num_heads, mask)

            def launch(x):
                rows, hidden = x.shape
                norm[(rows,)](x, 4, HIDDEN=hidden, num_heads=8, eps=1e-6, BLOCK=triton.next_power_of_2(hidden))
            """
        ),
        Valid(
            """\
            import triton
            import triton.language as tl

            @triton.autotune(configs=[triton.Config({"BLOCK_T": 32}), triton.Config({"BLOCK_T": 64})], key=["D"])
            @triton.jit(do_not_specialize=["T"])
            def fill(x, T, D: tl.constexpr, BLOCK_T: tl.constexpr):
                for start in range(0, T, BLOCK_T):
                    tl.store(x + start * D + tl.arange(0, BLOCK_T), 0.0)
            """
        ),
        Valid(
            """\
            import triton
            import triton.language as tl

            @triton.jit
            def copy(x, weight, rows: tl.constexpr, BLOCK: tl.constexpr):
                for row in range(rows):
                    tl.store(x + row, tl.load(weight + row))

            def launch(x, weight):
                copy[(1,)](x, weight, rows=weight.shape[0], BLOCK=16)
            """
        ),
    )
    INVALID = (
        Invalid(
            """\
            import triton
            import triton.language as tl

            @triton.jit
            def cumsum(x, T: tl.constexpr, BLOCK: tl.constexpr):
                for start in range(0, T, BLOCK):
                    tl.store(x + start + tl.arange(0, BLOCK), 0.0)

            def launch(x):
                B, T, H = x.shape
                cumsum[(B,)](x, T=T, BLOCK=64)
            """,
            (
                (
                    5,
                    15,
                    (
                        "`T` of `cumsum` is a length (`T = x.shape[1]`) declared tl.constexpr: every "
                        "new value compiles again"
                    ),
                ),
            ),
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["T"])
            def cumsum(x, T, BLOCK: tl.constexpr):
                for start in range(0, T, BLOCK):
                    tl.store(x + start + tl.arange(0, BLOCK), 0.0)

            def launch(x):
                B, T, H = x.shape
                cumsum[(B,)](x, T=T, BLOCK=64)
            """,
        ),
        Invalid(
            """\
            import triton
            import triton.language as tl

            @triton.jit
            def rows(x, num_seqs: tl.constexpr, W: tl.constexpr):
                sequence = tl.program_id(0) % num_seqs
                tl.store(x + sequence * W + tl.arange(0, W), 0.0)
            """,
            (
                (
                    5,
                    13,
                    (
                        "`num_seqs` of `rows` is a length (by its name) declared tl.constexpr: every "
                        "new value compiles again"
                    ),
                ),
            ),
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["num_seqs"])
            def rows(x, num_seqs, W: tl.constexpr):
                sequence = tl.program_id(0) % num_seqs
                tl.store(x + sequence * W + tl.arange(0, W), 0.0)
            """,
        ),
        Invalid(
            """\
            import triton
            import triton.language as tl

            @triton.jit
            def insert(pages, num_blocks: tl.constexpr):
                block = tl.program_id(0)
                if block < num_blocks:
                    tl.store(pages + block, 0.0)

            def launch(pages, kv_cache):
                insert[(8,)](pages, num_blocks=kv_cache.shape[0])
            """,
            (
                (
                    5,
                    19,
                    (
                        "`num_blocks` of `insert` is the size of a pool (`kv_cache.shape[0]`) declared "
                        "tl.constexpr: every deployment with another one compiles its own"
                    ),
                ),
            ),
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["num_blocks"])
            def insert(pages, num_blocks):
                block = tl.program_id(0)
                if block < num_blocks:
                    tl.store(pages + block, 0.0)

            def launch(pages, kv_cache):
                insert[(8,)](pages, num_blocks=kv_cache.shape[0])
            """,
        ),
    )

    def check(self, module: Module, project: Project) -> Iterator[Finding]:
        """Yield a finding for each length among the constexprs."""
        from jitwatch.source.remedies import constexpr_lengths, takes_length

        for kernel in project.kernels.get(module.path, ()):
            is_helper = kernel.key in project.helpers
            for parameter, judgement in constexpr_lengths(project, kernel):
                if not is_helper or takes_length(project, kernel, parameter.name):
                    yield self._finding(module, kernel, parameter, judgement)

    def _finding(self, module: Module, kernel: Kernel, parameter: Parameter, judgement: Judgement) -> Finding:
        from jitwatch.fix.changes import Change
        from jitwatch.source import remedies, wording
        from jitwatch.source.model import Origin

        where = wording.origin(judgement)
        if judgement.origin is Origin.POOL:
            what, cost = f"the size of a pool{where}", "every deployment with another one compiles its own"
        elif judgement.origin is Origin.ROW:
            what, cost = f"the width of a table{where}", "every table of another width compiles its own"
        else:
            what, cost = f"a length{where}", "every new value compiles again"
        return self.finding(
            module,
            parameter.span,
            f"`{parameter.name}` of `{kernel.name}` is {what} declared tl.constexpr: {cost}",
            kernel=kernel.name,
            parameter=parameter.name,
            remedy=wording.demotion_advice(kernel, parameter),
            applicability=Applicability.UNSAFE,
            change=Change(kernel.key, parameter.name, remedies.demotion(kernel, parameter)),
        )
