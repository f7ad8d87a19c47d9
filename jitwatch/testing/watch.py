"""What tests hold in their hands: the objects behind the fixtures ``no_recompiles`` and ``jitwatch``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, NoReturn, TypeVar

from jitwatch.analysis import MissEvent
from jitwatch.testing.case import Case
from jitwatch.testing.errors import RecompileError
from jitwatch.testing.happened import Happened, Tuned
from jitwatch.testing.kernels import KernelLike, selector
from jitwatch.testing.limits import Limit
from jitwatch.testing.message import compose
from jitwatch.testing.recording import Mark

T = TypeVar("T")


class Block(AbstractContextManager["Watched"]):
    """A ``with`` block whose launches are watched, and held to a limit where there is one."""

    def __init__(self, case: Case, limit: Limit | None) -> None:
        self._case = case
        self._limit = limit
        self._begin: Mark | None = None
        self._watched: Watched | None = None

    def __enter__(self) -> Watched:
        """Watch from now on."""
        self._begin = self._case.recording.mark()
        self._watched = Watched(self._case, self._begin)
        self._case.open_blocks.append(self)
        return self._watched

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Judge, unless the block raised: its own error is the one to see."""
        __tracebackhide__ = True
        if self in self._case.open_blocks:
            self._case.open_blocks.remove(self)
            self.close(judge=error is None)

    def close(self, judge: bool = True) -> None:
        """Stop watching. Raises RecompileError when `judge` is set and the limit is exceeded."""
        __tracebackhide__ = True
        if self._watched is None:
            return
        self._watched.end = self._case.recording.mark()
        if judge and self._limit is not None:
            self._case.check_watchable()
            self._limit.check(self._watched.happened, self._case.policy)


class Watched:
    """What happened in a block: complete when it has ended, up to now while it is open."""

    def __init__(self, case: Case, begin: Mark) -> None:
        self._case = case
        self._begin = begin
        self._whole: Happened | None = None
        self.end: Mark | None = None

    @property
    def happened(self) -> Happened:
        """Misses and tunings with their causes."""
        if self.end is None:
            return self._case.happened(self._begin, self._case.recording.mark())
        if self._whole is None:
            self._whole = self._case.happened(self._begin, self.end)
        return self._whole

    @property
    def misses(self) -> tuple[MissEvent, ...]:
        """Launches that found no variant in memory."""
        return self.happened.misses

    @property
    def recompiles(self) -> tuple[MissEvent, ...]:
        """Misses after a kernel's first variant in this test; ``changes`` says why."""
        return self.happened.recompiles

    @property
    def disk_hits(self) -> tuple[MissEvent, ...]:
        """Misses that Triton's disk cache answered."""
        return self.happened.disk_hits

    @property
    def tuned(self) -> tuple[Tuned, ...]:
        """Autotuners that met a new key."""
        return self.happened.tuned

    @property
    def candidates(self) -> tuple[MissEvent, ...]:
        """Variants that autotuners compiled to try them; no ``misses``."""
        return self.happened.candidates

    @property
    def kernels(self) -> tuple[str, ...]:
        """Names of the kernels that missed, in order."""
        return self.happened.kernels

    def variants(self, kernel: KernelLike) -> tuple[dict[str, str], ...]:
        """Argument classes of the variants that launches of `kernel` missed: ``{"n": "i32 ÷16"}``."""
        return self.happened.variants(kernel)

    def __str__(self) -> str:
        """The table that a failing test shows."""
        return compose("launches that missed:", self.misses, self.happened)


class NoRecompiles:
    """The fixture ``no_recompiles``: ``with no_recompiles:`` as often as wanted, nested too."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._blocks: list[Block] = []
        self.entered = False
        """Never entered, it guards the whole test."""

    def __enter__(self) -> Watched:
        """Let no launch miss from now on."""
        self.entered = True
        block = Block(self._case, Limit(f"no_recompiles ({_caller()})"))
        self._blocks.append(block)
        return block.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Judge."""
        __tracebackhide__ = True
        self._blocks.pop().__exit__(kind, error, trace)


class Jitwatch:
    """The fixture ``jitwatch``."""

    def __init__(self, case: Case) -> None:
        self._case = case

    def watch(self) -> Block:
        """``with jitwatch.watch() as watched:`` and ``watched`` tells what happened; nothing fails."""
        return Block(self._case, None)

    def no_recompiles(
        self,
        *,
        allow: int = 0,
        kernel: KernelLike | None = None,
        ignore: Iterable[KernelLike] = (),
        first_variants: bool = False,
    ) -> Block:
        """A block in which at most `allow` launches may miss.

        `kernel`: only that one counts. `ignore`: these do not. `first_variants`: each kernel's first one does not,
        so that what is left are recompiles.
        """
        limit = Limit(f"jitwatch.no_recompiles ({_caller()})", allow, kernel, tuple(ignore), first_variants)
        return Block(self._case, limit)

    def variants(self, kernel: KernelLike) -> tuple[dict[str, str], ...]:
        """Argument classes of the variants that `kernel` has needed in this test so far, its fixtures included."""
        return self._case.happened(None, self._case.recording.mark()).variants(kernel)

    def sweep(
        self,
        function: Callable[[T], Any],
        values: Iterable[T],
        *,
        variants: int | None = None,
        at_most: int | None = None,
        kernel: KernelLike | None = None,
    ) -> Watched:
        """Call `function` with each of `values`, its kernel's memory empty at first, and count its variants.

        `variants` is the number expected, `at_most` an upper one; `kernel` says whose, and is needed when several
        were launched. Raises RecompileError when the number is another.
        """
        __tracebackhide__ = True
        self._case.check_watchable()
        with self._case.anew() as case, Block(case, None) as watched:
            for value in values:
                function(value)
        missed = _of_one_kernel(watched, kernel)
        number = len(watched.variants(missed[0].kernel.name)) if missed else 0
        if variants is not None and number != variants:
            _fail(f"{number} variants, expected {variants}", missed, watched)
        if at_most is not None and number > at_most:
            _fail(f"{number} variants, at most {at_most} allowed", missed, watched)
        return watched


def _of_one_kernel(watched: Watched, kernel: KernelLike | None) -> list[MissEvent]:
    matches = selector(kernel) if kernel is not None else lambda each: True
    missed = [each for each in watched.misses if matches(each.kernel)]
    names = sorted({each.kernel.name for each in missed})
    if len(names) > 1:
        raise TypeError(f"jitwatch.sweep: it launches {', '.join(names)}: say which one with kernel=")
    return missed


def _fail(what: str, missed: list[MissEvent], watched: Watched) -> NoReturn:
    __tracebackhide__ = True
    names = tuple(dict.fromkeys(each.kernel.name for each in missed))
    headline = f"jitwatch.sweep ({_caller()}): {', '.join(names) or 'no kernel'} has {what}"
    raise RecompileError(compose(headline, missed, watched.happened), names)


def _caller() -> str:
    """``file:line`` of the test that called."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("jitwatch.testing"):
        frame = frame.f_back
    path = frame.f_code.co_filename
    home = os.getcwd() + os.sep
    return f"{path[len(home) :] if path.startswith(home) else path}:{frame.f_lineno}"
