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
    json.dump(build_document(findings), stream, indent=2)
    stream.write("\n")


def write_table(findings: Findings, stream: TextIO) -> None:
    """The terminal report."""
    # rich costs 40 ms, which the JSON format need not pay.
    from jitwatch.report.terminal import make_console, print_findings

    print_findings(findings, make_console(stream))


FORMATS: dict[str, Writer] = {"table": write_table, "json": write_json}


def write_report(path: Path, format_: str, stream: TextIO) -> None:
    """Read the run at `path` and write its report to `stream`. Raises JitwatchError."""
    FORMATS[format_](analyse(read_run(path)), stream)
