"""``jitwatch verify``: prove that a remedy costs no speed, without a device."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from jitwatch.errors import JitwatchError
from jitwatch.verify.command import Asked, verify_file, verify_recorded
from jitwatch.verify.judge import Outcome
from jitwatch.verify.wanted import Wanted, parse_remedies

EXAMPLES = """\
examples:
  jitwatch verify                                   the plan of the latest run
  jitwatch verify RUN --remedy num_tokens           one argument of it, every remedy
  jitwatch verify ops.py::add_kernel --signature "x=*bf16:16, n=i32, BLOCK=1024"

signature: NAME=TYPE or NAME=VALUE. A type ends in :16 when it is divisible (a pointer: aligned), in :1 for the value 1.
exit code: 0; 1 when a remedy that --remedy names costs; 2 for bad input."""


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.epilog = EXAMPLES
    parser.add_argument(
        "what",
        nargs="?",
        metavar="RUN | FILE::KERNEL",
        help="a run directory (default: the latest), or a kernel",
    )
    parser.add_argument(
        "--remedy",
        action="append",
        default=[],
        metavar="PARAM[=REMEDY]",
        help="verify this (default: the run's plan; of a file, do_not_specialize for each integer); "
        "REMEDY: do_not_specialize, do_not_specialize_on_alignment, annotate, runtime_argument, "
        "specialized_runtime_argument, drop, leave_autotune_key",
    )
    parser.add_argument(
        "--kernel", action="append", default=[], metavar="NAME", help="of a run, only this kernel"
    )
    parser.add_argument("--signature", metavar="TEXT", help="of a file, the arguments it is launched with")
    parser.add_argument("--target", metavar="T", help="such as cuda:90 or hip:gfx942 (default: the run's)")
    parser.add_argument(
        "--python", metavar="EXE", help="interpreter that can import the kernel (default: this one)"
    )
    parser.add_argument("--workers", type=int, metavar="N", help="compile N at a time (default: 2)")
    parser.add_argument("--format", choices=("table", "json"), default="table", help="default: %(default)s")


def run(args: argparse.Namespace) -> int:
    """Print the verdicts; returns 1 when a named remedy costs."""
    wanted = Wanted(parse_remedies(args.remedy), frozenset(args.kernel))
    asked = Asked(wanted, args.target, args.python, args.workers)
    if args.what and "::" in args.what:
        verdicts = verify_file(args.what, asked, args.signature)
    elif args.signature:
        raise JitwatchError("--signature goes with FILE::KERNEL: a run has recorded its signatures")
    else:
        verdicts = verify_recorded(Path(args.what) if args.what else None, asked)
    if args.format == "json":
        print(json.dumps([verdict.to_json() for verdict in verdicts], indent=1))
    elif verdicts:
        from rich.console import Console

        from jitwatch.verify.table import print_verdicts

        print_verdicts(verdicts, Console(), Path.cwd())
    else:
        print("Nothing to verify: no remedy would have ended a recompile.", file=sys.stderr)
    costs = any(verdict.outcome is Outcome.COSTS for verdict in verdicts)
    return int(bool(args.remedy) and costs)
