"""Times both forms of a remedy where the run's own kind of device is: the last word on what the code only suggests.

The run recorded the grid, the numbers and the sizes of the tensors of each variant's first launch, and nothing of what
the tensors held. So floats are random and integers zero: a kernel that goes where its indices send it goes to row 0
each time, and one that loops to a loaded length ends at once. A difference that is measured is a difference; none, with
integer tensors among the arguments, proves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from jitwatch.runtime.offline.target import Target
from jitwatch.specialization import Value
from jitwatch.verify.judge import IDENTICAL, Outcome
from jitwatch.verify.pool import Pool
from jitwatch.verify.requests import Launch, Request, timing_of
from jitwatch.verify.timing import Timing, has_driver
from jitwatch.verify.verdicts import ADVICE, Verdict

SLOWER = 1.02
"""Ratio of medians above which the new form is slower: 60 interleaved rounds repeat within 1 % on an H200."""

SEEN_ZEROS = "timed with fresh tensors of the recorded sizes: random floats, zeros where they hold integers"
SEEN_RANDOM = "timed with fresh tensors of the recorded sizes: random floats"


def add_times(
    requests: Sequence[Request], verdicts: Sequence[Verdict], target: Target, pool: Pool
) -> list[Verdict]:
    """The verdicts with what time says of them; as they are where no such device is, or nothing differs."""
    jobs = {i: job for i, verdict in enumerate(verdicts) if (job := _job(requests[i], verdict, target))}
    if not jobs or not has_device(target, pool):
        return list(verdicts)
    timed = list(verdicts)
    for i, job in jobs.items():
        pool.compile([job])  # one at a time: two would share the device
        timed[i] = judge_time(verdicts[i], pool.answer(job), _zeroes(_launch(requests[i], verdicts[i])))
    return timed


def has_device(target: Target, pool: Pool) -> bool:
    """Whether the workers' interpreter finds a device of this target here."""
    if not has_driver():
        return False
    job = {"device": True}
    pool.compile([job])
    return bool(pool.answer(job).get("device") == target.spelling)


def judge_time(verdict: Verdict, answer: Mapping[str, Any], zeroes: bool) -> Verdict:
    """A verdict, given the worker's answer. `zeroes`: tensors of integers stood in for, which may hide work."""
    if "failed" in answer:
        return replace(
            verdict, notes=(*verdict.notes, f"{verdict.parameter} was not timed: {answer['failed']}")
        )
    timing = Timing(answer["before"], answer["after"])
    measured = f"timed {timing.before:.1f} → {timing.after:.1f} us ({timing.ratio:.2f})"
    outcome, said = verdict.outcome, verdict.reason.removesuffix(ADVICE)
    if timing.ratio > SLOWER:
        outcome = Outcome.COSTS
    elif outcome is Outcome.UNKNOWN and not zeroes:
        outcome = Outcome.HARMLESS
    pairs = (replace(verdict.pairs[0], timing=timing), *verdict.pairs[1:])
    note = SEEN_ZEROS if zeroes else SEEN_RANDOM
    return replace(
        verdict, outcome=outcome, reason=f"{said}; {measured}", pairs=pairs, notes=(*verdict.notes, note)
    )


def _job(request: Request, verdict: Verdict, target: Target) -> Mapping[str, object] | None:
    """What to time: the decisive pair, where its code differs and its launch can be repeated."""
    launch = _launch(request, verdict)
    if launch is None or verdict.pairs[0].forms is None:
        return None
    return timing_of(request.kernel, *verdict.pairs[0].forms, target.spelling, launch)


def _launch(request: Request, verdict: Verdict) -> Launch | None:
    first = verdict.pairs[0] if verdict.pairs else None
    if first is None or first.forms is None or first.reason == IDENTICAL:
        return None
    return request.launches.get(first.forms[0])


def _zeroes(launch: Launch | None) -> bool:
    return launch is not None and any(map(_holds_integers, launch.values))


def _holds_integers(value: Value) -> bool:
    if isinstance(value, list):
        return any(map(_holds_integers, value))
    if not isinstance(value, Mapping) or "tensor" not in value:
        return False
    return not str(value["tensor"]).startswith(("float", "bfloat", "fp", "bf", "complex"))
