"""Autotuners that tuned again: invisible to miss hooks, since the key holds argument values verbatim."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from jitwatch.rundir import ProcessLog, Site, Tune
from jitwatch.specialization import Value, show_value


@dataclass(frozen=True, slots=True)
class KeyArgument:
    """An argument of an autotune key, and what leaving it out (or rounding it) would have saved."""

    name: str
    values: tuple[Value, ...]
    """Distinct, in the order met."""
    retunes_saved: int
    seconds_saved: float


@dataclass(slots=True)
class TuneFindings:
    """The tuning of one kernel over a run."""

    tunes: int
    retunes: int
    """After the first in each process."""
    seconds: float
    seconds_retunes: float
    """What would be saved if one key covered all: order-free, the dearest tuning of each process stays."""
    losers: float
    """Seconds spent on configurations that were not chosen."""
    candidates: int
    arguments: list[KeyArgument] = field(default_factory=list)
    """The dearest first."""
    site: Site | None = None


Tuning = tuple[ProcessLog, Tune]


def study_tuning(tunings: Sequence[Tuning]) -> TuneFindings | None:
    """What one kernel's tuning cost, and which key argument asked for it; None when it was never tuned."""
    if not tunings:
        return None
    tunes = [tune for _, tune in tunings]
    total = sum(tune.seconds for tune in tunes)
    merged, remaining = _remaining(tunings, None, everything=True)
    names = dict.fromkeys(name for tune in tunes for name, _ in tune.key)
    arguments = [_study_argument(name, tunings, total) for name in names]
    arguments.sort(key=lambda each: (-each.seconds_saved, -each.retunes_saved))
    return TuneFindings(
        tunes=len(tunes),
        retunes=len(tunes) - merged,
        seconds=total,
        seconds_retunes=total - remaining,
        losers=sum(tune.losers for tune in tunes),
        candidates=sum(tune.candidates for tune in tunes),
        arguments=[each for each in arguments if len(each.values) > 1],
        site=next((tune.site for tune in tunes if tune.site), None),
    )


def _study_argument(name: str, tunings: Sequence[Tuning], total: float) -> KeyArgument:
    merged, remaining = _remaining(tunings, name)
    values = {show_value(value): value for _, tune in tunings for key, value in tune.key if key == name}
    return KeyArgument(name, tuple(values.values()), len(tunings) - merged, total - remaining)


def _remaining(tunings: Iterable[Tuning], without: str | None, everything: bool = False) -> tuple[int, float]:
    """Tunings and seconds left when the key loses one argument, or all of it: the dearest of each group."""
    groups: dict[Hashable, float] = {}
    for process, tune in tunings:
        kept = () if everything else tuple((n, show_value(v)) for n, v in tune.key if n != without)
        group = (process.file, kept, () if everything else tune.dtypes)
        groups[group] = max(tune.seconds, groups.get(group, 0.0))
    return len(groups), sum(groups.values())
