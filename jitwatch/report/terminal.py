"""The report on a terminal: what was lost, to which argument, and what to change; read in ten seconds."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from jitwatch.analysis import Findings, KernelFindings, analyse
from jitwatch.report import wording
from jitwatch.report.causes import Cause, group_causes
from jitwatch.report.remedies import print_remedies
from jitwatch.report.sidelines import headline, print_sidelines
from jitwatch.rundir import read_run

ROWS = 10
"""Kernels listed; the JSON report has them all."""

CAUSES = 3
"""Causes listed for a kernel."""

WITH_LAUNCH = 72
"""Columns from which the table has room for the launch."""

WITH_PATH = 110
"""... and for the launch's path from the working directory, not its file's name alone."""

TERMS = {
    "(÷16)": "÷16: divisible by 16",
    "(=1)": "=1: one",
    "(other)": "other: neither",
    "unaligned": "aligned: address divisible by 16",
    "(any)": "any: not told apart",
    "(constexpr)": "constexpr: by value",
}
"""A word of the causes to what it means; told only where it appears."""


class PlainStream:
    """A stream whose encoding cannot carry every character: the rest becomes its nearest ASCII."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.encoding = stream.encoding

    def write(self, text: str) -> int:
        """Write what the encoding can carry."""
        plain = wording.to_ascii(text).encode(self.encoding, "backslashreplace")
        return self.stream.write(plain.decode(self.encoding))

    def flush(self) -> None:
        """Flush."""
        self.stream.flush()

    def isatty(self) -> bool:
        """Whether a person reads along."""
        return self.stream.isatty()

    def fileno(self) -> int:
        """Of the stream; OSError when it has none."""
        return self.stream.fileno()


def make_console(stream: TextIO, width: int | None = None) -> Console:
    """A console that obeys NO_COLOR and TERM, and writes to any locale without failing."""
    encoding = (getattr(stream, "encoding", None) or "utf-8").lower()
    file = stream if encoding.startswith("utf") else PlainStream(stream)
    return Console(file=file, width=width, highlight=False, markup=False, emoji=False)  # type: ignore[arg-type]


def print_report(run: Path, console: Console) -> Findings:
    """Read the run at `run` and print its report; returns the findings. Raises JitwatchError."""
    findings = analyse(read_run(run))
    print_findings(findings, console)
    return findings


def print_findings(findings: Findings, console: Console) -> None:
    """Print a report."""
    costly = [kernel for kernel in findings.kernels if kernel.recompiles]
    costly.sort(key=lambda kernel: -kernel.seconds_recompiles)
    console.print(headline(findings))
    if costly:
        console.print()
        console.print(_table(costly[:ROWS], findings, console.width))
        if len(costly) > ROWS:
            rest = sum(kernel.seconds_recompiles for kernel in costly[ROWS:])
            more = wording.count(len(costly) - ROWS, "more kernel")
            console.print(Text(f" … and {more}, {wording.seconds(rest)}", "dim"))
        console.print(Padding(_legend(costly[:ROWS]), (0, 1)))
        print_remedies(costly[:ROWS], findings.run, console)
    print_sidelines(findings, console)


def _table(kernels: list[KernelFindings], findings: Findings, width: int) -> Table:
    wide = width >= WITH_LAUNCH
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), collapse_padding=True, pad_edge=False, show_edge=False)
    table.add_column("lost", justify="right", no_wrap=True)
    table.add_column("kernel", overflow="fold", max_width=max(12, width // 3))
    table.add_column("recompiles, each because of", overflow="fold")
    if wide:
        table.add_column(
            "launch", overflow="fold", max_width=max(12, width // (3 if width >= WITH_PATH else 5))
        )
    for kernel in kernels:
        causes = group_causes(kernel.recompiles)
        for i, cause in enumerate(causes[:CAUSES]):
            lost = _lost(kernel, findings) if i == 0 else Text()
            name = Text(kernel.kernel.name if i == 0 else "", "bold")
            row = [lost, name, _cause(cause)]
            home = findings.run.cwd if width >= WITH_PATH else None
            table.add_row(*row, *([_launches(cause, home)] if wide else []))
        if len(causes) > CAUSES:
            table.add_row("", "", Text(f"… {len(causes) - CAUSES} other causes", "dim"))
    return table


def _legend(kernels: list[KernelFindings]) -> Text:
    shown = " ".join(
        cause.words() for kernel in kernels for cause in group_causes(kernel.recompiles)[:CAUSES]
    )
    terms = [meaning for word, meaning in TERMS.items() if word in shown]
    recompile = "A recompile is a variant after a kernel's first that a launch waited for."
    return Text("\n".join([recompile, *([" · ".join(terms)] if terms else [])]), "dim")


def _lost(kernel: KernelFindings, findings: Findings) -> Text:
    share = kernel.seconds_recompiles / (findings.seconds_recompiles or 1.0)
    style = "bold red" if share > 0.6 else "yellow" if share > 0.2 else ""
    return Text(wording.seconds(kernel.seconds_recompiles), style)


def _cause(cause: Cause) -> Text:
    return Text.assemble((f"{len(cause.events):,} × ", "dim"), cause.words())


def _launches(cause: Cause, home: str | None) -> Text:
    sites = dict.fromkeys(event.miss.site for event in cause.events)
    places = [wording.launch_place(site, home) for site in sites]
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    return Text(places[0] + more)
