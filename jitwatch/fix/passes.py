"""Applies all fixes of a run, lints again, and goes on until nothing is left to apply."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from jitwatch.fix.changes import CannotEdit
from jitwatch.fix.plan import LISTS, plan
from jitwatch.fix.text import apply_edits, collide
from jitwatch.lint.analysis import check_syntax
from jitwatch.lint.cache import Cache
from jitwatch.lint.engine import Outcome
from jitwatch.lint.finding import Applicability, Edit, Finding

MOST_PASSES = 100
"""As many as ruff makes; three are the most that a real tree has needed."""

Lint = Callable[[Mapping[str, bytes]], Outcome]
"""Lints with these contents in the place of those on disk; its outcome has the project."""

Wanted = Callable[[Finding], bool]
"""Whether a finding's fix is to be applied."""


def promised(*applicable: Applicability) -> Wanted:
    """Fixes that promise as much as one of these."""
    return lambda finding: finding.applicability in applicable


@dataclass(frozen=True)
class Fixed:
    """What came of it."""

    outcome: Outcome
    """Of the last lint: what is left."""
    before: Mapping[str, bytes] = field(default_factory=dict)
    """Contents of the changed files, as they were."""
    after: Mapping[str, bytes] = field(default_factory=dict)
    applied: tuple[Finding, ...] = ()
    """In order."""
    undone: tuple[Finding, ...] = ()
    """Whose fix would have left a file that does not parse: nothing of it is left."""
    settled: bool = True
    """False: after the last pass there was still something to apply."""


@dataclass(frozen=True)
class Unit:
    """Findings whose edits go in together or not at all."""

    findings: tuple[Finding, ...]
    edits: Mapping[str, Sequence[Edit]]
    """By file."""


def fix_until_settled(lint: Lint, wanted: Wanted, most: int = MOST_PASSES) -> Fixed:
    """Apply what is wanted of every finding that is not suppressed, until a lint finds no more of it."""
    outcome = lint({})
    before: dict[str, bytes] = {}
    after: dict[str, bytes] = {}
    applied: list[Finding] = []
    undone: list[Finding] = []
    settled = True
    for _ in range(most):
        units = list(_units([f for f in outcome.shown if wanted(f) and not _among(f, undone)], outcome))
        changed, done, failed = _apply(units, outcome.sources)
        undone += failed
        applied += done
        for path, content in changed.items():
            before.setdefault(path, outcome.sources[path])
            after[path] = content
        if changed:
            outcome = lint(after)
        elif not failed:
            break
    else:
        settled = False
    return Fixed(outcome, before, after, tuple(applied), tuple(undone), settled)


def _among(finding: Finding, others: Collection[Finding]) -> bool:
    """Whether a finding is one of those, wherever it stands by now."""
    same = [finding.path, finding.code, finding.kernel, finding.parameter, finding.message]
    return any(same == [o.path, o.code, o.kernel, o.parameter, o.message] for o in others)


def _units(findings: Iterable[Finding], outcome: Outcome) -> Iterator[Unit]:
    """Yield what to apply in this pass: all changes of a kernel are one unit, written in one go."""
    taken: dict[str, list[Edit]] = defaultdict(list)
    for group in _grouped(_without_moot(finding for finding in findings if finding.edits)):
        for unit in _planned(group, outcome):
            inside = outcome.read.issuperset(unit.edits)  # files read for context are not ours to change
            if inside and not any(collide(e, taken[path]) for path, each in unit.edits.items() for e in each):
                for path, each in unit.edits.items():
                    taken[path] += each
                yield unit


def _without_moot(findings: Iterable[Finding]) -> list[Finding]:
    """Leave for the next pass what is said of an entry of a list that a change of this pass needs there.

    A constexpr in ``do_not_specialize`` does nothing (JW006 takes it out), until it is a run-time argument (JW002).
    """
    found = list(findings)
    needed = {_about(each) for each in found if each.change and each.change.kind in LISTS}
    return [each for each in found if each.change or _about(each) not in needed]


def _about(finding: Finding) -> tuple[str, str | None, str | None]:
    return finding.path, finding.kernel, finding.parameter


def _grouped(findings: Iterable[Finding]) -> list[list[Finding]]:
    groups: dict[object, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.change.kernel if finding.change else finding, []).append(finding)
    return list(groups.values())


def _planned(findings: list[Finding], outcome: Outcome) -> Iterator[Unit]:
    changes = [finding.change for finding in findings if finding.change is not None]
    if len(changes) > 1 and outcome.project is not None:
        try:
            edits = plan(outcome.project, changes, outcome.sources)
            yield Unit(tuple(_made(findings)), edits)
            return
        except CannotEdit:
            pass  # each on its own, then: those that come later wait for the next pass
    for finding in findings:
        alone: dict[str, list[Edit]] = defaultdict(list)
        for edit in dict.fromkeys(finding.edits):
            alone[edit.path or finding.path].append(edit)
        yield Unit((finding,), alone)


def _made(findings: list[Finding]) -> Iterator[Finding]:
    """Those that the plan of all of them made: drops go first, alone."""
    drops = [finding for finding in findings if finding.change and finding.change.kind.name == "DROP"]
    yield from drops or findings


def _apply(
    units: Sequence[Unit], sources: Mapping[str, bytes]
) -> tuple[dict[str, bytes], list[Finding], list[Finding]]:
    """New contents, the findings that went in, and those that would have broken a file."""
    failed: list[Finding] = []
    while True:
        edits: dict[str, list[Edit]] = defaultdict(list)
        for unit in units:
            for path, each in unit.edits.items():
                edits[path] += each
        contents = {path: apply_edits(sources[path], each) for path, each in edits.items()}
        broken = {path for path, content in contents.items() if check_syntax(path, content)}
        if not broken:
            changed = {path: content for path, content in contents.items() if content != sources[path]}
            return changed, [finding for unit in units for finding in unit.findings], failed
        failed += [f for unit in units if broken.intersection(unit.edits) for f in unit.findings]
        units = [unit for unit in units if not broken.intersection(unit.edits)]


class Remembering(Cache):
    """A cache that keeps in memory what this run analysed: a pass parses only the files that changed."""

    def __init__(self, inner: Cache | None) -> None:
        self._inner = inner
        self._kept: dict[tuple[bytes, bytes], bytes] = {}

    def load(self, name: bytes, content: bytes) -> object:
        """Return what was stored under ``name`` for this content, or None."""
        if kept := self._kept.get((name, content)):
            return pickle.loads(kept)  # made by ourselves a moment ago
        return self._inner.load(name, content) if self._inner else None

    def store(self, name: bytes, content: bytes, pickled: bytes) -> None:
        """Keep a value under ``name``."""
        self._kept[name, content] = pickled
        if self._inner:
            self._inner.store(name, content, pickled)
