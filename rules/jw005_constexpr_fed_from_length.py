"""JW005: a constexpr or a launch option computed from a length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from jitwatch.lint.finding import Applicability, Finding
from jitwatch.lint.rule import Invalid, Rule, Valid

if TYPE_CHECKING:
    from jitwatch.source.lengths import Judgement
    from jitwatch.source.model import Kernel, Module, Parameter, Project


LAUNCH_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")


class ConstexprFedFromLength(Rule):
    """Do not compute a constexpr or a launch option from a length, or bound the values it can take.

    ## What it does
    Finds launches that compute a `tl.constexpr` argument, or an option such as `num_warps`, from the size of a
    request, and heuristics that do. Says how many values there can be: any value, or one for each power of two.

    ## Why is this bad?
    A block count, a number of iterations or a tile size that follows the length is one more compile for each of
    its values. `cdiv(T, 64)` takes hundreds of values over the life of a server; `next_power_of_2(T)` some
    twenty.

    ## Known problems
    A power of two is often meant: the finding then says what has to be warmed up before traffic comes. Values
    bounded by a constant (`min(64, next_power_of_2(T))`) are not reported.

    ## Example
    ```python
    scan[grid](x, NUM_CHUNKS=triton.cdiv(T, 64), BLOCK=64)
    ```

    ## Use instead
    ```python
    # NUM_CHUNKS an ordinary parameter of the kernel, named in do_not_specialize
    scan[grid](x, num_chunks=triton.cdiv(T, 64), BLOCK=64)
    ```
    Or a bucket that is bounded: `min(1024, triton.next_power_of_2(T))`.

    ## Fix safety
    As for `JW002`, the constexpr becomes a run-time argument that is not specialised. There is no fix for a
    power of two, which is meant to size something in the code, or for an option of the launch.

    ## References
    - FlagGems pull request 862: `ceil_div(numel, num_experts)` as a constexpr
    - Liger-Kernel pull request 988: `ceil(n_rows / sm_count)` as a constexpr
    """

    code = "JW005"
    name = "constexpr-fed-from-length"
    VALID = (
        Valid(
            """\
            import triton
            import triton.language as tl

            @triton.jit
            def fill(x, BLOCK_T: tl.constexpr, BLOCK_D: tl.constexpr):
                tl.store(x + tl.arange(0, BLOCK_T), BLOCK_D)

            def launch(x):
                T, D = x.shape
                block_t = min(64, triton.next_power_of_2(T))
                fill[(T,)](x, BLOCK_T=block_t, BLOCK_D=triton.next_power_of_2(D), num_warps=8 if D > 64 else 4)
            """
        ),
        Valid(
            """\
            import triton
            import triton.language as tl

            @triton.heuristics({"EVEN": lambda args: args["n_rows"] % 16 == 0})
            @triton.jit(do_not_specialize=["n_rows"])
            def fill(x, n_rows, EVEN: tl.constexpr):
                if EVEN:
                    tl.store(x + n_rows, 0.0)
            """
        ),
    )
    INVALID = (
        Invalid(
            """\
            import triton
            import triton.language as tl

            @triton.jit
            def scan(x, NUM_CHUNKS: tl.constexpr, BLOCK: tl.constexpr):
                for chunk in range(NUM_CHUNKS):
                    tl.store(x + chunk * BLOCK + tl.arange(0, BLOCK), 0.0)

            def launch(x):
                T = x.shape[0]
                scan[(1,)](x, triton.cdiv(T, 64), BLOCK=triton.next_power_of_2(T), num_warps=triton.next_power_of_2(T))
            """,
            (
                (
                    11,
                    19,
                    (
                        "`NUM_CHUNKS` of `scan` is a constexpr computed from a length (`triton.cdiv(T, "
                        "64)`, by `T = x.shape[0]`): it can take any value, each a compile"
                    ),
                ),
                (
                    11,
                    45,
                    (
                        "`BLOCK` of `scan` is a constexpr computed from a length "
                        "(`triton.next_power_of_2(T)`, by `T = x.shape[0]`): a compile for each power "
                        "of two"
                    ),
                ),
                (
                    11,
                    82,
                    (
                        "option `num_warps` of `scan` is computed from a length "
                        "(`triton.next_power_of_2(T)`, by `T = x.shape[0]`): a compile for each power "
                        "of two"
                    ),
                ),
            ),
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["NUM_CHUNKS"])
            def scan(x, NUM_CHUNKS, BLOCK: tl.constexpr):
                for chunk in range(NUM_CHUNKS):
                    tl.store(x + chunk * BLOCK + tl.arange(0, BLOCK), 0.0)

            def launch(x):
                T = x.shape[0]
                scan[(1,)](x, triton.cdiv(T, 64), BLOCK=triton.next_power_of_2(T), num_warps=triton.next_power_of_2(T))
            """,
        ),
        Invalid(
            """\
            import triton
            import triton.language as tl

            @triton.heuristics({"GRID": lambda args: triton.cdiv(args["n_rows"], 64)})
            @triton.jit(do_not_specialize=["n_rows"])
            def fill(x, n_rows, GRID: tl.constexpr):
                tl.store(x + tl.program_id(0) % GRID, n_rows)
            """,
            (
                (
                    4,
                    42,
                    (
                        "`GRID` of `fill` is a constexpr computed from a length "
                        '(`triton.cdiv(args["n_rows"], 64)` in a heuristic): it can take any value, '
                        "each a compile"
                    ),
                ),
            ),
            """\
            import triton
            import triton.language as tl

            @triton.heuristics({"GRID": lambda args: triton.cdiv(args["n_rows"], 64)})
            @triton.jit(do_not_specialize=["n_rows", "GRID"])
            def fill(x, n_rows, GRID):
                tl.store(x + tl.program_id(0) % GRID, n_rows)
            """,
        ),
    )

    def check(self, module: Module, project: Project) -> Iterator[Finding]:
        """Yield a finding for each constexpr and each option that follows a length."""
        from jitwatch.source.remedies import fed_constexprs

        for kernel in project.kernels_in(module.path):
            for parameter, judgement in fed_constexprs(project, kernel):
                yield self._constexpr(module, kernel, parameter, judgement)
            yield from self._options(project, kernel)

    def _constexpr(
        self, module: Module, kernel: Kernel, parameter: Parameter, judgement: Judgement
    ) -> Finding:
        from jitwatch.fix.changes import Change
        from jitwatch.source import remedies, wording
        from jitwatch.source.model import Cardinality

        bucket = judgement.cardinality is Cardinality.LOG2  # its size is meant to be one of the code
        shown = judgement.settled or judgement.value
        return self.finding(
            judgement.launch.path if judgement.launch else module,
            shown.span if shown else parameter.span,
            f"`{parameter.name}` of `{kernel.name}` is a constexpr computed from a length{wording.origin(judgement)}: "
            f"{wording.compiles(judgement.cardinality)}",
            kernel=kernel.name,
            parameter=parameter.name,
            remedy=wording.feeding_advice(kernel, parameter, judgement),
            applicability=Applicability.DISPLAY if bucket else Applicability.UNSAFE,
            change=None
            if bucket
            else Change(kernel.key, parameter.name, remedies.demotion(kernel, parameter)),
        )

    def _options(self, project: Project, kernel: Kernel) -> Iterator[Finding]:
        from jitwatch.source import wording
        from jitwatch.source.lengths import VARYING, Judgement
        from jitwatch.source.model import Origin

        for bound in project.launches_of(kernel):
            for name, value in bound.options.items():
                if (
                    name in LAUNCH_OPTIONS
                    and value.origin in (Origin.LENGTH, Origin.DERIVED)
                    and value.cardinality in VARYING
                ):
                    judgement = Judgement(value.origin, value.cardinality, bound.launch, value)
                    yield self.finding(
                        bound.launch.path,
                        value.span,
                        f"option `{name}` of `{kernel.name}` is computed from a length{wording.origin(judgement)}: "
                        f"{wording.compiles(value.cardinality)}",
                        kernel=kernel.name,
                        remedy=f"choose {name} from a constant of the model, or from a few steps of the length",
                    )
