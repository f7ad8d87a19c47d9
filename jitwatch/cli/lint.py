"""``jitwatch lint``."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from jitwatch.cli import lint_fix
from jitwatch.cli.lint_request import (
    CLEAN,
    FAILED,
    exit_code,
    lines_of,
    options_of,
    reads_stdin,
)
from jitwatch.collector import without_collector

if TYPE_CHECKING:
    from jitwatch.lint.config import Configuration
    from jitwatch.lint.engine import Outcome

EPILOG = """\
exit codes:
  0  no findings, or none left after --fix (or --exit-zero); --diff: nothing to fix
  1  findings; --diff: something to fix; --exit-non-zero-on-fix: something was fixed
  2  a file could not be read, parsed or written (the others are done), or bad usage

fixes:
  jitwatch lint --fix src/                 what is safe: the program does the same afterwards
  jitwatch lint --unsafe-fixes --diff src/ what more there is, as a diff
  jitwatch lint --fix --verify src/        compile both forms, and apply what is proven harmless
  jitwatch lint --fix --verify --profile RUN src/   only what a run showed, the dearest first

suppress a finding where it stands, with a reason:
  def kernel(x, n):  # jitwatch: ignore[JW001] one length in this service

settings, in the nearest pyproject.toml:
  [tool.jitwatch.lint]
  ignore = ["JW012"]
  exclude = ["generated/"]
  context = ["src/"]  # read for its launches and kernels even when only some files are linted
  per-file-ignores = { "tests/*" = ["JW010"] }
"""


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.epilog = EPILOG
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="files and folders (default: .), or - for stdin"
    )
    _prepare_selection(parser.add_argument_group("which rules and files"))
    lint_fix.prepare(parser.add_argument_group("fixes"))
    _prepare_output(parser.add_argument_group("output"))
    _prepare_running(parser.add_argument_group("running"))


def _prepare_selection(group: argparse._ArgumentGroup) -> None:
    for option, text in (
        ("--select", "only these rules: codes, their beginnings, names, or ALL"),
        ("--ignore", "not these"),
        ("--extend-select", "these too"),
    ):
        group.add_argument(option, action="extend", type=_codes, default=[], metavar="CODES", help=text)
    group.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="PATTERN",
        help="leave these out too, as in .gitignore",
    )
    group.add_argument(
        "--context",
        action="append",
        default=[],
        metavar="PATH",
        help="read these too for their launches and kernels, and report nothing on them",
    )
    group.add_argument(
        "--force-exclude",
        action="store_true",
        help="leave excluded files out even when they are named, as pre-commit does",
    )
    group.add_argument("--isolated", action="store_true", help="read no pyproject.toml")


def _prepare_output(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--format",
        choices=("full", "concise", "json", "github", "sarif"),
        default="full",
        help="full (default) shows the source and the remedy",
    )
    group.add_argument("--output-file", metavar="FILE", help="write there instead of stdout")
    group.add_argument(
        "--statistics", action="store_true", help="count findings by rule instead of listing them"
    )
    group.add_argument(
        "--profile",
        type=Path,
        metavar="RUN",
        help="hold the findings against a run of `jitwatch profile`: what it confirms first, with its cost; "
        "with --fix only that is mended",
    )
    group.add_argument("--exit-zero", action="store_true", help="exit 0 even with findings")
    group.add_argument("--show-settings", action="store_true", help="print the settings that hold, and stop")


def _prepare_running(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--stdin-filename",
        metavar="PATH",
        help="what the source on stdin is called: its settings, its findings",
    )
    group.add_argument(
        "--add-ignore",
        action="store_true",
        help="add a suppressing comment at each finding, to start with a clean slate",
    )
    group.add_argument("--reason", default="", metavar="TEXT", help="the reason that --add-ignore writes")
    group.add_argument("--watch", action="store_true", help="lint again when a file changes (extra: watch)")
    group.add_argument("--no-cache", action="store_true", help="neither read nor write .jitwatch_cache")
    group.add_argument("--jobs", type=_jobs, metavar="N", help="worker processes (default: one a core)")


def run(args: argparse.Namespace) -> int:
    """Run it."""
    from jitwatch.lint.config import Configuration, Overrides
    from jitwatch.lint.registry import matching

    for selector in (*args.select, *args.ignore, *args.extend_select):
        matching(selector)  # a misspelled code ends the run here, even where there is nothing to lint

    overrides = Overrides(
        select=tuple(args.select),
        extend_select=tuple(args.extend_select),
        ignore=tuple(args.ignore),
        exclude=tuple(args.exclude),
        context=tuple(args.context),
        isolated=args.isolated,
    )
    lint_fix.check(args)
    if args.show_settings:
        return _show_settings(args, Configuration(overrides))
    if args.watch:
        from jitwatch.lint.watch import watch

        return watch(args.paths or ["."], lambda: _lint_and_print(args, Configuration(overrides)))
    return _lint_and_print(args, Configuration(overrides))


def _lint_and_print(args: argparse.Namespace, configuration: Configuration) -> int:
    if lint_fix.is_asked(args):
        return lint_fix.run(args, configuration)
    with without_collector():
        outcome = _lint(args, configuration)
    for problem in outcome.problems:
        print(f"jitwatch: {problem}", file=sys.stderr)
    if args.add_ignore:
        return _add_ignores(args, outcome)
    from jitwatch.lint.formats.output import opened

    with opened(args.output_file) as out:
        for line in lines_of(args, outcome, out):
            print(line, file=out)
    if outcome.notebooks:
        noun = "notebook" if outcome.notebooks == 1 else "notebooks"
        print(f"jitwatch: {outcome.notebooks} {noun} left out: only Python files are read", file=sys.stderr)
    return exit_code(outcome, exit_zero=args.exit_zero)


def _lint(args: argparse.Namespace, configuration: Configuration) -> Outcome:
    from jitwatch.lint.engine import lint_paths, lint_text
    from jitwatch.lint.progress import progress_bar

    from_stdin = reads_stdin(args)
    with progress_bar() as progress:
        options = options_of(args, configuration, progress)
        if not from_stdin:
            return lint_paths(args.paths or ["."], configuration, options)
        name = args.stdin_filename or "stdin.py"
        return lint_text(name, sys.stdin.buffer.read(), configuration, options)


def _show_settings(args: argparse.Namespace, configuration: Configuration) -> int:
    from jitwatch.lint.show import settings_lines

    for path in args.paths or ["."]:
        for line in settings_lines(path, configuration):
            print(line)
    return CLEAN


def _add_ignores(args: argparse.Namespace, outcome: Outcome) -> int:
    from jitwatch.lint.ignore import add_ignores

    written = add_ignores(outcome, args.reason)
    comments = sum(written.values())
    print(f"Added {comments} {'comment' if comments == 1 else 'comments'} in {len(written)} files.")
    return FAILED if outcome.problems else CLEAN


def _codes(text: str) -> list[str]:
    return [code for code in re.split(r"[,\s]+", text) if code]


def _jobs(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number of processes, 1 or more")
    return int(text)
