"""Two runs of the same program: what recompiles now that did not before."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from jitwatch.analysis.findings import Findings, KernelFindings
from jitwatch.analysis.misses import MissEvent


@dataclass(frozen=True, slots=True)
class Figures:
    """What is compared, of one kernel or of a whole run."""

    variants: int = 0
    recompiles: int = 0
    retunes: int = 0
    seconds: float = 0.0
    """Lost to recompiles and tuning again."""

    def __add__(self, other: Figures) -> Figures:
        """Both together."""
        return Figures(
            self.variants + other.variants,
            self.recompiles + other.recompiles,
            self.retunes + other.retunes,
            self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True)
class KernelChange:
    """One kernel in both runs. Known by module and name: lines move between two versions of a program."""

    module: str
    name: str
    before: Figures
    after: Figures
    new: tuple[MissEvent, ...]
    """A recompile of each cause (set of arguments and options that changed) that only the later run has."""
    ended: tuple[MissEvent, ...]
    """One of each cause that only the earlier run has."""

    @property
    def changed(self) -> bool:
        """Whether anything but the time differs."""
        same = (self.before.variants, self.before.recompiles, self.before.retunes) == (
            self.after.variants,
            self.after.recompiles,
            self.after.retunes,
        )
        return not same or bool(self.new or self.ended)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs side by side."""

    kernels: tuple[KernelChange, ...]
    """What lost most time in the later run first."""
    remarks: tuple[str, ...]
    """Why the two may not be comparable."""

    @property
    def before(self) -> Figures:
        """Of the earlier run."""
        return sum((each.before for each in self.kernels), Figures())

    @property
    def after(self) -> Figures:
        """Of the later run."""
        return sum((each.after for each in self.kernels), Figures())

    @property
    def new_causes(self) -> int:
        """Causes that only the later run has."""
        return sum(len(each.new) for each in self.kernels)


class Measure(enum.Enum):
    """What a gate looks at."""

    CAUSES = "causes"
    RECOMPILES = "recompiles"
    VARIANTS = "variants"
    RETUNES = "retunes"
    SECONDS = "seconds"


@dataclass(frozen=True, slots=True)
class Gate:
    """Fails when a measure grew by more than is allowed: a number, or a share of what it was."""

    measure: Measure
    allowed: float = 0.0
    share: bool = False

    def exceeded(self, comparison: Comparison) -> str | None:
        """One sentence when it is, else None."""
        before, after = self._values(comparison)
        limit = before * self.allowed / 100 if self.share else self.allowed
        if after - before <= limit + 1e-9:
            return None
        # "causes" are those that are new, so there is no earlier number of them.
        grew = f"{after:g} new" if self.measure is Measure.CAUSES else f"{before:g} → {after:g}"
        beyond = f", more than {self.allowed:g}{'%' if self.share else ''} allowed" if self.allowed else ""
        return f"{self.measure.value}: {grew}{beyond}"

    def _values(self, comparison: Comparison) -> tuple[float, float]:
        if self.measure is Measure.CAUSES:
            return 0, comparison.new_causes
        name = self.measure.value
        return getattr(comparison.before, name), getattr(comparison.after, name)


def read_gate(text: str) -> Gate:
    """Read ``recompiles``, ``recompiles:2``, ``seconds:10%``. Raises ValueError that names what there is."""
    match = re.fullmatch(r"([a-z]+)(?::(\d+(?:\.\d+)?)(%?))?", text.strip())
    names = [measure.value for measure in Measure]
    if match is None or match[1] not in names:
        raise ValueError(
            f"cannot gate on {text!r}: write {', '.join(names)}, with :N or :N% for what may be added"
        )
    measure, share = Measure(match[1]), bool(match[3])
    if share and measure is Measure.CAUSES:
        raise ValueError(f"cannot gate on {text!r}: new causes have no earlier number to take a share of")
    return Gate(measure, float(match[2] or 0), share)


def compare_runs(before: Findings, after: Findings) -> Comparison:
    """Compare an earlier run with a later one."""
    old, new = _by_name(before.kernels), _by_name(after.kernels)
    kernels = [_kernel(*key, old.get(key, []), new.get(key, [])) for key in {**new, **old}]
    kernels.sort(key=lambda each: (-each.after.seconds, -each.before.seconds, each.module, each.name))
    return Comparison(tuple(kernels), tuple(_remarks(before, after)))


def _by_name(kernels: Iterable[KernelFindings]) -> dict[tuple[str, str], list[KernelFindings]]:
    groups: dict[tuple[str, str], list[KernelFindings]] = {}
    for found in kernels:
        groups.setdefault((found.kernel.module, found.kernel.name), []).append(found)
    return groups


def _kernel(
    module: str, name: str, before: Sequence[KernelFindings], after: Sequence[KernelFindings]
) -> KernelChange:
    old, new = _causes(before), _causes(after)
    return KernelChange(
        module,
        name,
        sum(map(_figures, before), Figures()),
        sum(map(_figures, after), Figures()),
        tuple(event for cause, event in new.items() if cause not in old),
        tuple(event for cause, event in old.items() if cause not in new),
    )


def _figures(found: KernelFindings) -> Figures:
    retunes = found.tuning.retunes if found.tuning else 0
    return Figures(found.variants, len(found.recompiles), retunes, found.seconds_lost)


def _causes(kernels: Iterable[KernelFindings]) -> dict[tuple[tuple[str, str], ...], MissEvent]:
    """The first recompile of each cause."""
    causes: dict[tuple[tuple[str, str], ...], MissEvent] = {}
    for found in kernels:
        for event in found.recompiles:
            causes.setdefault(tuple((each.subject.value, each.name) for each in event.changes), event)
    return causes


def _remarks(before: Findings, after: Findings) -> Iterable[str]:
    old, new = before.run, after.run
    if old.triton != new.triton:
        yield f"Triton {_listed(old.triton)} before, {_listed(new.triton)} after: classes may differ"
    if old.target != new.target or old.offline != new.offline:
        yield f"{_device(old.target)} before, {_device(new.target)} after: times cannot be compared"
    if old.command != new.command:
        yield "the commands differ"
    for run, word in ((old, "earlier"), (new, "later")):
        if run.exit_code not in (0, None):
            yield f"the {word} command ended with exit code {run.exit_code}"


def _listed(versions: Sequence[str]) -> str:
    return " and ".join(versions) or "of unknown version"


def _device(target: str | None) -> str:
    return f"offline ({target})" if target else "a GPU"
