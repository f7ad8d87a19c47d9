"""JW008: an opt-out that narrows the kernel loads and stores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from jitwatch.lint.finding import Finding
from jitwatch.lint.rule import Invalid, Rule, Valid

if TYPE_CHECKING:
    from jitwatch.source.model import Kernel, Module, Parameter, Project


class OptOutCostsVectorisation(Rule):
    """Keep the divisibility that vectorised loads and stores need.

    ## What it does
    Finds parameters in `do_not_specialize` or `do_not_specialize_on_alignment` that bound the axis which is
    contiguous in memory, multiply the row index of such an access, or are added to its address.

    ## Why is this bad?
    A load of eight bf16 values at once needs to know that the mask is the same for all eight, and that each row
    starts on a multiple of 16 bytes. Both follow from `% 16 == 0`, which the opt-out throws away. Adding two
    vectors of 2^28 bf16 on an H200 takes 372 us with it and 1031 us without; a row stride takes the width from
    8 to 1. It is the commonest way to make a program slower while making it recompile less.

    ## Known problems
    A kernel bound by its launch (a few hundred elements) does not notice. Kernels that stream mostly
    indices and lengths, by the names of their pointers, are left alone, and so are lengths that a kernel
    replaces by one it loads.

    ## Example
    ```python
    @triton.jit(do_not_specialize=["n"])
    def add(x, y, out, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + offsets, tl.load(x + offsets, offsets < n), offsets < n)
    ```

    ## Use instead
    ```python
    @triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
    @triton.jit(do_not_specialize=["n"])
    def add(x, y, out, n, EVEN: tl.constexpr, BLOCK: tl.constexpr):
        ...  # no mask where EVEN
    ```
    Or leave the parameter specialised: it makes two variants, or three, and no more. A stride that is a
    multiple of 16 whatever the length can be passed divided by 16.

    ## References
    - helion pull request 2426: the blanket opt-out taken back (layer_norm 1.42x to 0.72x)
    - aiter pull requests 2427 and 2482: a GEMM store from 4-wide to scalar, repaired by an EVEN heuristic
    """

    code = "JW008"
    name = "opt-out-costs-vectorisation"
    VALID = (
        Valid(
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["n_rows"])
            def scale_rows(x, n_rows, stride, WIDTH: tl.constexpr):
                rows = tl.program_id(0) * 4 + tl.arange(0, 4)
                columns = tl.arange(0, WIDTH)
                at = x + rows[:, None] * stride + columns[None, :]
                tl.store(at, tl.load(at, mask=rows[:, None] < n_rows) * 2, mask=rows[:, None] < n_rows)
            """
        ),
        Valid(
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["num_reqs"])
            def slots(slot_mapping, query_start_loc, num_reqs, BLOCK: tl.constexpr):
                offsets = tl.arange(0, BLOCK)
                mask = offsets < num_reqs
                tl.store(slot_mapping + offsets, tl.load(query_start_loc + offsets, mask=mask), mask=mask)
            """
        ),
        Valid(
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["T"])
            def fill(x, cu_seqlens, T, IS_VARLEN: tl.constexpr, BLOCK: tl.constexpr):
                if IS_VARLEN:
                    T = tl.load(cu_seqlens + 1)
                offsets = tl.arange(0, BLOCK)
                tl.store(x + offsets, 0.0, mask=offsets < T)
            """
        ),
        Valid(
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["start"])
            def copy(x, y, start, BLOCK: tl.constexpr):
                tl.store(y + start, tl.load(x + start))
            """
        ),
    )
    INVALID = (
        Invalid(
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["n"])
            def add(x, y, n, BLOCK: tl.constexpr):
                offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
                mask = offsets < n
                tl.store(y + offsets, tl.load(x + offsets, mask=mask), mask=mask)
            """,
            (
                (
                    4,
                    32,
                    (
                        "`do_not_specialize` of `add` lists `n`, which bounds the axis contiguous in "
                        "memory: without its divisibility by 16 the accesses to `x` and `y` lose their "
                        "vector width"
                    ),
                ),
            ),
        ),
        Invalid(
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize_on_alignment=["stride"])
            def scale(x, stride, n, WIDTH: tl.constexpr):
                columns = tl.arange(0, WIDTH)
                at = x + tl.program_id(0) * stride + columns
                tl.store(at, tl.load(at) * n)
            """,
            (
                (
                    4,
                    45,
                    (
                        "`do_not_specialize_on_alignment` of `scale` lists `stride`, which sets where "
                        "each row starts: without its divisibility by 16 the accesses to `x` lose their "
                        "vector width"
                    ),
                ),
            ),
        ),
    )

    def check(self, module: Module, project: Project) -> Iterator[Finding]:
        """Yield a finding for each listed parameter whose divisibility is needed."""
        from jitwatch.source.lengths import ON_ALIGNMENT, OPT_OUT
        from jitwatch.source.remedies import costs_width

        for kernel in project.kernels_in(module.path):
            found = {
                parameter.name: (keyword, parameter)
                for keyword in (ON_ALIGNMENT, OPT_OUT)
                for parameter in kernel.listed(keyword)
                if costs_width(kernel, parameter)
            }
            for keyword, parameter in found.values():
                yield self._finding(module, kernel, keyword, parameter)

    def _finding(self, module: Module, kernel: Kernel, keyword: str, parameter: Parameter) -> Finding:
        from jitwatch.source import wording

        return self.finding(
            module,
            wording.entry_span(kernel, keyword, parameter),
            f"`{keyword}` of `{kernel.name}` lists `{parameter.name}`, which {wording.need(parameter)}: without its "
            f"divisibility by 16 the accesses to {wording.streams(kernel)} lose their vector width",
            kernel=kernel.name,
            parameter=parameter.name,
            remedy=wording.keep_advice(parameter),
        )
