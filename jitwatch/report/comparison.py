"""A comparison of two runs, on a terminal and as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from jitwatch.analysis import MissEvent
from jitwatch.analysis.compare import Comparison, Figures, KernelChange
from jitwatch.report import wording

ROWS = 20
"""Kernels listed; JSON has them all."""

CAUSES = 4
"""New and ended causes listed for a kernel, each."""


def print_comparison(comparison: Comparison, exceeded: Sequence[str], console: Console) -> None:
    """Print what changed; `exceeded` are the gates that fail."""
    before, after = comparison.before, comparison.after
    console.print(
        Text.assemble(
            ("recompiles ", "bold"),
            _arrow(before.recompiles, after.recompiles),
            (" · variants ", "bold"),
            _arrow(before.variants, after.variants),
            (" · lost ", "bold"),
            Text(f"{wording.seconds(before.seconds)} → {wording.seconds(after.seconds)}"),
        )
    )
    changed = [each for each in comparison.kernels if each.changed]
    if changed:
        console.print()
        console.print(_table(changed[:ROWS]))
    if len(changed) > ROWS:
        console.print(Text(f" … and {wording.count(len(changed) - ROWS, 'more kernel')}", "dim"))
    same = len(comparison.kernels) - len(changed)
    if same:
        console.print(Text(f" {wording.count(same, 'kernel')} as before", "dim"))
    for remark in comparison.remarks:
        console.print(Padding(Text(f"note: {remark}", "yellow"), (0, 0, 0, 1)))
    for sentence in exceeded:
        console.print(Text(f"more than allowed: {sentence}", "bold red"))


def _table(changed: Sequence[KernelChange]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), collapse_padding=True, pad_edge=False, show_edge=False)
    table.add_column("kernel", overflow="fold")
    for name in ("variants", "recompiles", "tuned again"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("causes that came (+) and went (-)", overflow="fold")
    for each in changed:
        table.add_row(
            Text(each.name, "bold"),
            _arrow(each.before.variants, each.after.variants),
            _arrow(each.before.recompiles, each.after.recompiles),
            _arrow(each.before.retunes, each.after.retunes),
            Text("\n").join([*_causes("+", each.new, "red"), *_causes("-", each.ended, "green")]),
        )
    return table


def _arrow(before: int, after: int) -> Text:
    if before == after:
        return Text(f"{after:,}", "dim")
    return Text(f"{before:,} → {after:,}", "red" if after > before else "green")


def _causes(sign: str, events: Sequence[MissEvent], style: str) -> list[Text]:
    shown = [Text(f"{sign} {_words(event)}", style) for event in events[:CAUSES]]
    if len(events) > CAUSES:
        shown.append(Text(f"{sign} … {len(events) - CAUSES} more", style))
    return shown


def _words(event: MissEvent) -> str:
    return "; ".join(change.words() for change in event.changes)


def comparison_document(comparison: Comparison, exceeded: Sequence[str]) -> dict[str, Any]:
    """The comparison as one JSON-ready object."""
    return {
        "schema": 1,
        "before": _figures(comparison.before),
        "after": _figures(comparison.after),
        "new_causes": comparison.new_causes,
        "kernels": [
            {
                "module": each.module,
                "name": each.name,
                "before": _figures(each.before),
                "after": _figures(each.after),
                "new_causes": [_words(event) for event in each.new],
                "ended_causes": [_words(event) for event in each.ended],
            }
            for each in comparison.kernels
        ],
        "remarks": list(comparison.remarks),
        "exceeded": list(exceeded),
    }


def _figures(figures: Figures) -> dict[str, Any]:
    return {**dataclasses.asdict(figures), "seconds": round(figures.seconds, 6)}
