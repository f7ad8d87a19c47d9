"""``jitwatch report``: redraw the report of a run, without running anything again."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from jitwatch.collector import without_collector
from jitwatch.errors import JitwatchError
from jitwatch.report.formats import FORMATS, write_report
from jitwatch.rundir import find_run


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "run", nargs="?", type=Path, metavar="RUN", help="run directory (default: the latest)"
    )
    parser.add_argument("--format", choices=FORMATS, default="table", help="default: %(default)s")
    parser.add_argument(
        "--verify",
        action="store_true",
        help="compile what it proposes first, and say of each change whether it costs (takes seconds, needs Triton)",
    )
    parser.add_argument(
        "--output-file", type=Path, metavar="F", help="write there instead of to the terminal"
    )


def run(args: argparse.Namespace) -> int:
    """Print or write the report; returns 0."""
    path = find_run(args.run)
    if args.verify:
        _verify(path)
    # A report makes objects and drops none until it ends: collecting them again and again costs a third of its time.
    with without_collector():
        return _write(args, path)


def _write(args: argparse.Namespace, path: Path) -> int:
    if args.output_file is None:
        write_report(path, args.format, sys.stdout)
        return 0
    try:
        with args.output_file.open("w", encoding="utf-8") as stream:
            write_report(path, args.format, stream)
    except OSError as error:
        raise JitwatchError(f"cannot write {args.output_file}: {error.strerror}") from error
    return 0


def _verify(path: Path) -> None:
    """Have the run keep verdicts on its whole plan, which every report of it shows from then on."""
    from jitwatch.verify.command import Asked, verify_recorded
    from jitwatch.verify.wanted import Wanted

    verify_recorded(path, Asked(Wanted()))
