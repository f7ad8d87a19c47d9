"""Verifies remedies: compiles every variant with and without, compares, concludes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from jitwatch.runtime.offline.target import Target, parse_target
from jitwatch.specialization import Remedy
from jitwatch.verify.figures import Figures
from jitwatch.verify.judge import IDENTICAL, SEVERITY, Outcome, compare
from jitwatch.verify.pool import Pool, Progress
from jitwatch.verify.requests import Form, KernelSource, Request, comparison_of, job_of
from jitwatch.verify.timed import add_times
from jitwatch.verify.verdicts import Pair, Verdict, conclude

DOUBT = (
    "harmless under the guessed signature, but the source says that its divisibility lets accesses be wide; "
    "give --signature"
)

HOW = {
    Remedy.RUNTIME: "as a run-time argument",
    Remedy.RUNTIME_SPECIALIZED: "as a run-time argument",
    Remedy.DROP: "without it",
}
CHOICE = (
    "the code of every configuration stays the same, but one of them serves all values; "
    "time the configurations at the values you serve"
)
"""An autotuner's key decides which configuration runs, and no compile tells which is the fastest."""


def verify_remedies(
    requests: Sequence[Request],
    target: str,
    *,
    pool: Pool | None = None,
    progress: Progress | None = None,
) -> list[Verdict]:
    """A verdict for each request, in order. Raises ValueError for an unknown target.

    Remedies that are harmless alone are tried together as well, kernel by kernel, since they will be applied
    together: two arguments can each keep what the other one's loss would leave.
    """
    device, pool = parse_target(target), pool or Pool()
    jobs = [job_of(each.kernel, form, target) for each in requests for pair in each.pairs() for form in pair]
    pool.compile(jobs, progress)
    verdicts = [_verdict(request, device, pool) for request in requests]
    _try_together(requests, verdicts, device, pool, progress)
    return add_times(requests, _with_changed_lines(requests, verdicts, device, pool), device, pool)


def _verdict(request: Request, device: Target, pool: Pool) -> Verdict:
    pairs = [_judge(request, before, after, device, pool) for before, after in request.pairs()]
    if request.change.remedy is Remedy.LEAVE_KEY:
        outcome, reason, ordered = Outcome.UNKNOWN, CHOICE, tuple(pairs)
    elif pairs:
        outcome, reason, ordered = conclude(pairs)
        if request.doubted and outcome is Outcome.HARMLESS:
            outcome, reason = Outcome.UNKNOWN, DOUBT
    else:
        outcome, reason, ordered = Outcome.HARMLESS, "it changes no variant", ()
    return Verdict(
        kernel=request.kernel.name,
        path=request.kernel.path,
        line=request.kernel.line,
        parameter=request.parameter.name,
        remedy=request.change.remedy,
        target=device.spelling,
        outcome=outcome,
        reason=reason,
        pairs=ordered,
        notes=tuple(_notes(request)),
    )


def _notes(request: Request) -> Iterator[str]:
    if request.assumed:
        yield "its arguments' types were guessed from the source; give them with --signature"
    if request.left_out:
        yield f"{request.left_out} further variants were not compiled"


def _judge(request: Request, before: Form, after: Form, device: Target, pool: Pool) -> Pair:
    position = request.change.position
    words = before.arguments[position].word(request.parameter)
    old, new = (pool.answer(job_of(request.kernel, form, device.spelling)) for form in (before, after))
    if "failed" in old:
        return Pair(words, Outcome.UNKNOWN, _excuse("it does not compile as it is", old), None, None)
    figures = Figures.from_json(old["figures"])
    if "failed" in new:
        if new["stage"] != "compile":
            return Pair(words, Outcome.UNKNOWN, new["failed"], figures, None)
        how = HOW.get(request.change.remedy, "as changed")
        return Pair(words, Outcome.COSTS, f"does not compile {how}: {new['failed']}", figures, None)
    changed = Figures.from_json(new["figures"])
    judged = compare(figures, changed, device, request.element_bits)
    return Pair(words, judged.outcome, judged.reason, figures, changed, (before, after))


def _with_changed_lines(
    requests: Sequence[Request], verdicts: Sequence[Verdict], device: Target, pool: Pool
) -> list[Verdict]:
    """Add the lines that changed to the decisive pair of each verdict."""
    jobs = {
        i: comparison_of(requests[i].kernel, *verdict.pairs[0].forms, device.spelling)
        for i, verdict in enumerate(verdicts)
        if verdict.pairs and verdict.pairs[0].forms and verdict.pairs[0].reason != IDENTICAL
    }
    pool.compile(jobs.values())
    shown = list(verdicts)
    for i, job in jobs.items():
        first, *others = verdicts[i].pairs
        answer = pool.answer(job)
        told = replace(first, changed=tuple(answer.get("changed", ())), changed_more=answer.get("more", 0))
        shown[i] = replace(verdicts[i], pairs=(told, *others))
    return shown


def _excuse(what: str, answer: Mapping[str, Any]) -> str:
    return f"{what}: {answer['failed']}" if answer["stage"] == "compile" else str(answer["failed"])


def _try_together(
    requests: Sequence[Request],
    verdicts: list[Verdict],
    device: Target,
    pool: Pool,
    progress: Progress | None,
) -> None:
    """Lower verdicts that hold alone only."""
    groups = [group for group in _harmless_groups(requests, verdicts) if len(group) > 1]
    trials = {
        id(group): list(
            dict.fromkeys((form, _all_applied(requests, group, form)) for form in _forms(requests, group))
        )
        for group in groups
    }
    kernels = {id(group): requests[group[0]].kernel for group in groups}
    jobs = [
        job_of(kernels[key], form, device.spelling)
        for key, pairs in trials.items()
        for pair in pairs
        for form in pair
    ]
    pool.compile(jobs, progress)
    for group in groups:
        _lower(requests, verdicts, group, trials[id(group)], device, pool)


def _harmless_groups(requests: Sequence[Request], verdicts: Sequence[Verdict]) -> list[list[int]]:
    """Requests by kernel: for each parameter the last, strongest, remedy that is harmless alone."""
    chosen: dict[KernelSource, dict[int, int]] = {}
    for i, (request, verdict) in enumerate(zip(requests, verdicts, strict=True)):
        if verdict.outcome is Outcome.HARMLESS and verdict.pairs:
            chosen.setdefault(request.kernel, {})[request.change.position] = i
    return [list(group.values()) for group in chosen.values()]


def _forms(requests: Sequence[Request], group: Sequence[int]) -> list[Form]:
    return list(dict.fromkeys(form for i in group for form in requests[i].forms))


def _all_applied(requests: Sequence[Request], group: Sequence[int], form: Form) -> Form:
    for i in group:
        form = requests[i].change.apply(form, requests[i].kernel.parameters)
    return form


def _lower(
    requests: Sequence[Request],
    verdicts: list[Verdict],
    group: Sequence[int],
    pairs: Sequence[tuple[Form, Form]],
    device: Target,
    pool: Pool,
) -> None:
    lead = requests[group[0]]
    judged = [_judge(lead, before, after, device, pool) for before, after in pairs if before != after]
    worst = max(judged, key=lambda pair: SEVERITY[pair.outcome])
    if worst.outcome is Outcome.HARMLESS:
        return
    for i in group:
        others = ", ".join(requests[j].parameter.name for j in group if j != i)
        reason = f"harmless alone, but with {others}: {worst.reason}"
        verdicts[i] = verdicts[i].lowered(worst, reason)
