"""The part of the plugin that is registered only in a session with a test that uses it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack
from typing import Any, TypeVar

import pytest

from jitwatch.testing.case import Case
from jitwatch.testing.children import Children
from jitwatch.testing.errors import GateError, UnwatchableError
from jitwatch.testing.limits import Limit, Policy
from jitwatch.testing.presence import missing
from jitwatch.testing.recording import Recording
from jitwatch.testing.usage import MARKER, uses
from jitwatch.testing.warmth import Warmth
from jitwatch.testing.watch import Jitwatch, NoRecompiles

T = TypeVar("T")

CASE = pytest.StashKey[Case]()
Around = Generator[None, T, T]


class Guard:
    """Watches the session, and judges the tests that ask for it."""

    def __init__(self, config: pytest.Config) -> None:
        self.policy = Policy(
            disk_hits=config.getini("jitwatch_disk_hits") == "count",
            tunings=config.getini("jitwatch_tunings") == "count",
        )
        self.skip_missing = config.getini("jitwatch_missing") == "skip"
        self.children = Children()
        self.recording = Recording(self.children)
        self.warmth = Warmth(self.recording)
        self.recording.start()

    def pytest_sessionfinish(self) -> None:
        """Let go of Triton, before reports are written."""
        self.recording.stop()
        self.children.close()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Around[object]:
        """Around set-up, body and tear-down: the memory of other tests is away, and children report."""
        self.warmth.use(getattr(item, "fixturenames", ()))
        if not uses(item):
            return (yield)
        with ExitStack() as stack:
            self.recording.hook_again()
            stack.callback(self.warmth.set_others_aside().give_back)
            stack.enter_context(self.children.watched())
            item.stash[CASE] = Case(self.recording, self.warmth, self.policy)
            return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skip, or fail, where there is nothing to watch; read the markers."""
        case = item.stash.get(CASE, None)
        if case is None:
            return
        reason = missing()
        if reason and self.skip_missing:
            pytest.skip(reason)
        if reason:
            raise UnwatchableError(reason)
        case.limits = [limit_of(mark) for mark in item.iter_markers(MARKER)]

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Around[object]:
        """What a fixture of a wider scope launches is warm-up for the tests that ask for it."""
        if fixturedef.scope == "function":
            return (yield)
        with self.warmth.set_up(fixturedef.argname):
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Around[None]:
        """Judge at the end of the body, so that a test that recompiles is FAILED and not an ERROR of its tear-down."""
        case = item.stash.get(CASE, None)
        if case is None:
            return (yield)
        with case.body():
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Around[pytest.TestReport]:
        """Print our failures as their message alone; one before the body fails the test as well."""
        report = yield
        if call.excinfo is not None and isinstance(call.excinfo.value, GateError):
            report.longrepr = call.excinfo.getrepr(style="value")
            if report.longrepr.reprcrash is not None:  # what the short summary shows
                report.longrepr.reprcrash.message = str(call.excinfo.value).partition("\n")[0]
            if report.when == "setup":
                report.when = "call"
        return report


def limit_of(mark: pytest.Mark) -> Limit:
    """Read ``max_recompiles(n, kernel=...)``. Raises UnwatchableError when it says something else."""
    number, kernel = (*mark.args, *[None] * 2)[:2]
    named = dict(mark.kwargs)
    number, kernel = named.pop("n", number), named.pop("kernel", kernel)
    if named or len(mark.args) > 2 or isinstance(number, bool) or not isinstance(number, int) or number < 0:
        raise UnwatchableError(
            f"write @pytest.mark.{MARKER}(n) or {MARKER}(n, kernel=...), n a number from 0 on"
        )
    return Limit(f"{MARKER}({number})", number, kernel, first_variants=True)


def case_of(request: pytest.FixtureRequest) -> Case:
    """The running test. Raises UnwatchableError for one that asked too late to be watched."""
    case: Case | None = request.node.stash.get(CASE, None)
    if case is None:
        raise UnwatchableError(
            f"ask for {request.fixturename} in the test's signature: it was asked for too late"
        )
    return case


def guard_of(request: pytest.FixtureRequest) -> NoRecompiles:
    """Value of the fixture ``no_recompiles``."""
    case = case_of(request)
    case.guard = case.guard or NoRecompiles(case)
    return case.guard


def jitwatch_of(request: pytest.FixtureRequest) -> Jitwatch:
    """Value of the fixture ``jitwatch``."""
    return Jitwatch(case_of(request))
