"""What a plan predicts is what Triton does: apply it to the source, run again, count."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from jitwatch.analysis import KernelFindings, analyse
from jitwatch.analysis.plan import Step, declarations, decorator
from jitwatch.rundir import read_run
from jitwatch.specialization import Remedy
from tests.conftest import Profiled

PROGRAM = """
@triton.jit
def k(a, b, LENGTH: tl.constexpr):
    tl.device_assert(a + b > LENGTH)

for a, b, length in {launches}:
    k[(1,)](a, b, LENGTH=length)
"""

Write = Callable[..., Path]
Profile = Callable[..., Profiled]


def study(run: Profiled) -> KernelFindings:
    assert run.code == 0, run.stderr
    return next(each for each in analyse(read_run(run.directory)).kernels if each.kernel.name == "k")


def apply(source: str, found: KernelFindings, steps: tuple[Step, ...]) -> str:
    """Write the decorator and the declarations that the report prints."""
    edits = [edit for step in steps for edit in step.edits]
    source = source.replace("@triton.jit", decorator(found.kernel.parameters, edits))
    head = "(a, b, LENGTH: tl.constexpr)"
    changed = head
    for line in declarations(edits):
        name = line.split(":")[0].split(" ")[0]
        plain = {"LENGTH": "LENGTH: tl.constexpr"}.get(name, name)
        changed = changed.replace(plain, name if "without" in line else line, 1)
    return source.replace(head, changed)


@pytest.mark.parametrize(
    ("launches", "remedies"),
    [
        ([(1, 3, 5), (7, 3, 5), (16, 3, 5), (48, 3, 5)], [Remedy.SPECIALIZE]),
        ([(1, 3, 5), (7, 3, 5), (2**40, 3, 5), (2**40 + 1, 3, 5)], [Remedy.ANNOTATE]),
        ([(t, -(-t // 4) * 4, 5) for t in range(1, 33)], [Remedy.SPECIALIZE, Remedy.SPECIALIZE]),
        ([(7, 7, 5), (16, 16, 5), (1, 1, 5)], [Remedy.SPECIALIZE, Remedy.SPECIALIZE]),
        ([(3, 3, length) for length in range(5, 10)], [Remedy.RUNTIME]),
    ],
)
def test_a_plan_applied_leaves_the_variants_it_predicted(
    write: Write, profile: Profile, launches: list[tuple[int, int, int]], remedies: list[Remedy]
) -> None:
    source = PROGRAM.format(launches=launches)
    found = study(profile(write(source, "before.py")))
    assert sorted(e.remedy.value for step in found.plan for e in step.edits) == [r.value for r in remedies]
    after = study(profile(write(apply(source, found, found.plan), "after.py")))
    assert after.variants == found.plan[-1].after.variants
    assert len(after.recompiles) == found.plan[-1].after.misses - 1
