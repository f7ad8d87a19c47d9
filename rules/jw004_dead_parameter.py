"""JW004: a parameter that nothing reads, and that compiles all the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from jitwatch.lint.finding import Applicability, Finding
from jitwatch.lint.rule import Invalid, Rule, Valid

if TYPE_CHECKING:
    from jitwatch.source.lengths import Judgement
    from jitwatch.source.model import Kernel, Module, Parameter, Project


class DeadParameter(Rule):
    """Drop a parameter that the kernel does not read, or keep it out of the key.

    ## What it does
    Finds parameters whose value nothing in the kernel uses, not even in the jitted functions it is handed to,
    or that the kernel overwrites before reading, when what the launches pass for them varies.

    ## Why is this bad?
    The compile key is built from the signature, not from the code: each new value of a dead constexpr, and each
    new class of a dead integer, compiles the very same instructions again.

    ## Known problems
    A dead parameter may be there for the sake of an autotuner's key or a heuristic. It can stay, opted out.

    ## Example
    ```python
    @triton.jit
    def copy(x, y, batch: tl.constexpr, BLOCK: tl.constexpr):
        offsets = tl.arange(0, BLOCK)
        tl.store(y + offsets, tl.load(x + offsets))
    ```

    ## Use instead
    ```python
    @triton.jit
    def copy(x, y, BLOCK: tl.constexpr):
        ...
    ```

    ## Fix safety
    Unsafe: the parameter goes out of the signature and of every launch, and a launch outside the linted files
    would break. Where the kernel is used in another way, or no launch is seen, it stays and is opted out; that is
    safe for a run-time argument, since nothing reads it.

    ## References
    - flash-linear-attention pull request 764, vLLM pull request 25432, aiter pull requests 1233 and 2414: dead
      counts dropped
    """

    code = "JW004"
    name = "dead-parameter"
    VALID = (
        Valid(
            """\
            import triton
            import triton.language as tl

            @triton.jit
            def copy(x, y, n_rows, head_dim, BLOCK: tl.constexpr):
                offsets = tl.arange(0, BLOCK)
                tl.store(y + offsets, tl.load(x + offsets), mask=offsets < n_rows)
            """
        ),
        Valid(
            """\
            import triton
            import triton.language as tl

            @triton.jit
            def inner(x, n_tokens):
                if tl.program_id(0) < n_tokens:
                    tl.store(x, 0.0)

            @triton.jit(do_not_specialize=["n_tokens"])
            def outer(x, n_tokens):
                inner(x, n_tokens)
            """
        ),
        Valid(
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["T", "bucket"])
            def fill(x, T, bucket, IS_VARLEN: tl.constexpr, BLOCK: tl.constexpr):
                if IS_VARLEN:
                    T = tl.load(x)
                for start in range(0, T, BLOCK):
                    tl.store(x + start + tl.arange(0, BLOCK), 0.0)
            """
        ),
    )
    INVALID = (
        Invalid(
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["T"])
            def scale(x, T, n_rows, WIDTH: tl.constexpr):
                for row in range(T):
                    tl.store(x + row * WIDTH + tl.arange(0, WIDTH), 0.0)

            def launch(x, T):
                scale[(1,)](x, T, x.shape[0], WIDTH=64)  # one program
            """,
            (
                (
                    5,
                    17,
                    (
                        "nothing in `scale` reads `n_rows` (`x.shape[0]`), but 1, multiples of 16 and "
                        "all other values of it compile the same code apart"
                    ),
                ),
            ),
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["T"])
            def scale(x, T, WIDTH: tl.constexpr):
                for row in range(T):
                    tl.store(x + row * WIDTH + tl.arange(0, WIDTH), 0.0)

            def launch(x, T):
                scale[(1,)](x, T, WIDTH=64)  # one program
            """,
        ),
        Invalid(
            """\
            import triton
            import triton.language as tl

            @triton.jit
            def copy(x, y, batch: tl.constexpr, BLOCK: tl.constexpr):
                offsets = tl.arange(0, BLOCK)
                tl.store(y + offsets, tl.load(x + offsets))
            """,
            (
                (
                    5,
                    16,
                    (
                        "nothing in `copy` reads `batch` (by its name), but every new value of it "
                        "compiles the same code again"
                    ),
                ),
            ),
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["batch"])
            def copy(x, y, batch, BLOCK: tl.constexpr):
                offsets = tl.arange(0, BLOCK)
                tl.store(y + offsets, tl.load(x + offsets))
            """,
        ),
        Invalid(
            """\
            import triton
            import triton.language as tl

            @triton.jit
            def inner(x, unused):
                tl.store(x, 0.0)

            @triton.jit
            def outer(x, n_tokens):
                n_rows = tl.load(x)
                inner(x, n_tokens)

            def launch(x):
                outer[(1,)](x, x.shape[0])
            """,
            (
                (
                    9,
                    14,
                    (
                        "nothing in `outer` reads `n_tokens` (`x.shape[0]`), but 1, multiples of 16 and "
                        "all other values of it compile the same code apart"
                    ),
                ),
            ),
            """\
            import triton
            import triton.language as tl

            @triton.jit
            def inner(x, unused):
                tl.store(x, 0.0)

            @triton.jit(do_not_specialize=["n_tokens"])
            def outer(x, n_tokens):
                n_rows = tl.load(x)
                inner(x, n_tokens)

            def launch(x):
                outer[(1,)](x, x.shape[0])
            """,
        ),
        Invalid(
            """\
            import triton
            import triton.language as tl

            @triton.jit
            def fill(x, lengths, seq_len):
                seq_len = tl.load(lengths + tl.program_id(0))
                for row in range(seq_len):
                    tl.store(x + row, 0.0)
            """,
            (
                (
                    5,
                    22,
                    (
                        "`fill` overwrites `seq_len` (by its name) before reading it, but 1, multiples "
                        "of 16 and all other values of it compile the same code apart"
                    ),
                ),
            ),
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize=["seq_len"])
            def fill(x, lengths, seq_len):
                seq_len = tl.load(lengths + tl.program_id(0))
                for row in range(seq_len):
                    tl.store(x + row, 0.0)
            """,
        ),
    )

    def check(self, module: Module, project: Project) -> Iterator[Finding]:
        """Yield a finding for each dead parameter that varies."""
        from jitwatch.source.remedies import dead_parameters

        for kernel in project.kernels_in(module.path):
            for parameter, judgement in dead_parameters(project, kernel):
                yield self._finding(module, kernel, parameter, judgement)

    def _finding(self, module: Module, kernel: Kernel, parameter: Parameter, judgement: Judgement) -> Finding:
        from jitwatch.fix.changes import Change, Kind
        from jitwatch.source import lengths, wording
        from jitwatch.source.model import Role

        where = wording.origin(judgement) if judgement.varies else ""
        dead = f"nothing in `{kernel.name}` reads `{parameter.name}`{where}"
        if Role.OVERWRITTEN in parameter.roles:
            dead = f"`{kernel.name}` overwrites `{parameter.name}`{where} before reading it"
        cost = "1, multiples of 16 and all other values of it compile the same code apart"
        if parameter.is_constexpr:
            cost = "every new value of it compiles the same code again"
        kind = Kind.RUNTIME if parameter.is_constexpr else Kind.OPT_OUT
        unread = kind is Kind.OPT_OUT and parameter.roles is Role.NONE
        keep = Change(kernel.key, parameter.name, kind, unread=unread)
        change = Change(kernel.key, parameter.name, Kind.DROP, otherwise=keep)
        remedy = "drop the parameter"
        if lengths.is_tuned_on(kernel, parameter.name):
            remedy = "a decorator looks at it: keep it as a run-time argument named in do_not_specialize"
            change = keep
        return self.finding(
            module,
            parameter.span,
            f"{dead}, but {cost}",
            kernel=kernel.name,
            parameter=parameter.name,
            remedy=remedy,
            applicability=Applicability.UNSAFE,
            change=change,
        )
