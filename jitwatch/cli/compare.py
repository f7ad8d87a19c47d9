"""``jitwatch compare``: two runs side by side, and a gate for CI."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from jitwatch.analysis.compare import Gate, read_gate

EXCEEDED = 3
"""Exit code when a gate fails, as of `jitwatch profile --fail-on`."""

EPILOG = """\
--fail-on takes what may not grow, several with commas or by repeating it:
  causes       a kernel recompiles because of an argument that caused none before
  recompiles   more recompiles; recompiles:2 allows two more, recompiles:10% a tenth more
  variants     more compiled versions
  retunes      autotuners tune more often
  seconds      more time lost (noisy: give it room, as in seconds:20%)

exit codes: 0, or 3 when a gate fails, or 2 when a run cannot be read

examples:
  jitwatch compare .jitwatch/runs/before .jitwatch/runs/after
  jitwatch compare main.run pull-request.run --fail-on causes,recompiles
"""


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.epilog = EPILOG
    parser.add_argument("before", type=Path, metavar="A", help="run directory of the earlier run")
    parser.add_argument("after", type=Path, metavar="B", help="run directory of the later run")
    parser.add_argument(
        "--fail-on",
        type=_gates,
        action="extend",
        default=[],
        metavar="MEASURE[:N]",
        help="exit 3 when it grew (by more than N, or N%%)",
    )
    parser.add_argument("--format", choices=("table", "json"), default="table", help="default: %(default)s")


def _gates(text: str) -> list[Gate]:
    try:
        return [read_gate(each) for each in text.split(",")]
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def run(args: argparse.Namespace) -> int:
    """Print the comparison; returns 0, or 3 when a gate fails."""
    from jitwatch.analysis import analyse
    from jitwatch.analysis.compare import compare_runs
    from jitwatch.report.comparison import comparison_document, print_comparison
    from jitwatch.report.terminal import make_console
    from jitwatch.rundir import read_run

    comparison = compare_runs(analyse(read_run(args.before)), analyse(read_run(args.after)))
    exceeded = [sentence for gate in args.fail_on if (sentence := gate.exceeded(comparison))]
    if args.format == "json":
        print(json.dumps(comparison_document(comparison, exceeded), indent=2))
    else:
        print_comparison(comparison, exceeded, make_console(sys.stdout))
    return EXCEEDED if exceeded else 0
