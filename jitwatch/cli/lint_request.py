"""What both ``jitwatch lint`` and its ``--fix`` read of the command line, print, and exit with."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from jitwatch.errors import JitwatchError

if TYPE_CHECKING:
    from jitwatch.lint.analysis import Progress
    from jitwatch.lint.config import Configuration
    from jitwatch.lint.engine import Options, Outcome

CLEAN, FINDINGS, FAILED = 0, 1, 2
"""Exit codes: nothing found; something found; a file could not be linted, or bad usage."""


def exit_code(outcome: Outcome, *, exit_zero: bool = False) -> int:
    """2 when something could not be linted, 1 for findings, else 0."""
    if outcome.problems:
        return FAILED
    return FINDINGS if outcome.shown and not exit_zero else CLEAN


def reads_stdin(args: argparse.Namespace) -> bool:
    """Whether the source comes on stdin. Raises JitwatchError for what stdin does not go with."""
    from_stdin = args.paths == ["-"] or bool(args.stdin_filename and not args.paths)
    if "-" in args.paths and not from_stdin:
        raise JitwatchError("- (stdin) cannot be linted together with other paths")
    if from_stdin and (args.add_ignore or args.watch):
        raise JitwatchError("--add-ignore and --watch are for files, not for stdin")
    return from_stdin


def options_of(args: argparse.Namespace, configuration: Configuration, progress: Progress | None) -> Options:
    """How to lint. Raises JitwatchError for a run that is none."""
    from jitwatch.lint.cache import Cache
    from jitwatch.lint.engine import Options

    recording = None
    if args.profile:
        from jitwatch.lint.evidence import Recording

        recording = Recording.of_run(args.profile)
    cache = None if args.no_cache else Cache(Path(configuration.of(os.getcwd()).root))
    return Options(
        cache=cache,
        jobs=args.jobs,
        force_exclude=args.force_exclude,
        progress=progress,
        recording=recording,
    )


def lines_of(args: argparse.Namespace, outcome: Outcome, out: TextIO, fixed: int = 0) -> Iterator[str]:
    """Yield the findings as they were asked for; ``fixed``: how many more are mended already."""
    from jitwatch.lint.formats import HUMAN, Look, renderer
    from jitwatch.lint.formats.footer import footer
    from jitwatch.lint.formats.output import wants_colour
    from jitwatch.lint.formats.statistics import render_statistics

    look = Look(colour=wants_colour(out))
    if args.statistics:
        yield from render_statistics(outcome, args.format, look)
    else:
        yield from renderer(args.format).render(outcome, look)
    if args.format in HUMAN:
        yield from footer(outcome, unsafe=args.unsafe_fixes, fixed=fixed)
