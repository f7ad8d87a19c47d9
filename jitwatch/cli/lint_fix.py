"""``jitwatch lint --fix``: its options, and what it prints."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from jitwatch.cli.lint_request import (
    CLEAN,
    FAILED,
    FINDINGS,
    exit_code,
    lines_of,
    options_of,
    reads_stdin,
)
from jitwatch.collector import without_collector
from jitwatch.errors import JitwatchError

if TYPE_CHECKING:
    from jitwatch.fix.command import Policy
    from jitwatch.fix.passes import Fixed, Lint
    from jitwatch.fix.proof import Proofs
    from jitwatch.lint.config import Configuration
    from jitwatch.lint.engine import Options, Outcome

OPTIONS = (
    ("--fix", "apply the safe fixes, and report what is left"),
    ("--unsafe-fixes", "count and apply those too that somebody has to look at"),
    ("--diff", "write nothing: print what --fix would change, and exit 1 if there is anything"),
    ("--fix-only", "apply fixes, and report nothing of what is left"),
    ("--show-fixes", "list what was fixed"),
    ("--exit-non-zero-on-fix", "exit 1 when something was fixed, even with nothing left"),
    ("--verify", "compile both forms of each fix: what is proven harmless becomes safe, what costs is left"),
)


def prepare(group: argparse._ArgumentGroup) -> None:
    """Add the options."""
    for option, text in OPTIONS:
        group.add_argument(option, action="store_true", help=text)
    group.add_argument("--target", metavar="T", help="of --verify, such as cuda:90 or hip:gfx942")
    group.add_argument("--python", metavar="EXE", help="of --verify: interpreter that can import the kernels")


def is_asked(args: argparse.Namespace) -> bool:
    """Whether anything is to be fixed."""
    return bool(args.fix or args.fix_only or args.diff)


def check(args: argparse.Namespace) -> None:
    """Refuse options that make no sense together. Raises JitwatchError."""
    if is_asked(args) and (args.watch or args.add_ignore):
        raise JitwatchError("--fix, --fix-only and --diff go with neither --watch nor --add-ignore")
    if not is_asked(args) and (args.verify or args.show_fixes or args.exit_non_zero_on_fix):
        raise JitwatchError(
            "--verify, --show-fixes and --exit-non-zero-on-fix say how to fix: add --fix, --fix-only or --diff"
        )
    if args.verify and reads_stdin(args):
        raise JitwatchError("--verify imports the files it compiles: it cannot verify stdin")


def run(args: argparse.Namespace, configuration: Configuration) -> int:
    """Fix, print what was asked for, and return the exit code."""
    from jitwatch.fix.command import fix, undone_problems, write
    from jitwatch.lint.progress import progress_bar

    with progress_bar() as progress:
        options = options_of(args, configuration, progress)
    source = sys.stdin.buffer.read() if reads_stdin(args) else None
    policy = _policy(args, options)
    with without_collector():
        fixed, proofs = fix(_lint(args, configuration, options, source), policy)
    problems = [*fixed.outcome.problems, *undone_problems(fixed)]
    if not args.diff and source is None:
        problems += write(fixed)
    for problem in problems:
        print(f"jitwatch: {problem}", file=sys.stderr)
    if args.diff:
        _print_diff(args, fixed)
    else:
        _print_fixed(args, fixed, proofs, policy, source)
    if problems:
        return FAILED
    if args.diff or (args.exit_non_zero_on_fix and fixed.after):
        return FINDINGS if fixed.after else CLEAN
    return CLEAN if args.fix_only else exit_code(fixed.outcome, exit_zero=args.exit_zero)


def _lint(
    args: argparse.Namespace, configuration: Configuration, options: Options, source: bytes | None
) -> Lint:
    """The lint that is run again after each pass."""
    from jitwatch.fix.passes import Remembering
    from jitwatch.lint.engine import lint_paths, lint_text

    options = replace(options, cache=Remembering(options.cache), keep_project=True)
    name = args.stdin_filename or "stdin.py"

    def lint(changed: Mapping[str, bytes]) -> Outcome:
        if source is not None:
            return lint_text(name, changed.get(name, source), configuration, options)
        return lint_paths(args.paths or ["."], configuration, replace(options, overlay=changed))

    return lint


def _policy(args: argparse.Namespace, options: Options) -> Policy:
    from jitwatch.fix.command import Policy

    if not args.verify:
        return Policy(args.unsafe_fixes, options.recording)
    from jitwatch.verify.command import Asked
    from jitwatch.verify.wanted import Wanted

    return Policy(args.unsafe_fixes, options.recording, Asked(Wanted(), args.target, args.python))


def _print_diff(args: argparse.Namespace, fixed: Fixed) -> None:
    """Print the diff, and how much it mends on stderr: a patch must be nothing but a patch."""
    from jitwatch.fix.files import diff_lines
    from jitwatch.lint.formats.footer import count, fixable
    from jitwatch.lint.formats.output import opened

    with opened(args.output_file) as out:
        for line in diff_lines(fixed.before, fixed.after):
            print(line, file=out)
    words = f"Would fix {count(len(fixed.applied), 'finding')}." if fixed.applied else "Nothing to fix."
    print(" ".join([words, *fixable(fixed.outcome, unsafe=args.unsafe_fixes)]), file=sys.stderr)


def _print_fixed(
    args: argparse.Namespace, fixed: Fixed, proofs: Proofs | None, policy: Policy, source: bytes | None
) -> None:
    """Print what was fixed and what is left. Of stdin, the source goes to stdout and all of this to stderr."""
    from jitwatch.fix.summary import fixes_by_file, predicted_against_proven
    from jitwatch.lint.formats.output import opened

    if source is not None:
        sys.stdout.buffer.write(next(iter(fixed.after.values()), source))
        sys.stdout.buffer.flush()
    with opened(args.output_file) as out:
        said = out if source is None or args.output_file else sys.stderr
        if not args.fix_only:
            for line in lines_of(args, fixed.outcome, said, fixed=len(fixed.applied)):
                print(line, file=said)
    if args.show_fixes and fixed.applied:
        for line in fixes_by_file(fixed.applied):
            print(line, file=sys.stderr if source is not None else sys.stdout)
    if policy.recording is not None and fixed.applied:
        for line in predicted_against_proven(fixed, policy.recording, proofs):
            print(line, file=sys.stderr)
