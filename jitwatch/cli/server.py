"""``jitwatch server``."""

from __future__ import annotations

import argparse
import sys

from jitwatch.errors import JitwatchError

EPILOG = """\
An editor starts it and speaks the language server protocol over its standard input and output: findings while you
type, quick fixes (and source.fixAll.jitwatch for the safe ones), and what a kernel's parameter does to the compile
key when the mouse rests on it. Settings are those of `jitwatch lint`, in the nearest pyproject.toml.

Neovim:
  vim.lsp.config("jitwatch", { cmd = { "jitwatch", "server" }, filetypes = { "python" }, root_markers = { ".git" } })
  vim.lsp.enable("jitwatch")
Helix, in languages.toml:
  [language-server.jitwatch]
  command = "jitwatch"
  args = ["server"]
"""


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.epilog = EPILOG
    parser.add_argument("--stdio", action="store_true", help="speak over stdin and stdout, as it does anyhow")


def run(args: argparse.Namespace) -> int:
    """Run it."""
    if sys.stdin.isatty():
        raise JitwatchError("server is for an editor to start: `jitwatch server --help` says how")
    try:
        import pygls.lsp.server  # noqa: F401
    except ImportError:
        raise JitwatchError("server needs pygls 2: pip install 'jitwatch[lsp]'") from None
    from jitwatch.server.serve import serve

    return serve()
