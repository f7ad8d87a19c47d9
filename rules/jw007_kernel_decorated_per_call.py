"""JW007: a kernel that is decorated again at every call of the function around it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from jitwatch.lint.finding import Finding
from jitwatch.lint.rule import Invalid, Rule, Valid

if TYPE_CHECKING:
    from jitwatch.source.model import Kernel, Module, Project


class KernelDecoratedPerCall(Rule):
    """Decorate a kernel once, not at every call of the function around it.

    ## What it does
    Finds `@triton.jit` functions, and `triton.jit(f)` calls, inside a function that launches the kernel too,
    and so builds it anew each time it runs. Functions that keep what they build are fine: `functools.cache`
    and `lru_cache`, a module global that is filled once, a dictionary. So are tests and `main`, which run once.

    ## Why is this bad?
    The in-memory cache of compiled variants belongs to the decorated function object. A new object starts with
    an empty one, so that every launch through it misses: a read of the disk cache, some 2 ms, at best, and a
    whole compile of 70 ms and more where the disk cache is cold or the source differs by a captured value. The
    old object's compiled code is not freed while a reference to it lives.

    ## Known problems
    A function that returns the kernel it builds is left alone, even where its callers do not keep it.

    ## Example
    ```python
    def scale(x, factor):
        @triton.jit
        def kernel(x, n, factor, BLOCK: tl.constexpr):
            ...
        kernel[grid](x, x.numel(), factor, BLOCK=1024)
    ```

    ## Use instead
    ```python
    @triton.jit
    def kernel(x, n, factor, BLOCK: tl.constexpr):
        ...

    def scale(x, factor):
        kernel[grid](x, x.numel(), factor, BLOCK=1024)
    ```
    """

    code = "JW007"
    name = "kernel-decorated-per-call"
    observed_as = "function"
    VALID = (
        Valid(
            """\
            import functools
            import triton

            @functools.lru_cache(maxsize=None)
            def make(dtype):
                @triton.jit
                def kernel(x, n):
                    pass
                return kernel
            """
        ),
        Valid(
            """\
            import triton

            KERNELS = {}

            def get(dtype):
                if dtype not in KERNELS:
                    @triton.jit
                    def kernel(x, n):
                        pass
                    KERNELS[dtype] = kernel
                return KERNELS[dtype]
            """
        ),
        Valid(
            """\
            import triton

            _kernel = None

            def get():
                global _kernel
                if _kernel is None:
                    @triton.jit
                    def kernel(x, n):
                        pass
                    _kernel = kernel
                return _kernel
            """
        ),
        Valid(
            """\
            import triton

            _kernel = None

            def make():
                @triton.jit
                def kernel(x, n):
                    pass
                return kernel

            def fill(x):
                global _kernel
                if _kernel is None:
                    _kernel = make()
                _kernel[(1,)](x, x.numel())
            """
        ),
        Valid(
            """\
            import triton

            class Kernels:
                @staticmethod
                @triton.jit
                def kernel(x, n):
                    pass
            """
        ),
        Valid(
            """\
            import triton

            def test_fill():
                @triton.jit
                def kernel(x, n):
                    pass
                kernel[(1,)](None, 1)
            """
        ),
    )
    INVALID = (
        Invalid(
            """\
            import triton

            def scale(x):
                @triton.jit
                def kernel(x, n):
                    pass
                kernel[(1,)](x, x.numel())
            """,
            (
                (
                    5,
                    9,
                    "`kernel` is decorated anew at every call of `scale`, with an empty cache of compiled "
                    "variants: each call's first launch is a miss",
                ),
            ),
        ),
    )

    def check(self, module: Module, project: Project) -> Iterator[Finding]:
        """Yield a finding for each kernel that a function builds anew."""
        from jitwatch.source.model import Memo

        for kernel in module.kernels:
            per_call = kernel.memo is Memo.PER_CALL and not _runs_once(kernel.enclosing or "")
            if per_call and _launched_where_built(kernel, module):
                yield self._finding(module, kernel)

    def _finding(self, module: Module, kernel: Kernel) -> Finding:
        return self.finding(
            module,
            kernel.span,
            f"`{kernel.name}` is decorated anew at every call of `{kernel.enclosing}`, with an empty cache of "
            "compiled variants: each call's first launch is a miss",
            kernel=kernel.name,
            remedy=f"move it to module level, or put functools.cache on `{kernel.enclosing}`",
        )


def _launched_where_built(kernel: Kernel, module: Module) -> bool:
    return any(
        launch.target == kernel.name and launch.function.rpartition(".")[2] == kernel.enclosing
        for launch in module.launches
    )


def _runs_once(function: str) -> bool:
    """Whether a function is a test or a script's entry, by its name."""
    return function.startswith("test") or function in ("main", "_main")
