"""What a report says about ranks: the lines for a terminal, the rows for JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jitwatch.analysis.ranks import RankFindings, Window
from jitwatch.report import wording
from jitwatch.report.schema import RankRow, RanksRow, WindowRow

LISTED = 3
"""Ways of being held up that a terminal shows; the JSON report has every window."""


def rank_lines(ranks: RankFindings) -> Iterator[str]:
    """What recompiles (without one: first variants) cost the group, then whom it waited for."""
    world = len(ranks.totals)
    if ranks.recompiling:
        windows, seconds, price = ranks.recompiling, ranks.seconds_recompiles, ranks.gpu_seconds_recompiles
        what = "recompiles"
    else:
        windows, seconds, price, what = ranks.windows, ranks.seconds, ranks.gpu_seconds, "first variants"
    if not windows:
        yield f"{world} of them, none held up by a compile."
        return
    lost = f"{wording.seconds(seconds)}, {price:,.2f} GPU-seconds"
    yield f"in step, {what} hold all {world} up for {lost}."
    by_words: dict[str, list[float]] = {}
    for window in windows:
        by_words.setdefault(describe(window), []).append(window.seconds)
    ordered = sorted(by_words.items(), key=lambda item: -sum(item[1]))
    for words, each in ordered[:LISTED]:
        yield f"· {words}: {wording.count(len(each), 'time')}, {wording.seconds(sum(each))}"
    if rest := ordered[LISTED:]:
        yield f"… and {wording.seconds(sum(sum(each) for _, each in rest))} in other ways"


def describe(window: Window) -> str:
    """Who missed and who compiled: ``only rank 1 missed rope_kernel, the others waited``."""
    kernels = ", ".join(window.kernels[:2]) + (", …" if len(window.kernels) > 2 else "")
    if window.only_rank is not None:
        return f"only rank {window.only_rank} missed {kernels}, the others waited"
    missed = _named(window.missed, window.world)
    if not window.compiled:
        return f"{missed} read {kernels} from the disk cache"
    if window.compiled == window.missed:
        return f"{missed} missed {kernels}, each compiled it"
    compiled = _named(window.compiled, window.world)
    return f"{missed} missed {kernels}, only {compiled} compiled it, the rest read it from the disk cache"


def _named(ranks: Sequence[int], world: int) -> str:
    if len(ranks) == world:
        return f"all {world} ranks"
    return f"rank{'s' * (len(ranks) > 1)} {wording.listed(ranks)}"


def rank_rows(ranks: RankFindings | None) -> RanksRow | None:
    """The key ``ranks`` of the JSON report."""
    if ranks is None:
        return None
    return RanksRow(
        seconds=_round(ranks.seconds),
        gpu_seconds=_round(ranks.gpu_seconds),
        seconds_recompiles=_round(ranks.seconds_recompiles),
        gpu_seconds_recompiles=_round(ranks.gpu_seconds_recompiles),
        by_rank=[
            RankRow(
                rank=each.rank,
                misses=each.misses,
                recompiles=each.recompiles,
                seconds=_round(each.seconds),
                waited=_round(each.waited),
            )
            for each in ranks.totals
        ],
        windows=[_window(window) for window in ranks.windows],
    )


def _window(window: Window) -> WindowRow:
    return WindowRow(
        time=window.start,
        seconds=_round(window.seconds),
        gpu_seconds=_round(window.gpu_seconds),
        slowest=window.slowest.rank,
        only_rank=window.only_rank,
        missed=list(window.missed),
        compiled=list(window.compiled),
        kernels=list(window.kernels),
        recompiles=sum(event.recompile for stall in window.stalls for event in stall.events),
        stalls={str(stall.rank): _round(stall.seconds) for stall in window.stalls},
    )


def _round(seconds: float) -> float:
    return round(seconds, 6)
