"""Verdicts on a terminal."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from jitwatch.specialization import Remedy
from jitwatch.verify.judge import Outcome
from jitwatch.verify.verdicts import Verdict

STYLES = {Outcome.HARMLESS: "green", Outcome.COSTS: "red", Outcome.UNKNOWN: "yellow"}

WRITTEN = {
    Remedy.ALIGNMENT: "do_not_specialize_on_alignment",
    Remedy.SPECIALIZE: "do_not_specialize",
    Remedy.ANNOTATE: "a fixed type, and do_not_specialize",
    Remedy.RUNTIME: "a run-time argument, not tl.constexpr",
    Remedy.RUNTIME_SPECIALIZED: "a run-time argument that stays specialised",
    Remedy.DROP: "no argument at all",
    Remedy.LEAVE_KEY: "out of the autotuner's key",
}


def print_verdicts(verdicts: Sequence[Verdict], console: Console, cwd: Path) -> None:
    """Print a table for each kernel, the totals and what to do next."""
    kernels = dict.fromkeys((verdict.kernel, verdict.path, verdict.line) for verdict in verdicts)
    wide = max((len(verdict.parameter) for verdict in verdicts), default=0)
    for kernel in kernels:
        name, path, line = kernel
        place = f"{os.path.relpath(path, cwd)}:{line}"
        console.print(Text.assemble(" ", (name, "bold"), "  ", (place, "dim")), soft_wrap=True)
        mine = [v for v in verdicts if (v.kernel, v.path, v.line) == kernel]
        console.print(_table(mine, wide))
        console.print()
    for note in dict.fromkeys(note for verdict in verdicts for note in verdict.notes):
        console.print(Text(f"· {note}", "dim"), soft_wrap=True)
    for text in closing(verdicts, cwd):
        console.print(Text(text), soft_wrap=True)


def _table(verdicts: Sequence[Verdict], wide: int) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0), pad_edge=True)
    table.add_column(width=3)
    table.add_column(no_wrap=True, min_width=len("harmless"))
    table.add_column(overflow="fold", min_width=min(wide, 24))
    table.add_column(overflow="fold", ratio=1)
    for verdict in verdicts:
        outcome = Text(verdict.outcome.value, STYLES[verdict.outcome])
        told = Text.assemble(
            (WRITTEN[verdict.remedy], "bold"), f"\n{verdict.reason}", *_changed_lines(verdict)
        )
        table.add_row("", outcome, verdict.parameter, told)
    return table


def _changed_lines(verdict: Verdict) -> Iterator[tuple[str, str]]:
    """The assembly that differs, of what is not harmless: what to look at before one decides."""
    if verdict.outcome is Outcome.HARMLESS or not verdict.changed_lines:
        return
    for line in verdict.changed_lines:
        yield f"\n  {line}", "red" if line.startswith("-") else "green"
    if verdict.changed_lines_left_out:
        yield f"\n  and {verdict.changed_lines_left_out} further lines", "dim"


def closing(verdicts: Sequence[Verdict], cwd: Path) -> list[str]:
    """Totals, what they mean, and the next command."""
    counts = {outcome: sum(v.outcome is outcome for v in verdicts) for outcome in Outcome}
    targets = ", ".join(dict.fromkeys(verdict.target for verdict in verdicts))
    told = ", ".join(f"{number} {outcome.value}" for outcome, number in counts.items() if number)
    lines = [f"Compiled for {targets}: {told}."]
    if counts[Outcome.COSTS]:
        lines.append(
            "What costs would make the kernel slower: leave it out, or warm up the variants instead."
        )
    files = dict.fromkeys(os.path.relpath(v.path, cwd) for v in verdicts if v.outcome is Outcome.HARMLESS)
    if files:
        lines.append(
            f"Apply what is harmless:  jitwatch lint --fix --verify {' '.join(map(shlex.quote, files))}"
        )
    return lines
