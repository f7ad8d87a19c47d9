"""Edits of the launches of a kernel, and whether all that uses it is a launch."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from jitwatch.fix.brackets import Brackets
from jitwatch.fix.changes import CannotEdit
from jitwatch.fix.decorators import call_bracket
from jitwatch.fix.reading import read
from jitwatch.lint.finding import Edit
from jitwatch.source.model import BoundLaunch, Kernel, Project

_EFFECT = re.compile(r":=|\bawait\b|\byield\b")


def without_arguments(
    project: Project, kernel: Kernel, names: Collection[str], contents: Mapping[str, bytes]
) -> dict[str, list[Edit]]:
    """Edits by file that take arguments out of every launch. Raises CannotEdit unless every launch is seen."""
    launches = project.launches_of(kernel)
    if not launches:
        raise CannotEdit("no launch of it is among the linted files")
    _check_targets(project, kernel, launches)
    check_uses(kernel, launches, contents)
    edits: dict[str, list[Edit]] = {}
    for bound in launches:
        launch = bound.launch
        if launch.starred:
            raise CannotEdit(f"{launch.path}:{launch.span.line} hides arguments behind a star")
        source = contents[launch.path]
        _check_lookups(source, names, launch.path)
        brackets = Brackets.at(source, call_bracket(source, launch.span.start, launch.span.end))
        given = [bound.arguments[name] for name in names if name in bound.arguments]
        places = {brackets.index_at(value.span.start) for value in given}
        if any(_EFFECT.search(brackets.text(index)) for index in places):
            raise CannotEdit(f"{launch.path}:{launch.span.line} does more in that argument than pass it")
        edits.setdefault(launch.path, []).extend(brackets.removing(places))
    return edits


def _check_targets(project: Project, kernel: Kernel, launches: Collection[BoundLaunch]) -> None:
    places = {(bound.launch.path, bound.launch.span.start) for bound in launches}
    for key, others in project.launches.items():
        if key != kernel.key and any((o.launch.path, o.launch.span.start) in places for o in others):
            raise CannotEdit("a launch may mean another kernel as well")


def check_uses(kernel: Kernel, launches: Collection[BoundLaunch], contents: Mapping[str, bytes]) -> None:
    """Raise CannotEdit where the kernel is named for another purpose than a launch: passed on, called, wrapped."""
    for path, source in contents.items():
        if kernel.name.encode() not in source:
            continue
        targets = [
            (bound.launch.span.start, call_bracket(source, bound.launch.span.start, bound.launch.span.end))
            for bound in launches
            if bound.launch.path == path
        ]
        reading = read(source)
        for node in reading.names.get(kernel.name, ()):
            start = reading.text.span(node).start
            if not any(first <= start < last for first, last in targets):
                raise CannotEdit(f"{path}:{node.lineno} uses `{kernel.name}` other than by launching it")


def _check_lookups(source: bytes, names: Collection[str], path: str) -> None:
    """Refuse where an argument is looked up by its name, as a grid does: ``meta["n"]``."""
    lookups = read(source).lookups
    for name in names:
        if name in lookups:
            raise CannotEdit(f"{path}:{lookups[name]} looks it up by its name")
