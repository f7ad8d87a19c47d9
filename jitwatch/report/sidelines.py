"""The lines around the table: the headline, tuning, failures, other misses, what was not seen, what to do next."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from jitwatch.analysis import Findings, Kind, MissEvent
from jitwatch.analysis.ranks import study_ranks
from jitwatch.report import wording
from jitwatch.report.ranks import rank_lines
from jitwatch.rundir import Run
from jitwatch.specialization.classes import shorten

NAMES = {
    Kind.MANUAL_WARMUP: "by .warmup()",
    Kind.PRELOAD: "by preload",
    Kind.AUTOTUNE_CANDIDATE: "to try a configuration in tuning",
}

HIDDEN = {
    Kind.DISK_HIT: "read from the disk cache",
    Kind.REDECORATED: "of a function decorated again",
    Kind.ANOTHER_DEVICE: "on another device",
    Kind.OPTION_SPELLING: "by another spelling of the same options",
}
"""Recompiles that compiled nothing new."""

LISTED = 5


def headline(findings: Findings) -> Text:
    """The answer in one sentence, under a line that says which run it is about."""
    recompiles = findings.recompiles
    text = Text(f"{_about(findings.run)}\n", "dim")
    if not findings.run.processes:
        return text.append(_nothing_watched(findings.run), "bold")
    if not recompiles:
        return text.append(*_no_recompiles(findings))
    kernels = sum(1 for kernel in findings.kernels if kernel.recompiles)
    lost = wording.seconds(findings.seconds_recompiles)
    what = f"{wording.count(recompiles, 'recompile')} of {wording.count(kernels, 'kernel')}"
    text.append(f"{lost} lost to {what}.", "bold")
    if findings.recompiles_saved > 0:
        saved = wording.seconds(findings.seconds_saved)
        text.append(f" The changes below would end {findings.recompiles_saved:,} and save {saved}.")
    if retunes := _retunes(findings):
        text.append(f" {retunes}.")
    return text


def _retunes(findings: Findings) -> str:
    tunings = [kernel.tuning for kernel in findings.kernels if kernel.tuning and kernel.tuning.retunes]
    if not tunings:
        return ""
    lost = wording.seconds(sum(tuning.seconds_retunes for tuning in tunings))
    return f"{lost} lost to tuning again, {wording.count(sum(t.retunes for t in tunings), 'time')}"


def _about(run: Run) -> str:
    command = shlex.join(run.command) or str(run.path)
    facts = [f"Triton {', '.join(run.triton)}" if run.triton else None, run.target]
    facts += ["offline" if run.offline else None]
    if len(run.processes) > 1:
        facts.append(wording.count(len(run.processes), "process", "processes"))
    if run.exit_code:
        facts.append(f"the command exited with {run.exit_code}")
    if run.started and not run.ended:
        facts.append("still running")
    return " · ".join([command, *filter(None, facts)])


def _nothing_watched(run: Run) -> str:
    if not run.seen:
        return "No Python process of this run reported: it may run with -S, a cleared environment, or on another host."
    seen = wording.count(run.seen, "Python process", "Python processes")
    return f"Nothing to report: {seen} started, none imported Triton."


def _no_recompiles(findings: Findings) -> tuple[str, str]:
    if retunes := _retunes(findings):
        return f"No recompiles, but {retunes}.", "bold"
    topics = {notice.topic for process in findings.run.processes for notice in process.notices}
    if not findings.misses and topics & {"hooks", "interpreter"}:
        return "No miss was recorded, which proves nothing here: see the note.", "bold yellow"
    if not findings.misses:
        return "Nothing lost: Triton was imported, and no kernel missed its cache.", "bold green"
    if not findings.misses.keys() - {Kind.FAILED}:
        return "No kernel compiled.", "bold"
    kernels = wording.count(len(findings.kernels), "kernel")
    first = wording.seconds(findings.seconds)
    return f"Nothing lost: {kernels} compiled once ({first}), no launch waited after that.", "bold green"


def print_sidelines(findings: Findings, console: Console) -> None:
    """Print everything beside the recompiles, each in a line or two; then the next command."""
    sections = (_ranks, _tuning, _failures, _others, _notices)
    for section in sections:
        lines = list(section(findings))
        if lines:
            console.print()
        for line in lines:
            console.print(Padding(line, (0, 0, 0, 1)))
    console.print()
    for line, runnable in _next(findings):
        console.print(line, soft_wrap=runnable)


def _ranks(findings: Findings) -> Iterator[Text]:
    ranks = study_ranks(findings)
    lines = rank_lines(ranks) if ranks else iter(())
    if first := next(lines, None):
        yield Text.assemble(("Ranks  ", "bold"), first)
    yield from map(Text, lines)


def _tuning(findings: Findings) -> Iterator[Text]:
    for kernel in findings.kernels:
        tuning = kernel.tuning
        if tuning is None or not tuning.retunes:
            continue
        seconds = wording.seconds(tuning.seconds)
        said = f"{kernel.kernel.name} tuned {wording.count(tuning.tunes, 'time')}, {seconds} in all"
        yield Text.assemble(("Autotuning  ", "bold"), said)
        for argument in tuning.arguments[:2]:
            yield Text(
                f"· key {argument.name} = {wording.listed(argument.values)}: rounded first, or left out of the "
                f"key, it would end {argument.retunes_saved} and save {wording.seconds(argument.seconds_saved)}"
            )


def _failures(findings: Findings) -> Iterator[Text]:
    failed = [event for k in findings.kernels for event in k.events if event.kind is Kind.FAILED]
    for event in failed[:LISTED]:
        where = wording.launch_place(event.miss.site)
        said = f"{event.kernel.name} at {where}: {event.error}"
        if event.miss.capturing:
            said += " (while a CUDA graph was being captured: warm this variant up before)"
        yield Text.assemble(("Failed  ", "bold red"), said)
    if len(failed) > LISTED:
        yield Text(f"… and {len(failed) - LISTED} more failed launches", "dim")


def _others(findings: Findings) -> Iterator[Text]:
    misses = findings.misses
    parts = [f"{misses[kind]} {name}" for kind, name in NAMES.items() if misses[kind]]
    if first := _first_variants(findings):
        seconds = wording.seconds(sum(event.seconds for event in first))
        parts.insert(0, f"{wording.count(len(first), 'first variant')} ({seconds})")
    if parts and (findings.recompiles or not first or len(parts) > 1):
        yield Text(f"Other misses: {', '.join(parts)}.", "dim")
    kinds = [event.kind for kernel in findings.kernels for event in kernel.recompiles]
    hidden = [f"{kinds.count(kind)} {name}" for kind, name in HIDDEN.items() if kind in kinds]
    if hidden:
        yield Text(f"Of the recompiles, {', '.join(hidden)}.", "dim")
    raced = [event.threads for k in findings.kernels for event in k.events if event.threads > 1]
    if raced:
        said = f"{wording.count(len(raced), 'variant')} compiled by up to {max(raced)} threads at once"
        yield Text(f"{said}; each is counted once, with the longest stall.", "dim")
    if all(process.rank is None for process in findings.run.processes):
        yield from _by_process(findings)


def _first_variants(findings: Findings) -> list[MissEvent]:
    events = (event for kernel in findings.kernels for event in kernel.events)
    return [e for e in events if e.from_launch and not e.recompile and e.kind is not Kind.FAILED]


def _by_process(findings: Findings) -> Iterator[Text]:
    """Processes of one service lose their time side by side: the worst tells more than the sum."""
    lost: dict[str, float] = {}
    for kernel in findings.kernels:
        for event in kernel.recompiles:
            lost[event.process.file] = lost.get(event.process.file, 0.0) + event.seconds
    if len(lost) > 1:
        file = max(lost, key=lambda each: lost[each])
        worst = next(process.label for process in findings.run.processes if process.file == file)
        yield Text(
            f"Over {len(lost)} processes; the worst, {worst}, lost {wording.seconds(lost[file])}.", "dim"
        )


def _notices(findings: Findings) -> Iterator[Text]:
    run = findings.run
    for text in dict.fromkeys(notice.text for process in run.processes for notice in process.notices):
        yield Text.assemble(("Note  ", "bold"), text)
    for text in run.notes:
        yield Text.assemble(("Note  ", "bold"), text)
    for each in run.unobserved[:LISTED]:
        command = shorten(shlex.join(each.argv), 50)
        yield Text.assemble(("Not observed  ", "bold"), f"pid {each.pid} ({command}): {each.reason}")
    if len(run.unobserved) > LISTED:
        yield Text(f"… and {len(run.unobserved) - LISTED} more processes not observed", "dim")
    lost = run.skipped_lines + findings.orphans
    if lost:
        yield Text(
            f"{wording.count(lost, 'line')} of the event files could not be read and were skipped.", "dim"
        )


def _next(findings: Findings) -> Iterator[tuple[Text, bool]]:
    """What to do now, and whether it is a command: those are never broken, so that they run as printed."""
    from jitwatch.cli import COMMANDS  # of this release; the command line imports reports, not the reverse

    path = shlex.quote(_relative(findings.run.path))
    planned = any(kernel.plan for kernel in findings.kernels)
    if planned and "verify" in COMMANDS:
        yield _command("Prove that a change costs no speed:", f"jitwatch verify {path}"), True
    elif planned:
        yield Text("Measure the kernel before you keep a change: divisibility can carry its speed."), False
    yield _command("Every miss, with values:", f"jitwatch report {path} --format json"), True


def _command(why: str, command: str) -> Text:
    return Text.assemble((f"{why} ", "dim"), (command, "bold"))


def _relative(path: Path) -> str:
    try:
        return os.path.relpath(path) if path.resolve().is_relative_to(Path.cwd()) else str(path)
    except OSError:
        return str(path)
