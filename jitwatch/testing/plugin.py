"""The pytest plugin as pytest loads it into every session: options, settings, and fixtures that import the rest."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

from jitwatch.testing.usage import MARKER, uses

if TYPE_CHECKING:
    from jitwatch.testing.session import SessionRun
    from jitwatch.testing.watch import Jitwatch, NoRecompiles

TARGET = "cuda:90"

GUARD = "jitwatch-guard"
"""Name of the plugin that is registered when a test uses jitwatch."""

INI = {
    "jitwatch_missing": ("skip", "what a test that uses jitwatch does without Triton or GPU: skip or fail"),
    "jitwatch_disk_hits": ("count", "misses that Triton's disk cache answers: count or ignore"),
    "jitwatch_tunings": ("count", "autotuners that benchmark: count as a miss of their launch, or ignore"),
}
"""Name to default and help; the default and one other word are the values."""

VALUES = {"jitwatch_missing": ("skip", "fail")}

RUN: pytest.StashKey[SessionRun] = pytest.StashKey()


class OptionalTarget(argparse.Action):
    """``--jitwatch-offline tests/``: a word that is no target is a path to test, and not this option's value."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Keep a target; hand anything else on to what reads the paths."""
        target = values if isinstance(values, str) else TARGET
        if ":" not in target or "::" in target:
            unread = argparse._UNRECOGNIZED_ARGS_ATTR
            setattr(namespace, unread, [*getattr(namespace, unread, []), target])
            target = TARGET
        setattr(namespace, self.dest, target)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare options and settings."""
    group = parser.getgroup("jitwatch", "Triton recompiles")
    group.addoption(
        "--jitwatch-offline",
        nargs="?",
        action=OptionalTarget,
        metavar="TARGET",
        help=f"no GPU: compile for TARGET ({TARGET}), run kernels in Triton's interpreter, torch answers as a GPU",
    )
    group.addoption(
        "--jitwatch-report",
        action="store_true",
        help="tell at the end which kernels recompiled in the session",
    )
    parser.addini("jitwatch_offline", "always run offline, for this target")
    for name, (default, text) in INI.items():
        parser.addini(name, text, default=default)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Stand in for the GPU before any conftest imports torch and asks for one."""
    asked = early_config.known_args_namespace
    target = asked.jitwatch_offline or early_config.getini("jitwatch_offline") or None
    if target or asked.jitwatch_report:
        from jitwatch.testing.session import start

        run = start(early_config.invocation_params.args, target, asked.jitwatch_report)
        if run is not None:
            early_config.stash[RUN] = run


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker; refuse settings that mean nothing."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(n, kernel=None): the test fails when its kernels (or this one) recompile more than n times",
    )
    for name, (default, _) in INI.items():
        valid = VALUES.get(name, ("count", "ignore"))
        if config.getini(name) not in valid:
            raise pytest.UsageError(f"{name} is {' or '.join(valid)} (default {default})")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Register what watches, if any test wants it; a session without pays for this loop alone."""
    config = session.config
    if config.option.collectonly or config.pluginmanager.hasplugin(GUARD):
        return
    if any(map(uses, session.items)):
        from jitwatch.testing.guard import Guard

        config.pluginmanager.register(Guard(config), GUARD)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    """Print the report of ``--jitwatch-report``."""
    run = config.stash.get(RUN, None)
    if run is not None:
        run.report(terminalreporter, int(exitstatus))


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave nothing behind."""
    run = config.stash.get(RUN, None)
    if run is not None:
        run.close()


@pytest.fixture
def no_recompiles(request: pytest.FixtureRequest) -> NoRecompiles:
    """``with no_recompiles:`` fails the test when a launch inside misses; never entered, guards the whole test.

    Inside the block a first variant counts too. The guard of the whole test allows each kernel one variant.
    """
    from jitwatch.testing.guard import guard_of

    return guard_of(request)


@pytest.fixture
def jitwatch(request: pytest.FixtureRequest) -> Jitwatch:
    """Watch launches: ``watch()``, ``no_recompiles(allow=...)``, ``variants(kernel)``, ``sweep(f, lengths, ...)``."""
    from jitwatch.testing.guard import jitwatch_of

    return jitwatch_of(request)
