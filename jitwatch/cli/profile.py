"""``jitwatch profile``: run a command unchanged and report which kernels recompiled, because of which argument."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from jitwatch.errors import JitwatchError
from jitwatch.runtime.offline.target import TARGETS

DEFAULT_TARGET = "cuda:90"
FAILED_ON_RECOMPILES = 3

EPILOG = """\
Everything from the first word that is not an option on belongs to the command; `--` before it is accepted too.
The exit code is the command's own (128 + N when signal N ended it), except 3 when --fail-on is exceeded by a
command that itself succeeded, and 2 when it could not be run.

examples:
  jitwatch profile python serve.py
  jitwatch profile --offline python serve.py        no GPU: real keys and compiles, kernels run in the interpreter
  jitwatch profile --fail-on 0 pytest tests/
  jitwatch profile torchrun --nproc-per-node 4 train.py
"""


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `jitwatch profile`."""
    parser.usage = "jitwatch profile [options] [--] COMMAND [ARGUMENT ...]"
    parser.epilog = EPILOG
    parser.add_argument(
        "--offline",
        choices=tuple(TARGETS),
        metavar="TARGET",
        help=f"run without a GPU: compile for TARGET (--offline alone: {DEFAULT_TARGET}; --offline=TARGET: "
        f"{', '.join(TARGETS)}) and run the kernels in Triton's interpreter",
    )
    parser.add_argument(
        "--no-execute",
        action="store_true",
        help="offline: only compile, do not run the kernels (fast; their outputs stay unwritten)",
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="run directory (default: .jitwatch/runs/TIME-PID)"
    )
    parser.add_argument(
        "--fail-on",
        type=int,
        metavar="N",
        help="exit 3 when more than N recompiles happened and the command succeeded",
    )
    parser.add_argument("--quiet", action="store_true", help="record only; print no report")
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND", help=argparse.SUPPRESS)


def rewrite(words: list[str]) -> list[str]:
    """Make the border between our options and the command explicit, and give a bare ``--offline`` its default.

    argparse cannot: an option whose value may be left out takes the command's first word for it.
    """
    ours, position = [], 0
    while position < len(words) and words[position].startswith("-") and words[position] != "--":
        word = words[position]
        ours.append(f"{word}={DEFAULT_TARGET}" if word == "--offline" else word)
        position += 1
        if word in ("--out", "--fail-on") and position < len(words):
            ours.append(words[position])
            position += 1
    rest = words[position:]
    return [*ours, *rest] if rest[:1] == ["--"] or not rest else [*ours, "--", *rest]


def run(args: argparse.Namespace) -> int:
    """Profile one command; returns its exit code, or 3 when --fail-on is exceeded."""
    from jitwatch.launch import child
    from jitwatch.launch.census import Census
    from jitwatch.launch.run import Run

    words = args.words[1:] if args.words[:1] == ["--"] else args.words
    if not words:
        raise JitwatchError("no command given: write it last, as in `jitwatch profile python serve.py`")
    if args.no_execute and not args.offline:
        raise JitwatchError("--no-execute goes with --offline: a real device runs what it launches")
    resolved = child.resolve(words)
    profiled = Run.create(args.out, words, args.offline, not args.no_execute)
    census = Census(profiled.directory)
    code = child.run(resolved, profiled.environment(), census.look)
    profiled.finish(code, census.unobserved())
    recompiles = _report(profiled.directory, quiet=args.quiet)
    if args.fail_on is not None and code == 0 and recompiles > args.fail_on:
        print(f"jitwatch: {recompiles} recompiles, more than --fail-on {args.fail_on}", file=sys.stderr)
        return FAILED_ON_RECOMPILES
    return code


def _report(directory: Path, quiet: bool) -> int:
    """Print the report on stderr (stdout is the command's own); returns the number of recompiles."""
    from jitwatch.analysis import analyse
    from jitwatch.report.formats import write_table
    from jitwatch.rundir import read_run

    findings = analyse(read_run(directory))
    if not quiet:
        write_table(findings, sys.stderr)
    return findings.recompiles
