"""JW003: a length in the key of an autotuner."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from jitwatch.lint.finding import Applicability, Finding
from jitwatch.lint.rule import Invalid, Rule, Valid

if TYPE_CHECKING:
    from jitwatch.source.lengths import Judgement
    from jitwatch.source.model import Kernel, Module, Parameter, Project


class LengthInAutotuneKey(Rule):
    """Tune once for a bucket of lengths, not once for every length.

    ## What it does
    Finds entries of an autotuner's `key` that are a length, or were computed from one, and can take any value.

    ## Why is this bad?
    The key holds the values as they are: at 17 tokens and again at 18 every configuration is benchmarked, in
    the middle of a request. The cache of compiled variants shows none of it, since no kernel is compiled anew:
    a tuning storm causes no cache miss at all.

    ## Known problems
    Whether one configuration is best for all lengths is for a measurement to say. A deliberate key, in a job
    with few lengths, deserves a suppressing comment.

    ## Example
    ```python
    @triton.autotune(configs=CONFIGS, key=["M", "N", "K"])
    @triton.jit
    def matmul(a, b, c, M, N, K, BLOCK: tl.constexpr):
        ...
    ```

    ## Use instead
    ```python
    @triton.autotune(configs=CONFIGS, key=["M_BUCKET", "N", "K"])
    @triton.jit(do_not_specialize=["M_BUCKET"])
    def matmul(a, b, c, M, N, K, M_BUCKET, BLOCK: tl.constexpr):
        ...

    matmul[grid](a, b, c, M, N, K, M_BUCKET=triton.next_power_of_2(M))
    ```
    Or leave the length out of the key.

    ## Fix safety
    Unsafe: it leaves the length out of the key, so that the configuration which wins at the first length serves
    all of them.

    ## References
    - flash-linear-attention pull request 535, lmdeploy pull request 1353, gemlite commit 8f4372986e
    - flash-linear-attention pull request 1041: a bucket in the key
    """

    code = "JW003"
    name = "length-in-autotune-key"
    observed_as = "tuning"
    VALID = (
        Valid(
            """\
            import triton
            import triton.language as tl

            @triton.autotune([triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64})], key=["M_BUCKET", "K"])
            @triton.jit(do_not_specialize=["M", "M_BUCKET"])
            def matmul(a, M, K, M_BUCKET, BLOCK: tl.constexpr):
                for row in range(M):
                    tl.store(a + row * K + tl.arange(0, BLOCK), 0.0)

            def launch(a):
                M, K = a.shape
                matmul[(1,)](a, M, K, M_BUCKET=triton.next_power_of_2(M))
            """
        ),
        Valid(
            """\
            import triton
            import triton.language as tl

            @triton.autotune(configs=[triton.Config({"BLOCK": 32})], key=["M"])
            @triton.jit(do_not_specialize=["M"])
            def one_configuration(a, M, BLOCK: tl.constexpr):
                for row in range(M):
                    tl.store(a + row * BLOCK + tl.arange(0, BLOCK), 0.0)
            """
        ),
    )
    INVALID = (
        Invalid(
            """\
            import triton
            import triton.language as tl

            @triton.autotune(configs=[triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64})], key=["M", "K"])
            @triton.jit(do_not_specialize=["M"])
            def matmul(a, M, K, BLOCK: tl.constexpr):
                for row in range(M):
                    tl.store(a + row * K + tl.arange(0, BLOCK), 0.0)

            def launch(a):
                M, K = a.shape
                matmul[(1,)](a, M, K)
            """,
            (
                (
                    4,
                    93,
                    (
                        "`M` in the key of `matmul` is a length (`M = a.shape[0]`): every new value "
                        "benchmarks all 2 configurations again; its opt-out spares the compiles, not "
                        "the benchmarks"
                    ),
                ),
            ),
            """\
            import triton
            import triton.language as tl

            @triton.autotune(configs=[triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64})], key=["K"])
            @triton.jit(do_not_specialize=["M"])
            def matmul(a, M, K, BLOCK: tl.constexpr):
                for row in range(M):
                    tl.store(a + row * K + tl.arange(0, BLOCK), 0.0)

            def launch(a):
                M, K = a.shape
                matmul[(1,)](a, M, K)
            """,
        ),
    )

    def check(self, module: Module, project: Project) -> Iterator[Finding]:
        """Yield a finding for each length in a key."""
        from jitwatch.source.remedies import keyed_lengths

        for kernel in project.kernels_in(module.path):
            for parameter, judgement, configurations in keyed_lengths(project, kernel):
                yield self._finding(module, kernel, parameter, judgement, configurations)

    def _finding(
        self,
        module: Module,
        kernel: Kernel,
        parameter: Parameter,
        judgement: Judgement,
        configurations: int | None,
    ) -> Finding:
        from jitwatch.fix.changes import Change, Kind
        from jitwatch.source import lengths, wording

        count = f"all {configurations} configurations" if configurations else "every configuration"
        compiled = ", and compiles them, since it is a constexpr" if parameter.is_constexpr else ""
        if lengths.is_opted_out(kernel, parameter):
            compiled = "; its opt-out spares the compiles, not the benchmarks"
        return self.finding(
            module,
            wording.entry_span(kernel, "key", parameter),
            f"`{parameter.name}` in the key of `{kernel.name}` is a length{wording.origin(judgement)}: every new value "
            f"benchmarks {count} again{compiled}",
            kernel=kernel.name,
            parameter=parameter.name,
            remedy=f"put a bucket into the key, such as next_power_of_2({parameter.name}) passed under its own name "
            "and opted out, or leave it out of the key",
            applicability=Applicability.UNSAFE,
            change=Change(kernel.key, parameter.name, Kind.LEAVE_KEY),
        )
