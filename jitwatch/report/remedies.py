"""The changes to write, kernel by kernel, with what each is predicted to end."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from jitwatch.analysis import KernelFindings
from jitwatch.analysis.advice import advise
from jitwatch.analysis.plan import Edit, Step, declarations, decorator
from jitwatch.report import wording
from jitwatch.rundir import Run
from jitwatch.verify.verdicts import find_verdict, read_verdicts

Row = dict[str, Any]
"""A verdict as `jitwatch verify` kept it in the run."""

PROVEN = {"harmless": "proven harmless", "costs": "proven to cost", "unknown": "not proven"}
STYLES = {"harmless": "green", "costs": "red", "unknown": "yellow"}


def print_remedies(kernels: Iterable[KernelFindings], run: Run, console: Console) -> None:
    """Print what to change for each kernel; nothing is promised to be harmless."""
    verdicts = read_verdicts(run.path)
    remediable = [(kernel, advise(kernel)) for kernel in kernels if kernel.plan or advise(kernel)]
    if remediable:
        console.print()
        console.print(Text("What to change", "bold"))
    for kernel, sentences in remediable:
        where = wording.place(kernel.kernel.path, kernel.kernel.line, run.cwd)
        console.print()
        console.print(Text.assemble(" ", (kernel.kernel.name, "bold"), "  ", (where, "dim")))
        for steps in _stages(kernel.plan):
            _print_stage(kernel, steps, verdicts, console)
        for sentence in sentences:
            console.print(Padding(Text(f"· {sentence}"), (0, 0, 0, 3)))
        if arithmetic := _arithmetic(kernel):
            console.print(Padding(Text(arithmetic, "dim"), (0, 0, 0, 3)))


def _stages(plan: Sequence[Step]) -> list[tuple[Step, ...]]:
    """Steps that ask for no caution go in one edit; each of the others is a decision of its own."""
    plain = tuple(step for step in plan if not step.cautious)
    return ([plain] if plain else []) + [(step,) for step in plan if step.cautious]


def _print_stage(
    kernel: KernelFindings, steps: Sequence[Step], verdicts: Sequence[Row], console: Console
) -> None:
    so_far = [edit for step in kernel.plan[: kernel.plan.index(steps[-1]) + 1] for edit in step.edits]
    written = decorator(kernel.kernel.parameters, so_far)
    style = "yellow" if steps[-1].cautious else "green"
    for line in [*_broken(written, console.width - 4), *declarations(so_far)]:
        console.print(Padding(Text(line, style), (0, 0, 0, 3)))
    console.print(Padding(Text(_effect(steps)), (0, 0, 0, 5)))
    remarks = dict(_remark(kernel, edit, verdicts) for step in steps for edit in step.edits)
    for text, style in filter(None, remarks.values()):
        console.print(Padding(Text(text, style), (0, 0, 0, 5)))


def _remark(
    kernel: KernelFindings, edit: Edit, verdicts: Sequence[Row]
) -> tuple[str, tuple[str, str] | None]:
    """What is known of an edit's cost, in its style: the verdict, else the caution; keyed to be said once."""
    name = edit.parameter.name
    row = find_verdict(verdicts, kernel.kernel.name, kernel.kernel.line, name, edit.remedy)
    if row is not None:
        text = f"{PROVEN[row['verdict']]}, {name} ({row['target']}): {row['reason']}"
        return text, (text, STYLES[row["verdict"]])
    if edit.caution:
        return edit.caution, (f"caution, {name}: {edit.caution}", "yellow")
    return name, None


def _broken(written: str, width: int) -> list[str]:
    """A decorator on one line, or one list a line where it is too long."""
    if len(written) <= width:
        return [written]
    head, lists = written.rstrip(")").split("(", 1)
    return [f"{head}(", *(f"    {each}]," for each in lists.rstrip("]").split("], ")), ")"]


def _effect(steps: Sequence[Step]) -> str:
    before, after = steps[0].before, steps[-1].after
    ended = before.misses - after.misses
    saved = wording.seconds(before.seconds - after.seconds)
    return (
        f"{wording.count(before.variants, 'variant')} → {after.variants:,}, "
        f"would end {wording.count(ended, 'recompile')} and save {saved}"
    )


def _arithmetic(kernel: KernelFindings) -> str | None:
    """``3 × 2 classes possible, 4 seen``: what more launches could still ask for."""
    varying = {
        kernel.arguments[i].parameter.name: len(kernel.scenario.classes[i]) for i in kernel.scenario.remedies
    }
    if len(varying) < 2:
        return None
    factors = " × ".join(f"{name} {number:,}" for name, number in varying.items())
    return f"classes met: {factors} = {math.prod(varying.values()):,} possible, {kernel.variants:,} seen"
