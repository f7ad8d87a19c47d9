"""The smallest set of opt-outs that removes the most stall."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from jitwatch.analysis.cautions import caution, shapes_blocks
from jitwatch.analysis.whatif import Outcome, Scenario
from jitwatch.specialization import Parameter, Remedy
from jitwatch.specialization.remedies import fixed_type

Chosen = dict[int, Remedy]
"""Position of a parameter to the remedy it gets."""

NEGLIGIBLE = 0.01
"""Share of a kernel's launch misses, and of their seconds, below which a step is not worth writing."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A remedy for one argument."""

    position: int
    parameter: Parameter
    remedy: Remedy
    annotation: str | None
    """The type ANNOTATE writes, such as ``i32``."""
    caution: str | None
    """Why it may cost speed, where something hints at it. None promises nothing."""

    def declaration(self) -> str | None:
        """The parameter as it is to be declared, where the remedy changes that."""
        name = self.parameter.name
        if self.remedy is Remedy.ANNOTATE and self.annotation:
            # tl.int32, not "i32" or int: the spelling that every release understands (others from 3.4 on).
            kind = "uint" if self.annotation.startswith("u") else "int"
            return f"{name}: tl.{kind}{self.annotation[1:]}"
        return f"{name} (without tl.constexpr)" if self.remedy is Remedy.RUNTIME else None


@dataclass(frozen=True, slots=True)
class Step:
    """Edits that gain only together (mostly one), and what is left after them and the steps before."""

    edits: tuple[Edit, ...]
    before: Outcome
    after: Outcome

    @property
    def seconds_saved(self) -> float:
        """Of this step alone, given those before it."""
        return self.before.seconds - self.after.seconds

    @property
    def recompiles_saved(self) -> int:
        """Launches that would no longer miss."""
        return self.before.misses - self.after.misses

    @property
    def cautious(self) -> bool:
        """Whether any of its edits asks for caution."""
        return any(edit.caution for edit in self.edits)


def decorator(parameters: Sequence[Parameter], edits: Sequence[Edit]) -> str:
    """The kernel's decorator with `edits` applied, names it lists already kept."""
    listed: dict[str, list[str]] = {
        Remedy.SPECIALIZE.value: [each.name for each in parameters if each.no_specialize],
        Remedy.ALIGNMENT.value: [each.name for each in parameters if each.no_alignment],
    }
    for edit in edits:
        remedy = Remedy.ALIGNMENT if edit.remedy is Remedy.ALIGNMENT else Remedy.SPECIALIZE
        if edit.parameter.name not in listed[remedy.value]:
            listed[remedy.value].append(edit.parameter.name)
    lists = [f"{name}={json.dumps(names)}" for name, names in listed.items() if names]
    return f"@triton.jit({', '.join(lists)})"


def declarations(edits: Sequence[Edit]) -> list[str]:
    """What changes in the kernel's signature: fixed types, constexprs made run-time arguments."""
    return [change for edit in edits if (change := edit.declaration())]


def make_plan(scenario: Scenario) -> tuple[Step, ...]:
    """Steps in the order to take them; none when no opt-out would gain anything worth its line.

    Grows by what gains most, with the strongest remedy for each argument; where no single argument gains (two
    that change together), by the smallest group that does. Then weakens each remedy as far as that costs nothing.
    """
    left = {i: remedies[-1] for i, remedies in scenario.remedies.items() if _plannable(scenario, i)}
    chosen: Chosen = {}
    groups: list[tuple[int, ...]] = []
    while left:
        group = _best_single(scenario, chosen, left) or _smallest_group(scenario, chosen, left)
        if not group:
            break
        chosen |= {i: left.pop(i) for i in group}
        groups.append(group)
    _weaken(scenario, chosen)
    return _steps(scenario, groups, chosen)


def _gains(scenario: Scenario, before: Outcome, after: Outcome) -> bool:
    """Whether a step is worth writing: it ends more than a negligible share of the misses or the seconds."""
    whole = scenario.as_is
    misses = before.misses - after.misses > NEGLIGIBLE * whole.misses
    return misses or before.seconds - after.seconds > NEGLIGIBLE * whole.seconds


def _best_single(scenario: Scenario, chosen: Chosen, left: Chosen) -> tuple[int, ...]:
    """What asks for no caution before what does; then the most seconds, the most misses, declaration order."""
    before = scenario.outcome(chosen)
    outcomes = {i: scenario.outcome({**chosen, i: remedy}) for i, remedy in left.items()}
    worth = [i for i, after in outcomes.items() if _gains(scenario, before, after)]

    def rank(i: int) -> tuple[bool, float, int, int]:
        return (_cautious(scenario, i), outcomes[i].seconds, outcomes[i].misses, i)

    return (min(worth, key=rank),) if worth else ()


def _smallest_group(scenario: Scenario, chosen: Chosen, left: Chosen) -> tuple[int, ...]:
    """Everything left, less what the gain does not need; empty when even everything gains nothing."""
    before = scenario.outcome(chosen)
    group = dict(left)
    if not _gains(scenario, before, scenario.outcome({**chosen, **group})):
        return ()
    for i in sorted(left, key=lambda i: (not _cautious(scenario, i), -i)):
        smaller = {j: remedy for j, remedy in group.items() if j != i}
        if _gains(scenario, before, scenario.outcome({**chosen, **smaller})):
            group = smaller
    return tuple(group)


def _weaken(scenario: Scenario, chosen: Chosen) -> None:
    best = scenario.outcome(chosen)
    for i in chosen:
        for remedy in _preferred(scenario, i):
            weaker = scenario.outcome({**chosen, i: remedy})
            if weaker.misses <= best.misses and weaker.seconds <= best.seconds + 1e-9:
                chosen[i] = remedy
                break


def _preferred(scenario: Scenario, position: int) -> Sequence[Remedy]:
    """Where speed is at stake the weakest that does; else one that covers classes not met yet, too."""
    remedies = scenario.remedies[position]
    if _cautious(scenario, position):
        return remedies
    return sorted(remedies, key=[Remedy.SPECIALIZE, Remedy.ANNOTATE, Remedy.RUNTIME, Remedy.ALIGNMENT].index)


def _steps(scenario: Scenario, groups: Sequence[tuple[int, ...]], chosen: Chosen) -> tuple[Step, ...]:
    steps: list[Step] = []
    done: Chosen = {}
    before = scenario.as_is
    for group in groups:
        done |= {i: chosen[i] for i in group}
        after = scenario.outcome(done)
        steps.append(Step(tuple(_edit(scenario, i, chosen[i]) for i in group), before, after))
        before = after
    return tuple(steps)


def _edit(scenario: Scenario, position: int, remedy: Remedy) -> Edit:
    parameter, classes = scenario.parameters[position], scenario.classes[position]
    annotation = fixed_type(classes) if remedy is Remedy.ANNOTATE else None
    return Edit(position, parameter, remedy, annotation, caution(parameter, classes))


def _plannable(scenario: Scenario, position: int) -> bool:
    classes = scenario.classes[position]
    return bool(scenario.remedies[position]) and not shapes_blocks(scenario.parameters[position], classes)


def _cautious(scenario: Scenario, position: int) -> bool:
    return caution(scenario.parameters[position], scenario.classes[position]) is not None
