"""JW200: a recompile that a profiled run shows and the source alone does not."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from jitwatch.lint.finding import Applicability, Finding
from jitwatch.lint.rule import Rule, Valid

if TYPE_CHECKING:
    from jitwatch.lint.evidence import Cause, Recording
    from jitwatch.source.model import Kernel, Module, Project


CAUSES = {
    "argument": "`{}`",
    "option": "the option `{}`",
    "option_spelling": "an option spelled differently",
    "function": "another function object",
}
"""What a run names as a cause and a change of the source can end, in words."""


class ObservedRecompile(Rule):
    """Look at what made a kernel recompile in a run, where the source gives no hint of it.

    ## What it does
    With `--profile RUN`, adds what the run recorded and no other rule found: the argument or launch option that
    made a kernel recompile, how often, and what it cost. Without a run it finds nothing.

    ## Why is this bad?
    Each of these recompiles held a launch up for the time of a compile, in a program that really ran. What
    reaches a launch through a configuration file, another package or an unaligned view is not to be seen in
    the source.

    ## Known problems
    A run shows what its load happened to contain. A recompile with two causes counts for both.

    ## Example
    ```python
    @triton.jit
    def shift(x, amount):  # the run: x: aligned → unaligned (address % 16 = 4)
        ...
    ```

    ## Use instead
    ```python
    @triton.jit(do_not_specialize_on_alignment=["x"])
    def shift(x, amount):
        ...
    ```
    """

    code = "JW200"
    name = "observed-recompile"
    needs_run = True
    VALID = (
        Valid(
            """\
            import triton

            @triton.jit
            def shift(x, amount):
                pass
            """
        ),
    )

    def check(self, module: Module, project: Project) -> Iterator[Finding]:
        """Find nothing: it takes a run."""
        yield from ()

    def check_run(
        self, module: Module, project: Project, recording: Recording, found: Collection[Finding]
    ) -> Iterator[Finding]:
        """Yield a finding for each cause in the run that no other finding is about."""
        for kernel in module.kernels:
            explained = {
                (finding.parameter, evidence.example)
                for finding in found
                if finding.kernel == kernel.name and (evidence := recording.evidence(finding))
            }
            for cause in recording.causes(module.path, kernel.name):
                known = {(cause.name, cause.evidence.example), (None, cause.evidence.example)}
                if cause.subject in CAUSES and explained.isdisjoint(known):
                    yield self._finding(module, kernel, cause, recording)

    def _finding(self, module: Module, kernel: Kernel, cause: Cause, recording: Recording) -> Finding:
        from jitwatch.source.lengths import is_opted_out

        parameter = kernel.parameter(cause.name) if cause.subject == "argument" else None
        remedy = recording.remedy(module.path, kernel.name, cause.name)
        opted_out = parameter is None or is_opted_out(kernel, parameter)
        change = None if opted_out else recording.change(kernel, cause.name)
        finding = self.finding(
            module,
            parameter.span if parameter else kernel.span,
            f"`{kernel.name}` recompiled in the run because of {CAUSES[cause.subject].format(cause.name)}, "
            "of which the source gives no hint",
            kernel=kernel.name,
            parameter=parameter.name if parameter else None,
            remedy=remedy or "`jitwatch report` on the run shows every miss, with values and launches",
            applicability=Applicability.UNSAFE if change else Applicability.DISPLAY,
            change=change,
        )
        return replace(finding, evidence=cause.evidence)
