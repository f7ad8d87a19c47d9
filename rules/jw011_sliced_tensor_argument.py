"""JW011: a view that starts at a run-time element, whose alignment splits the kernel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from jitwatch.lint.finding import Finding
from jitwatch.lint.rule import Invalid, Rule, Valid

if TYPE_CHECKING:
    from jitwatch.source.model import Kernel, LaunchValue, Module, Parameter, Project


class SlicedTensorArgument(Rule):
    """Do not let the start of a slice decide a pointer's alignment class.

    ## What it does
    Finds launches that pass a view which starts at a run-time element: `seq_lens[num_decodes:]`, `x[:,
    start:]`.

    ## Why is this bad?
    Triton specialises a pointer on whether its address is a multiple of 16 bytes. A new tensor's is; a view's
    is or is not, as the start happens to be. Both classes compile, and the second one shows up in the middle of
    serving.

    ## Known problems
    A slice of whole rows (`x[start:]` of a matrix) keeps the alignment where a row is a multiple of 16 bytes,
    and is not reported. Where the kernel reads vectors through the pointer, do not opt out: pass the tensor and
    the start.

    ## Example
    ```python
    kernel[grid](seq_lens[num_decodes:], out)
    ```

    ## Use instead
    ```python
    @triton.jit(do_not_specialize_on_alignment=["seq_lens"])
    def kernel(seq_lens, out):
        ...
    ```
    Or pass the whole tensor, and the start as an opted-out integer.

    ## Fix safety
    Safe, and made only, where each access through the pointer is of one element: an alignment matters to vectors
    alone. It needs Triton 3.2 or later, as the list does. Elsewhere the remedy is shown, and whether it costs is a
    question to the compiler.

    ## References
    - vLLM pull requests 57667 and 57669: offset views opted out of alignment
    """

    code = "JW011"
    name = "sliced-tensor-argument"
    VALID = (
        Valid(
            """\
            import triton
            import triton.language as tl

            @triton.jit
            def count(seq_lens, out):
                tl.store(out + tl.program_id(0), tl.load(seq_lens + tl.program_id(0)))

            def launch(x, seq_lens, out, num_decodes):
                count[(1,)](seq_lens[:num_decodes], out)
                count[(1,)](x[num_decodes:], out)
            """
        ),
        Valid(
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize_on_alignment=["seq_lens"])
            def count(seq_lens, out):
                tl.store(out + tl.program_id(0), tl.load(seq_lens + tl.program_id(0)))

            def launch(seq_lens, out, num_decodes):
                count[(1,)](seq_lens[num_decodes:], out)
            """
        ),
    )
    INVALID = (
        Invalid(
            """\
            import triton
            import triton.language as tl

            @triton.jit
            def count(seq_lens, out):
                tl.store(out + tl.program_id(0), tl.load(seq_lens + tl.program_id(0)))

            def launch(seq_lens, out, num_decodes):
                count[(1,)](seq_lens[num_decodes:], out)
            """,
            (
                (
                    9,
                    17,
                    (
                        "`count` gets `seq_lens[num_decodes:]` for `seq_lens`: its address is a "
                        "multiple of 16 bytes or not as the start happens to be, and both compile"
                    ),
                ),
            ),
            """\
            import triton
            import triton.language as tl

            @triton.jit(do_not_specialize_on_alignment=["seq_lens"])
            def count(seq_lens, out):
                tl.store(out + tl.program_id(0), tl.load(seq_lens + tl.program_id(0)))

            def launch(seq_lens, out, num_decodes):
                count[(1,)](seq_lens[num_decodes:], out)
            """,
        ),
        Invalid(
            """\
            import triton
            import triton.language as tl

            @triton.jit
            def copy(lengths, out, BLOCK: tl.constexpr):
                at = tl.arange(0, BLOCK)
                tl.store(out + at, tl.load(lengths + at))

            def launch(lengths, out, start):
                copy[(1,)](lengths[start:], out, BLOCK=64)
            """,
            (
                (
                    10,
                    16,
                    (
                        "`copy` gets `lengths[start:]` for `lengths`: its address is a multiple of 16 "
                        "bytes or not as the start happens to be, and both compile"
                    ),
                ),
            ),
        ),
    )

    def check(self, module: Module, project: Project) -> Iterator[Finding]:
        """Yield a finding for each moving view that a launch passes."""
        from jitwatch.source.lengths import is_opted_out

        for kernel in project.kernels_in(module.path):
            seen = set()
            for bound in project.launches_of(kernel):
                for name, value in bound.arguments.items():
                    parameter = kernel.parameter(name)
                    if (
                        value.offset
                        and name not in seen
                        and parameter
                        and not is_opted_out(kernel, parameter)
                    ):
                        seen.add(name)
                        yield self._finding(bound.launch.path, kernel, parameter, value)

    def _finding(self, path: str, kernel: Kernel, parameter: Parameter, value: LaunchValue) -> Finding:
        from jitwatch.fix.changes import Change, Kind
        from jitwatch.source.remedies import costs_width

        change: Change | None = Change(kernel.key, parameter.name, Kind.ALIGNMENT)
        remedy = f'do_not_specialize_on_alignment=["{parameter.name}"]'
        if costs_width(kernel, parameter):
            remedy = "the kernel reads vectors through it: pass the whole tensor, and the start as an integer"
            change = None
        return self.finding(
            path,
            value.span,
            f"`{kernel.name}` gets `{value.text}` for `{parameter.name}`: its address is a multiple of 16 bytes or "
            "not as the start happens to be, and both compile",
            kernel=kernel.name,
            parameter=parameter.name,
            remedy=remedy,
            change=change,
        )
