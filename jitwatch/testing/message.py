"""The text of a failure: which kernel, because of which argument, from which line, and what to write instead."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from jitwatch.analysis import KernelFindings, MissEvent
from jitwatch.analysis.advice import advise
from jitwatch.analysis.plan import Edit
from jitwatch.errors import JitwatchError
from jitwatch.report import wording
from jitwatch.report.change import change_lines
from jitwatch.report.terminal import TERMS
from jitwatch.rundir import Kernel
from jitwatch.specialization import show_value
from jitwatch.testing.happened import Happened, Tuned, place_of

ROWS = 10
"""Misses listed one by one."""

HEAD = ("kernel", "because of", "launch", "served")


def compose(
    headline: str, counted: Sequence[MissEvent | Tuned], happened: Happened, warm: bool = False
) -> str:
    """The whole message; `counted` is what exceeded the limit, `warm` whether first variants should have been there."""
    remedies = _remedies(counted, happened, warm)
    return "\n".join([headline, "", *_table(counted), *_legend(counted), *remedies])


def _table(counted: Sequence[MissEvent | Tuned]) -> Iterator[str]:
    rows = [HEAD, *map(_row, counted[:ROWS])]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    for row in rows:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    if len(counted) > ROWS:
        yield f"  … and {len(counted) - ROWS} more"


def _row(thing: MissEvent | Tuned) -> tuple[str, str, str, str]:
    site = place_of(thing)
    launch = wording.place(site.path, site.line, os.getcwd()) if site else "unknown"
    return thing.kernel.name, _cause(thing), launch, _served(thing)


def _cause(thing: MissEvent | Tuned) -> str:
    if isinstance(thing, MissEvent):
        return "; ".join(change.words() for change in thing.changes) or "its first variant"
    if thing.earlier is None:
        return "its first autotuning"
    before = dict(thing.earlier.key)
    changed = [
        f"{name}: {show_value(before.get(name))} → {show_value(value)}"
        for name, value in thing.tune.key
        if show_value(before.get(name)) != show_value(value)
    ]
    return f"autotuned again: {'; '.join(changed) or 'other dtypes'}"


def _served(thing: MissEvent | Tuned) -> str:
    if isinstance(thing, Tuned):
        tried = wording.count(thing.tune.candidates, "configuration")
        return f"{tried}, {wording.seconds(thing.tune.seconds)}"
    cached = thing.miss.served and thing.miss.served.cached
    return f"{'read from disk' if cached else 'compiled'}, {wording.seconds(thing.seconds)}"


def _legend(counted: Sequence[MissEvent | Tuned]) -> list[str]:
    shown = " ".join(_cause(thing) for thing in counted[:ROWS])
    terms = [meaning for word, meaning in TERMS.items() if word in shown]
    return ["", f"  {' · '.join(terms)}"] if terms else []


def _remedies(counted: Sequence[MissEvent | Tuned], happened: Happened, warm: bool) -> Iterator[str]:
    """What to change, for each kernel that counted."""
    for identity in dict.fromkeys(thing.kernel.identity for thing in counted):
        found = next(each for each in happened.findings.kernels if each.kernel.identity == identity)
        mine = [thing for thing in counted if thing.kernel.identity == identity]
        yield ""
        yield f"  {found.kernel.name} ({wording.place(found.kernel.path, found.kernel.line, os.getcwd())})"
        yield from (f"    {line}" for line in _remedy(found, mine, warm))


def _remedy(found: KernelFindings, counted: Sequence[MissEvent | Tuned], warm: bool) -> Iterator[str]:
    edits = [edit for step in found.plan for edit in step.edits]
    if edits:
        before, after = found.plan[0].before.variants, found.plan[-1].after.variants
        yield f"write this, which leaves {wording.count(after, 'variant')} of {before}:"
        yield from change_lines(found.kernel, edits)
        yield from (f"caution, {edit.parameter.name}: {edit.caution}" for edit in edits if edit.caution)
    yield from (f"· {sentence}" for sentence in advise(found))
    if warm and any(isinstance(thing, MissEvent) and not thing.changes for thing in counted):
        yield "· launch it once before the block: a kernel's first variant always misses"
    if names := _tuned_names(counted):
        yield f"· take {names} out of the autotuner's key, or round it up to a few values before the launch"
    codes = _lint_codes(found.kernel, edits, counted)
    if codes:
        yield f"`jitwatch lint` finds this without running it: {', '.join(codes)}"


def _tuned_names(counted: Iterable[MissEvent | Tuned]) -> str:
    """Arguments of the key that made autotuners tune again."""
    names: dict[str, None] = {}
    for thing in counted:
        if isinstance(thing, Tuned) and thing.earlier is not None:
            before = dict(thing.earlier.key)
            names |= {n: None for n, v in thing.tune.key if show_value(before.get(n)) != show_value(v)}
    return ", ".join(names)


def _lint_codes(kernel: Kernel, edits: Iterable[Edit], counted: Iterable[MissEvent | Tuned]) -> list[str]:
    """Rules that report this kernel for one of the arguments at fault; none where its source cannot be read."""
    from jitwatch.lint.config import Configuration, Overrides
    from jitwatch.lint.engine import Options, lint_sources

    names = {edit.parameter.name for edit in edits}
    files = {kernel.path}
    for thing in counted:
        site = place_of(thing)
        files |= {site.path} if site else set()
        if isinstance(thing, MissEvent):
            names |= {change.parameter for change in thing.changes if change.parameter}
    sources = {path: Path(path).read_bytes() for path in sorted(files) if os.path.isfile(path)}
    try:
        outcome = lint_sources(sources, Configuration(Overrides()), Options(jobs=1))
    except JitwatchError:  # settings of `jitwatch lint` that do not hold are for it to report
        return []
    simple = kernel.name.rpartition(".")[2]
    return sorted(
        {
            finding.code
            for finding in outcome.shown
            if finding.kernel == simple and (finding.parameter is None or finding.parameter in names)
        }
    )
