"""The command line: one module a command, each with ``prepare_parser`` and ``run``; no logic here.

A command's module is imported only when it is asked for: ``jitwatch profile`` must not pay for the linter, nor
``jitwatch lint`` for the recorder or for rich (40 ms) where its format needs none.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Protocol

from jitwatch import __version__
from jitwatch.errors import JitwatchError

COMMANDS = {
    "profile": "run a command and report which kernels recompiled, because of which argument",
    "report": "redraw the report of a run",
    "compare": "hold two runs against each other, and fail when recompiles came back",
    "verify": "prove that a remedy costs no speed, by compiling the kernel with and without it",
    "lint": "find what will recompile, without running it",
    "rule": "explain a lint rule",
    "server": "lint, fix and explain while you type: a language server for an editor",
}
"""Name of the command (and of its module in this folder) to its one-line help, in the order of use."""


class Command(Protocol):
    """What a module in this folder provides; ``rewrite(words) -> words`` too where argparse needs help."""

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's arguments."""

    def run(self, args: argparse.Namespace) -> int:
        """Run it; returns the exit code. Raises JitwatchError on bad input."""


def load_command(name: str) -> Command:
    """Import a command's module."""
    module: Command = importlib.import_module(f"jitwatch.cli.{name}")
    return module


def build_parser(chosen: str | None) -> argparse.ArgumentParser:
    """Parser with every command listed and the chosen one's arguments filled in."""
    parser = argparse.ArgumentParser(
        prog="jitwatch",
        description="Find the Triton kernels that recompile, name the argument behind it, and end it.",
    )
    parser.add_argument("--version", action="version", version=f"jitwatch {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, text in COMMANDS.items():
        sub = commands.add_parser(
            name,
            help=text,
            description=text[0].upper() + text[1:] + ".",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name == chosen:
            load_command(name).prepare_parser(sub)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the ``jitwatch`` command; returns the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    chosen = next((a for a in arguments if not a.startswith("-")), None)
    try:
        if chosen in COMMANDS and (rewrite := getattr(load_command(chosen), "rewrite", None)):
            after = arguments.index(chosen) + 1
            arguments[after:] = rewrite(arguments[after:])
        args = build_parser(chosen).parse_args(arguments)
        return load_command(args.command).run(args)
    except JitwatchError as error:
        print(f"jitwatch: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        # `jitwatch report | head`: the reader has what it wanted. Keep the interpreter's own flush quiet too.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
