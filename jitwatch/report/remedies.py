"""The changes to write, kernel by kernel, with what each is predicted to end."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from jitwatch.analysis import KernelFindings
from jitwatch.analysis.advice import advise
from jitwatch.analysis.plan import Step, declarations, decorator
from jitwatch.report import wording
from jitwatch.rundir import Run


def print_remedies(kernels: Iterable[KernelFindings], run: Run, console: Console) -> None:
    """Print what to change for each kernel; nothing is promised to be harmless."""
    remediable = [(kernel, advise(kernel)) for kernel in kernels if kernel.plan or advise(kernel)]
    if remediable:
        console.print()
        console.print(Text("What to change", "bold"))
    for kernel, sentences in remediable:
        where = wording.place(kernel.kernel.path, kernel.kernel.line, run.cwd)
        console.print()
        console.print(Text.assemble(" ", (kernel.kernel.name, "bold"), "  ", (where, "dim")))
        for steps in _stages(kernel.plan):
            _print_stage(kernel, steps, console)
        for sentence in sentences:
            console.print(Padding(Text(f"· {sentence}"), (0, 0, 0, 3)))
        if arithmetic := _arithmetic(kernel):
            console.print(Padding(Text(arithmetic, "dim"), (0, 0, 0, 3)))


def _stages(plan: Sequence[Step]) -> list[tuple[Step, ...]]:
    """Steps that ask for no caution go in one edit; each of the others is a decision of its own."""
    plain = tuple(step for step in plan if not step.cautious)
    return ([plain] if plain else []) + [(step,) for step in plan if step.cautious]


def _print_stage(kernel: KernelFindings, steps: Sequence[Step], console: Console) -> None:
    so_far = [edit for step in kernel.plan[: kernel.plan.index(steps[-1]) + 1] for edit in step.edits]
    written = decorator(kernel.kernel.parameters, so_far)
    style = "yellow" if steps[-1].cautious else "green"
    for line in [*_broken(written, console.width - 4), *declarations(so_far)]:
        console.print(Padding(Text(line, style), (0, 0, 0, 3)))
    console.print(Padding(Text(_effect(steps)), (0, 0, 0, 5)))
    warned = {edit.caution: edit.parameter.name for edit in steps[-1].edits if edit.caution}
    for caution, name in warned.items():
        console.print(Padding(Text(f"caution, {name}: {caution}", "yellow"), (0, 0, 0, 5)))


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
