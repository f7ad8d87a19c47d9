"""Verdicts on a terminal."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from rich import box
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
}


def print_verdicts(verdicts: Sequence[Verdict], console: Console, cwd: Path) -> None:
    """Print a table, the totals and what to do next."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("Kernel", overflow="fold")
    table.add_column("Parameter", overflow="fold")
    table.add_column("Remedy", overflow="fold")
    table.add_column("Verdict", no_wrap=True)
    table.add_column("What changes", ratio=1, overflow="fold")
    last = ""
    for verdict in verdicts:
        kernel = "" if verdict.kernel == last else verdict.kernel
        last = verdict.kernel
        outcome = Text(verdict.outcome.value, STYLES[verdict.outcome])
        table.add_row(kernel, verdict.parameter, WRITTEN[verdict.remedy], outcome, verdict.reason)
    console.print(table)
    for note in dict.fromkeys(note for verdict in verdicts for note in verdict.notes):
        console.print(Text(f"· {note}", "dim"), soft_wrap=True)
    for line in closing(verdicts, cwd):
        console.print(Text(line), soft_wrap=True)


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
        lines.append(f"Apply what is harmless:  jitwatch lint --fix {' '.join(map(shlex.quote, files))}")
    return lines
