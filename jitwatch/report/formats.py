"""The formats of a report, by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from jitwatch.analysis import Findings, analyse
from jitwatch.report.document import build_document
from jitwatch.rundir import read_run

Writer = Callable[[Findings, TextIO], None]


def write_json(findings: Findings, stream: TextIO) -> None:
    """The JSON report (see ``document``), ASCII so that any locale can carry it."""
    document = build_document(findings)
    kernels = document.pop("kernels")  # type: ignore[misc]
    # No indentation: with it json falls back to its Python encoder, 20 times as slow (50,000 misses: 8 s). And in
    # pieces: the text of such a run is 40 MB.
    stream.write(json.dumps(document)[:-1] + ', "kernels": [')
    for i, kernel in enumerate(kernels):
        events = kernel.pop("events")  # type: ignore[misc]
        stream.write((",\n" if i else "\n") + json.dumps(kernel)[:-1] + ', "events": [')
        for j, event in enumerate(events):
            stream.write((",\n" if j else "\n") + json.dumps(event))
        stream.write("]}")
    stream.write("]}\n")


def write_table(findings: Findings, stream: TextIO) -> None:
    """The terminal report."""
    # rich costs 40 ms, which the JSON format need not pay.
    from jitwatch.report.terminal import make_console, print_findings

    print_findings(findings, make_console(stream))


def write_github(findings: Findings, stream: TextIO) -> None:
    """Annotations for GitHub Actions."""
    from jitwatch.report import annotations

    annotations.write_github(findings, stream)


def write_sarif(findings: Findings, stream: TextIO) -> None:
    """A SARIF log for code scanning."""
    from jitwatch.report import annotations

    annotations.write_sarif(findings, stream)


FORMATS: dict[str, Writer] = {
    "table": write_table,
    "json": write_json,
    "github": write_github,
    "sarif": write_sarif,
}


def write_report(path: Path, format_: str, stream: TextIO) -> None:
    """Read the run at `path` and write its report to `stream`. Raises JitwatchError."""
    FORMATS[format_](analyse(read_run(path)), stream)
