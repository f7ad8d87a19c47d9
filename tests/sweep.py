"""The sweep every part is held against: T = 1..64 over a kernel with ``num_tokens`` and ``align(num_tokens, 4)``.

It is the shape of vLLM's ``_fused_inv_rope_fp8_quant_per_head``: a token count and a stride derived from it.
`check_sweep` reads any run of it, made or recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from jitwatch.analysis import MissEvent, analyse
from jitwatch.rundir import read_run

SWEEP = range(1, 65)


def align(value: int, to: int) -> int:
    """Round up to a multiple."""
    return -(-value // to) * to


def sweep_class(tokens: int) -> str:
    """Which of the sweep's four variants a token count needs."""
    if tokens == 1:
        return "{1}"
    if tokens % 16 == 0:
        return "{T%16==0}"
    return "{T%16 in 13,14,15}" if tokens % 16 in (13, 14, 15) else "{others}"


def first_of_each_class() -> Iterator[int]:
    """The token counts that miss, in order, when the sweep runs in one process with an empty memory cache."""
    met: set[str] = set()
    for tokens in SWEEP:
        if sweep_class(tokens) not in met:
            met.add(sweep_class(tokens))
            yield tokens


def check_sweep(run: Path, kernel: str, tokens: str = "num_tokens", stride: str = "scale_stride_k") -> None:
    """Assert that a recorded sweep has exactly the four variants, each with its true cause."""
    found = next(each for each in analyse(read_run(run)).kernels if each.kernel.name == kernel)
    position = [parameter.name for parameter in found.kernel.parameters].index(tokens)
    causes = {_token(event, position): _causes(event) for event in found.events if event.from_launch}
    # 2: 1 -> other. 13: align(13, 4) = 16. 16: divisible itself, and 13's stride already was.
    assert causes == {1: [], 2: [tokens], 13: [stride], 16: [tokens]}
    assert found.variants == 4
    assert len(found.recompiles) == 3
    assert {edit.parameter.name for step in found.plan for edit in step.edits} == {tokens, stride}
    assert found.plan[-1].after.variants == 1


def _token(event: MissEvent, position: int) -> int:
    value = event.miss.values[position]
    assert isinstance(value, int)
    return value


def _causes(event: MissEvent) -> list[str]:
    return [change.name for change in event.changes]
