"""``jitwatch rule``."""

from __future__ import annotations

import argparse


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "rule", nargs="?", metavar="CODE", help="code or name of a rule; without it, all are listed"
    )


def run(args: argparse.Namespace) -> int:
    """Run it."""
    from rich.console import Console
    from rich.markdown import Markdown

    from jitwatch.lint.document import overview_table, rule_page
    from jitwatch.lint.registry import all_rules, find_rule

    console = Console(highlight=False)
    if args.rule:
        console.print(Markdown(rule_page(find_rule(args.rule))))
        return 0
    rules = all_rules()
    console.print(overview_table(rules.values()))
    if rules:
        console.print(f"`jitwatch rule {next(iter(rules))}` explains one.")
    return 0
