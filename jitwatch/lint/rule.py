"""The base class of a rule: code and name, documentation, the examples that are its tests, the check.

A rule is one file in ``rules/``, one class. To add one, write the class; the registry finds it,
`jitwatch rule` prints its docstring, the test suite runs its examples::

    class LengthInAutotuneKey(Rule):
        \"""Tune once, not once for every length.

        ## What it does
        ...
        \"""

        code = "JW003"
        name = "length-in-autotune-key"
        VALID = (Valid("..."),)
        INVALID = (Invalid("...", ((3, 5, "message"),), replacement="..."),)

        def check(self, module, project):
            yield self.finding(module, span, "message", kernel=..., parameter=..., remedy=...)
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from jitwatch.lint.finding import Applicability, Edit, Finding, Place

if TYPE_CHECKING:
    from jitwatch.fix.changes import Change
    from jitwatch.lint.evidence import Recording
    from jitwatch.lint.suppressions import Suppression
    from jitwatch.source.model import Module, Project, Span

HEADINGS = (
    "What it does",
    "Why is this bad?",
    "Known problems",
    "Example",
    "Use instead",
    "Fix safety",
    "References",
)
"""Sections of a rule's documentation, in this order; those in ``OPTIONAL_HEADINGS`` may be left out."""

OPTIONAL_HEADINGS = frozenset({"Known problems", "Fix safety", "References"})


@dataclass(frozen=True)
class Valid:
    """A program the rule must not touch."""

    source: str
    files: Mapping[str, str] = field(default_factory=dict)
    """Further files of the program, by relative path. ``source`` itself is ``example.py``."""


@dataclass(frozen=True)
class Invalid:
    """A program the rule must flag."""

    source: str
    findings: Sequence[tuple[int, int, str]]
    """Exactly the findings in ``source``, in order: line, column, message. None may fall in ``files``."""
    replacement: str | None = None
    """``source`` after the rule's fixes, when it offers any."""
    files: Mapping[str, str] = field(default_factory=dict)


class Rule:
    """One kind of violation; a subclass sets ``code``, ``name``, docs and examples and defines ``check``."""

    code: ClassVar[str]
    """``JW`` and three digits; a third party's rules take letters of their own."""
    name: ClassVar[str]
    """The bad pattern in kebab-case, so that "allow NAME" reads well."""
    VALID: ClassVar[Sequence[Valid]] = ()
    INVALID: ClassVar[Sequence[Invalid]] = ()
    needs_run: ClassVar[bool] = False
    """It finds something with ``--profile`` only, so that it has no INVALID examples."""
    observed_as: ClassVar[str] = "argument"
    """What a run shows of it: recompiles because of the ``argument`` (or ``option``) that is the finding's
    parameter, because of another ``function`` object or ``option_spelling``, or ``tuning`` anew."""

    def check(self, module: Module, project: Project) -> Iterator[Finding]:
        """Yield the findings in one file; ``project`` is the index over all linted files.

        Raises nothing: what the rule cannot understand it leaves alone.
        """
        raise NotImplementedError

    def check_run(
        self, module: Module, project: Project, recording: Recording, found: Collection[Finding]
    ) -> Iterator[Finding]:
        """Yield what a profiled run shows of a file beyond what the checks have ``found`` in it."""
        yield from ()

    def check_suppressions(
        self, path: str, suppressions: Sequence[Suppression], selected: frozenset[str]
    ) -> Iterator[Finding]:
        """Yield findings about the comments that suppress others; runs after every ``check`` of the file."""
        yield from ()

    def finding(
        self,
        where: Module | str,
        place: Span | Place,
        message: str,
        *,
        kernel: str | None = None,
        parameter: str | None = None,
        remedy: str = "",
        applicability: Applicability = Applicability.DISPLAY,
        edits: Sequence[Edit | tuple[int, int, str]] = (),
        change: Change | None = None,
    ) -> Finding:
        """Make a finding of this rule; ``where`` is the module or its path.

        A fix is either ``edits`` of that file or a ``change`` to a kernel, wherever it is written.
        """
        return Finding(
            path=where if isinstance(where, str) else where.path,
            line=place.line,
            column=place.column,
            end_line=place.end_line,
            end_column=place.end_column,
            code=self.code,
            name=self.name,
            kernel=kernel,
            parameter=parameter,
            message=message,
            remedy=remedy,
            applicability=applicability,
            edits=tuple(Edit(*edit) for edit in edits),
            change=change,
        )

    @classmethod
    def fixable(cls) -> bool:
        """Whether some example is mended by an edit. Computed, so that it cannot be claimed wrongly."""
        return any(example.replacement is not None for example in cls.INVALID)

    @classmethod
    def summary(cls) -> str:
        """First line of the documentation."""
        return inspect.cleandoc(cls.__doc__ or "").partition("\n")[0]

    @classmethod
    def documentation(cls) -> str:
        """Return the docstring below its first line, as Markdown."""
        return inspect.cleandoc(cls.__doc__ or "").partition("\n")[2].strip()

    @classmethod
    def sections(cls) -> dict[str, str]:
        """Return the documentation by heading."""
        parts = re.split(r"^## (.+)$", cls.documentation(), flags=re.MULTILINE)
        return {heading: text.strip() for heading, text in zip(parts[1::2], parts[2::2], strict=True)}

    def __init_subclass__(cls, abstract: bool = False, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if abstract:  # what several rules share is none itself
            return
        for attribute in ("code", "name"):
            if not isinstance(getattr(cls, attribute, None), str):
                raise TypeError(f"rule {cls.__module__}.{cls.__qualname__} has no {attribute}")
