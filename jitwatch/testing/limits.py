"""How many misses a test may have, and which count."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jitwatch.analysis import MissEvent
from jitwatch.report import wording
from jitwatch.testing.errors import RecompileError, UnwatchableError
from jitwatch.testing.happened import Happened, Tuned, moment
from jitwatch.testing.kernels import KernelLike, selector
from jitwatch.testing.recording import OWN


@dataclass(frozen=True)
class Policy:
    """What the ini file says."""

    disk_hits: bool = True
    """``jitwatch_disk_hits = count``: a miss that the disk cache answers counts."""
    tunings: bool = True
    """``jitwatch_tunings = count``: an autotuner that benchmarks counts as one miss of its launch."""


@dataclass(frozen=True)
class Limit:
    """At most `at_most` misses, of `kernel` where it is given, never counting those of `ignore`."""

    what: str
    """Who sets the limit, for the message."""
    at_most: int = 0
    kernel: KernelLike | None = None
    ignore: tuple[KernelLike, ...] = ()
    first_variants: bool = False
    """The first variant of each kernel in the test does not count."""

    def check(self, happened: Happened, policy: Policy) -> None:
        """Raise RecompileError when there were more."""
        if not happened.events and not happened.tuned and self.kernel is None:
            return
        self._check_kernel(happened)
        counted = self.count(happened, policy)
        if len(counted) > self.at_most:
            from jitwatch.testing.message import compose

            names = tuple(dict.fromkeys(each.kernel.name for each in counted))
            message = compose(self._headline(counted), counted, happened, warm=not self.first_variants)
            raise RecompileError(message, names)

    def count(self, happened: Happened, policy: Policy) -> list[MissEvent | Tuned]:
        """What counts, in order."""
        misses = happened.misses if not self.first_variants else happened.recompiles
        counted: list[MissEvent | Tuned] = [
            each
            for each in misses
            if self._concerns(each)
            and (policy.disk_hits or not (each.miss.served and each.miss.served.cached))
            and (each.recompile or not _began_inside(each, happened))
        ]
        if policy.tunings:
            counted += [
                each
                for each in happened.tuned
                if self._concerns(each)
                and not each.tune.cached
                and (each.earlier or not (self.first_variants or _began_inside(each, happened)))
            ]
        return sorted(counted, key=moment)

    def _concerns(self, thing: MissEvent | Tuned) -> bool:
        if any(selector(each)(thing.kernel) for each in self.ignore):
            return False
        return self.kernel is None or selector(self.kernel)(thing.kernel)

    def _check_kernel(self, happened: Happened) -> None:
        """A misspelled kernel would never miss."""
        if not isinstance(self.kernel, str):
            return
        seen = [each.kernel for each in happened.findings.kernels]
        if not any(map(selector(self.kernel), seen)):
            names = ", ".join(dict.fromkeys(each.name for each in seen)) or "none"
            raise UnwatchableError(
                f"{self.what}: no kernel called {self.kernel!r} was launched in this test; launched: {names}"
            )

    def _headline(self, counted: Sequence[MissEvent | Tuned]) -> str:
        names = ", ".join(dict.fromkeys(each.kernel.name for each in counted))
        noun, beyond = (
            ("recompile", "") if self.first_variants else ("launch", " missed Triton's in-memory cache")
        )
        number = wording.count(len(counted), noun, None if self.first_variants else "launches")
        allowed = f", {self.at_most} allowed" if self.at_most else ""
        return f"{self.what}: {number} of {names}{beyond}{allowed}"


def check_all(limits: Iterable[Limit], happened: Happened, policy: Policy) -> None:
    """Raise for the first limit that is exceeded."""
    for limit in limits:
        limit.check(happened, policy)


def _began_inside(thing: MissEvent | Tuned, happened: Happened) -> bool:
    """In a process that was started within the block: its memory was empty, so its first variants cannot count."""
    return thing.process.file != OWN and thing.process.time >= happened.since
