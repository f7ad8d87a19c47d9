"""What fixes say that they did: to which parameter of which definition, told from the findings that were applied."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from jitwatch.fix.changes import Kind
from jitwatch.fix.passes import Fixed
from jitwatch.fix.plan import find_kernel
from jitwatch.lint.engine import Outcome
from jitwatch.lint.finding import Finding
from jitwatch.source.model import Kernel, Project

COMMENT_RULE = "JW100"
_NAMED = re.compile(r"`([^`]+)`|position (\d+)")


@dataclass(frozen=True)
class Definition:
    """One function of a file, whatever line it stands on by now."""

    path: str
    name: str
    nth: int
    """Of the definitions of that name, from 0: one may stand in each branch of an ``if``."""


@dataclass(frozen=True)
class Said:
    """One fix of one kernel."""

    kernel: Definition
    parameter: str
    kind: Kind
    annotation: str | None = None
    is_helper: bool = False
    """Only other kernels call it: it has no key, and its decorator gets no list."""


@dataclass(frozen=True)
class Entries:
    """Entries of one list that a rule about the list itself took out or put right."""

    kernel: Definition
    keyword: str
    values: frozenset[object]
    """Names and positions."""


@dataclass
class Watched:
    """A lint that keeps its outcomes, the first first."""

    lint: Callable[[Mapping[str, bytes]], Outcome]
    outcomes: list[Outcome] = field(default_factory=list)

    def __call__(self, changed: Mapping[str, bytes]) -> Outcome:
        """Lint with these contents in the place of those on disk."""
        self.outcomes.append(self.lint(changed))
        return self.outcomes[-1]


@dataclass(frozen=True)
class Record:
    """All that was said of a run of fixes."""

    said: frozenset[Said]
    entries: frozenset[Entries]
    arguments: Mapping[str, frozenset[int]]
    """By file: where the arguments of launches stood whose parameter was dropped."""
    comments: frozenset[str]
    """Files with a suppressing comment that was changed."""


def record_of(fixed: Fixed, outcomes: list[Outcome]) -> Record:
    """Read it out of the applied findings, each in the files as they were when it was found."""
    found_in = {id(finding): outcome for outcome in outcomes for finding in outcome.findings}
    said: set[Said] = set()
    entries: set[Entries] = set()
    for finding in fixed.applied:
        outcome = found_in[id(finding)]
        if finding.change is not None:
            said.add(_said(finding, outcome))
        elif finding.code != COMMENT_RULE:
            entries.add(_entries(finding, outcome))
    dropped = [each for each in said if each.kind is Kind.DROP]
    arguments: dict[str, set[int]] = {}
    for path, start in _arguments(dropped, outcomes[0]):
        arguments.setdefault(path, set()).add(start)
    return Record(
        frozenset(said),
        frozenset(entries),
        {path: frozenset(starts) for path, starts in arguments.items()},
        frozenset(finding.path for finding in fixed.applied if finding.code == COMMENT_RULE),
    )


def _said(finding: Finding, outcome: Outcome) -> Said:
    assert finding.change is not None
    assert outcome.project is not None
    change, kernel = finding.change, find_kernel(outcome.project, finding.change)
    return Said(
        definition_of(kernel, outcome.sources[kernel.path]),
        change.parameter,
        change.kind,
        change.annotation,
        kernel.key in outcome.project.helpers,
    )


def _entries(finding: Finding, outcome: Outcome) -> Entries:
    """The message names the list, the kernel and the entry; the remedy what the entry is to be."""
    assert finding.kernel is not None
    keyword = "key" if finding.code == "JW013" else finding.message.split("`")[1]
    values: set[object] = {finding.kernel}
    for name, position in _NAMED.findall(f"{finding.message} {finding.remedy}"):
        values.add(name or int(position))
    source = outcome.sources[finding.path]
    nth = next(i for i, line in enumerate(lines_of(finding.kernel, source)) if line >= finding.line)
    kernel = Definition(finding.path, finding.kernel, nth)
    assert outcome.project is not None
    for each in outcome.project.kernels[finding.path]:
        parameter = each.parameter(finding.parameter or "")
        if parameter and definition_of(each, source) == kernel:
            values.add(parameter.index)
    return Entries(kernel, keyword, frozenset(values - {finding.kernel, keyword}))


def _arguments(dropped: list[Said], first: Outcome) -> Iterator[tuple[str, int]]:
    """Yield where the launches give what was dropped, in the files as they were at first."""
    assert first.project is not None
    kernels = kernels_by_definition(first.project, first.sources)
    for each in dropped:
        for bound in first.project.launches_of(kernels[each.kernel]):
            value = bound.arguments.get(each.parameter)
            if value is not None:
                yield bound.launch.path, value.span.start


def kernels_by_definition(project: Project, sources: Mapping[str, bytes]) -> dict[Definition, Kernel]:
    """Kernels by what stays when lines move."""
    return {
        definition_of(kernel, sources[path]): kernel
        for path, kernels in project.kernels.items()
        for kernel in kernels
    }


def definition_of(kernel: Kernel, source: bytes) -> Definition:
    """Which definition a kernel is."""
    return Definition(kernel.path, kernel.name, lines_of(kernel.name, source).index(kernel.span.line))


def lines_of(name: str, source: bytes) -> list[int]:
    """Lines of the definitions of a name, in order."""
    return _definitions(source)[name]


@functools.lru_cache(maxsize=4096)
def _definitions(source: bytes) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, []).append(node.lineno)
    return {name: sorted(lines) for name, lines in found.items()}
