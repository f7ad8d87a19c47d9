"""The smallest set of opt-outs that removes the most stall, and what to be careful about."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from jitwatch.analysis.whatif import Outcome, Scenario
from jitwatch.specialization import ArgumentClass, Parameter, Remedy
from jitwatch.specialization.remedies import fixed_type

VECTOR_HINT = re.compile(
    r"stride|pitch|(^|_)ld[a-d]?$|width|hidden|head_?(dim|size)|(^|_)(dim|cols?|columns|inner|numel|n|d|k)$"
    r"|n_?elements|(^|_)n_?cols|feature|vocab",
    re.IGNORECASE,
)
"""Names of what usually multiplies an index, or bounds one along the contiguous axis: vectorised loads live on
its divisibility. ``vector_add`` with an unspecialised length: 372 -> 1031 us; layer_norm 1.42x -> 0.72x
(pytorch/helion#2426). A row count (``num_tokens``) masks whole rows and loses nothing."""

BLOCK_HINT = re.compile(r"block|tile|group|warps|stages|unroll|(^|_)(bm|bn|bk)$", re.IGNORECASE)
"""Names of constexprs that shape tensors in the kernel: these cannot become run-time arguments."""


@dataclass(frozen=True, slots=True)
class Step:
    """One argument's remedy, and what is left once it and the steps before it are applied."""

    parameter: Parameter
    remedy: Remedy
    annotation: str | None
    before: Outcome
    after: Outcome
    caution: str | None

    @property
    def seconds_saved(self) -> float:
        """Of this step alone, given those before it."""
        return self.before.seconds - self.after.seconds

    def signature_change(self) -> str | None:
        """The parameter as it is to be declared, where the remedy changes that."""
        name = self.parameter.name
        if self.remedy is Remedy.ANNOTATE and self.annotation:
            # tl.int32, not "i32" or int: the spelling that every release understands (others from 3.4 on).
            kind = "uint" if self.annotation.startswith("u") else "int"
            return f"{name}: tl.{kind}{self.annotation[1:]}"
        return f"{name} (without tl.constexpr)" if self.remedy is Remedy.RUNTIME else None


def decorator(parameters: Sequence[Parameter], steps: Sequence[Step]) -> str:
    """The kernel's decorator with `steps` applied, names it lists already kept."""
    listed: dict[str, list[str]] = {
        Remedy.SPECIALIZE.value: [each.name for each in parameters if each.no_specialize],
        Remedy.ALIGNMENT.value: [each.name for each in parameters if each.no_alignment],
    }
    for step in steps:
        remedy = Remedy.ALIGNMENT if step.remedy is Remedy.ALIGNMENT else Remedy.SPECIALIZE
        if step.parameter.name not in listed[remedy.value]:
            listed[remedy.value].append(step.parameter.name)
    lists = [f"{name}={json.dumps(names)}" for name, names in listed.items() if names]
    return f"@triton.jit({', '.join(lists)})"


def signature_changes(steps: Sequence[Step]) -> list[str]:
    """What changes in the kernel's signature: fixed types, constexprs made run-time arguments."""
    return [change for step in steps if (change := step.signature_change())]


def make_plan(scenario: Scenario) -> tuple[Step, ...]:
    """Steps in the order to take them; none when no opt-out would have merged anything.

    Starts with the strongest remedy for every argument and takes away, or weakens, what costs nothing. Adding
    one argument at a time instead would stop short where two change together: alone, neither gains anything.
    """
    positions = sorted(
        (i for i in scenario.remedies if _plannable(scenario, i)),
        key=lambda i: not _cautious(scenario, i),
    )
    chosen: dict[int, Remedy] = {i: scenario.remedies[i][-1] for i in positions}
    best = scenario.outcome(chosen)
    for i in positions:
        for remedy in (None, *_preferred(scenario, i)):
            trial = {j: each for j, each in chosen.items() if j != i}
            if remedy is not None:
                trial[i] = remedy
            if _as_good(scenario.outcome(trial), best):
                chosen = trial
                break
    return _ordered(scenario, chosen)


def _plannable(scenario: Scenario, position: int) -> bool:
    if not scenario.remedies[position]:
        return False
    return not shapes_blocks(scenario.parameters[position], scenario.classes[position])


def _cautious(scenario: Scenario, position: int) -> bool:
    return caution(scenario.parameters[position], scenario.classes[position]) is not None


def _preferred(scenario: Scenario, position: int) -> Sequence[Remedy]:
    """Where speed is at stake the weakest that does; else one that covers classes not met yet, too."""
    remedies = scenario.remedies[position]
    if _cautious(scenario, position):
        return remedies
    return sorted(remedies, key=[Remedy.SPECIALIZE, Remedy.ANNOTATE, Remedy.RUNTIME, Remedy.ALIGNMENT].index)


def _as_good(outcome: Outcome, best: Outcome) -> bool:
    return outcome.variants <= best.variants and outcome.seconds <= best.seconds + 1e-9


def _ordered(scenario: Scenario, chosen: dict[int, Remedy]) -> tuple[Step, ...]:
    """What asks for no caution first, then by what each gains given those before it."""
    steps: list[Step] = []
    done: dict[int, Remedy] = {}
    before = scenario.as_is
    while len(done) < len(chosen):
        outcomes = {i: scenario.outcome({**done, i: chosen[i]}) for i in chosen.keys() - done.keys()}
        i = min(
            outcomes, key=lambda j: (_cautious(scenario, j), outcomes[j].seconds, outcomes[j].variants, j)
        )
        done[i] = chosen[i]
        steps.append(_step(scenario, i, chosen[i], before, outcomes[i]))
        before = outcomes[i]
    return tuple(steps)


def _step(scenario: Scenario, position: int, remedy: Remedy, before: Outcome, after: Outcome) -> Step:
    parameter, classes = scenario.parameters[position], scenario.classes[position]
    annotation = fixed_type(classes) if remedy is Remedy.ANNOTATE else None
    return Step(parameter, remedy, annotation, before, after, caution(parameter, classes))


def caution(parameter: Parameter, classes: Collection[ArgumentClass]) -> str | None:
    """Why this argument's divisibility may carry the kernel's speed, or None where nothing hints at it."""
    if any(each.is_pointer for each in classes):
        return "its alignment lets loads and stores be wide"
    if not parameter.constexpr and VECTOR_HINT.search(parameter.name):
        return "its divisibility may let loads and stores be wide"
    if parameter.constexpr:
        return "the compiler may unroll or fold by its value"
    return None


def shapes_blocks(parameter: Parameter, classes: Collection[ArgumentClass]) -> bool:
    """A constexpr that looks like a block's shape: by its name, or since all its values are powers of two."""
    if not parameter.constexpr:
        return False
    values = [json.loads(each.folded or "null") for each in classes]
    powers = all(isinstance(value, int) and value > 0 and value & (value - 1) == 0 for value in values)
    return powers or bool(BLOCK_HINT.search(parameter.name))
