"""What the rules about specialised run-time lengths share: which they look at, and what they advise."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jitwatch.lint.finding import Applicability, Finding
from jitwatch.lint.rule import Rule

if TYPE_CHECKING:
    from jitwatch.source.lengths import Judgement
    from jitwatch.source.model import Kernel, Module, Parameter, Project


class SpecialisedLengthRule(Rule, abstract=True):
    """A rule that says of a specialised run-time length why to opt it out; `runtime_lengths` decides which says it."""

    @abstractmethod
    def message(self, kernel: Kernel, parameter: Parameter, judgement: Judgement) -> str:
        """What is wrong with this length."""

    def check(self, module: Module, project: Project) -> Iterator[Finding]:
        """Yield a finding for each length of the module's kernels that falls to this rule."""
        from jitwatch.fix.changes import Change, Kind
        from jitwatch.source import wording
        from jitwatch.source.remedies import runtime_lengths

        for kernel in project.kernels_in(module.path):
            for parameter, judgement in runtime_lengths(project, kernel, self.code):
                yield self.finding(
                    module,
                    parameter.span,
                    self.message(kernel, parameter, judgement),
                    kernel=kernel.name,
                    parameter=parameter.name,
                    remedy=wording.opt_out_advice(parameter),
                    applicability=Applicability.UNSAFE,
                    change=Change(kernel.key, parameter.name, Kind.OPT_OUT),
                )
