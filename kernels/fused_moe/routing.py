"""Chooses a layer's backend and plan from what was measured, and says why.

    router = Router(experts, top_k=8)  # table=Table.load(path), once you have tuned
    out = router(x, topk_ids, topk_weights)
    print(router.explain(tokens=8))

Every backend keeps to the launches of its plan, and the choice looks at nothing but the number of tokens, which the
host knows: no switch waits for the GPU, and none compiles once the plans of `variants` are warm.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace

import torch

from jitwatch.errors import JitwatchError
from jitwatch.kernels.fused_moe import grouped, launcher
from jitwatch.kernels.fused_moe.constants import Layer, layer_of
from jitwatch.kernels.fused_moe.experts import Experts
from jitwatch.kernels.fused_moe.problem import Shape
from jitwatch.kernels.fused_moe.table import Backend, Entry, Machine, Result, Table
from jitwatch.kernels.fused_moe.tiles import Accumulation, Plan, rows_per_expert

OURS = (Backend.SWAPPED, Backend.PLAIN)

WORTH = 1.1
"""How many times as long exact accumulation may take before fast is chosen, where the choice is the router's.

Over four models it costs less than 6 % up to 512 tokens of all but one, where sums in fp32 hide behind the reading of
weights; 49 % at 2048 tokens of Mixtral, where they do not.
"""


@dataclass(frozen=True)
class Choice:
    """What runs a layer at a number of tokens, and why."""

    backend: Backend
    accumulation: Accumulation
    plan: Plan | None
    reason: str


@dataclass(frozen=True)
class Measured:
    """The results of one entry that may be chosen, fastest first."""

    entry: Entry
    results: tuple[Result, ...]

    @property
    def best(self) -> Result:
        """The fastest."""
        return self.results[0]


class Router:
    """A layer that runs by whatever was fastest where it was measured: the H200's table unless you pass yours.

    ``accumulation``: how fp8 is added up; None for exact wherever that does not cost more than ``WORTH``.
    """

    def __init__(
        self,
        experts: Experts,
        top_k: int,
        *,
        table: Table | None = None,
        accumulation: Accumulation | None = None,
        override: Backend | None = None,
    ) -> None:
        self.table = table or Table.shipped()
        self.experts = experts
        self.shape = Shape(experts.count, top_k, experts.hidden, experts.inner)
        self.accumulation = accumulation
        self.override = override
        self.weights = grouped.GroupedWeights.of(experts) if experts.scheme in grouped.SCHEMES else None
        self.choose = functools.lru_cache(maxsize=None)(self._choose)

    def __call__(
        self,
        x: torch.Tensor,
        topk_ids: torch.Tensor,
        topk_weights: torch.Tensor,
        expert_map: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Run the layer, as `launcher.fused_moe` does."""
        choice = self.choose(x.shape[0])
        if choice.backend in OURS or x.shape[0] == 0:
            return launcher.fused_moe(
                x, self.experts, topk_ids, topk_weights, expert_map=expert_map, plan=choice.plan
            )
        assert self.weights is not None  # `allowed` offers the others to no scheme without
        return grouped.fused_moe(
            x,
            self.weights,
            topk_ids,
            topk_weights,
            expert_map=expert_map,
            fbgemm=choice.backend is Backend.FBGEMM,
        )

    def allowed(self, backend: Backend, accumulation: Accumulation) -> bool:
        """Whether a backend can run this layer as asked for: the grouped GEMMs add up fp8 fast or not at all."""
        if backend in OURS:
            return True
        if self.weights is None or (self.experts.quantized and accumulation is Accumulation.EXACT):
            return False
        return backend is Backend.GROUPED or grouped.fbgemm_available()

    def _choose(self, tokens: int) -> Choice:
        """Look up the nearest entry by rows per expert."""
        measured = self.measured(tokens)
        if self.override is not None:
            return self.overridden(tokens, self.override, measured)
        if not measured:
            plan = self.default(tokens)
            return Choice(Backend.SWAPPED, plan.accumulation, plan, "nothing was measured for this layer")
        taken = worth(measured)
        backend = Backend(taken.best.backend)
        return Choice(
            backend, taken.entry.accumulation, taken.best.plan, self.reason(tokens, taken, measured)
        )

    def measured(self, tokens: int) -> list[Measured]:
        """What was measured nearest to a number of tokens, exact before fast."""
        wanted = [self.accumulation] if self.accumulation else [Accumulation.EXACT, Accumulation.FAST]
        found = []
        for accumulation in wanted:
            entry = self.nearest(tokens, accumulation)
            results = entry.results if entry else ()
            own = [result for result in results if self.allowed(Backend(result.backend), accumulation)]
            if entry and own:
                ranked = tuple(sorted(own, key=lambda result: result.microseconds))
                found.append(Measured(entry, ranked))
        return found

    def overridden(self, tokens: int, backend: Backend, measured: list[Measured]) -> Choice:
        """The backend asked for, with its measured plan if there is one."""
        own = backend in OURS
        accumulation = self.accumulation or (Accumulation.EXACT if own else Accumulation.FAST)
        if not self.allowed(backend, accumulation):
            raise JitwatchError(
                f"backend {backend.value} cannot run this layer: it takes plain or per-tensor fp8 weights, "
                "fast accumulation, and to be installed"
            )
        results = [result for each in measured for result in each.results if result.backend == backend.value]
        plan = results[0].plan if results else self.default(tokens) if own else None
        return Choice(backend, plan.accumulation if plan else accumulation, plan, "asked for")

    def default(self, tokens: int) -> Plan:
        """The plan where nothing was measured."""
        plan = launcher.plan_of(self.layer(), tokens)
        return replace(plan, accumulation=self.accumulation or plan.accumulation)

    def plan(self, layer: Layer, tokens: int) -> Plan:
        """Its plan at a number of tokens, as `variants.variants` asks for it; the default's where it has none."""
        return self.choose(tokens).plan or launcher.plan_of(layer, tokens)

    def layer(self) -> Layer:
        """What stays the same from call to call."""
        device = self.experts.gate_up.device
        return layer_of(self.experts, self.shape.top_k, False, launcher.overlaps(device))

    def nearest(self, tokens: int, accumulation: Accumulation) -> Entry | None:
        """The layer's entry whose rows per expert are nearest, by their ratio."""
        rows = rows_per_expert(max(1, tokens), self.shape.top_k, self.shape.experts)
        wanted = (self.shape, self.experts.scheme, accumulation)
        entries = [entry for entry in self.table.entries if entry.layer == wanted]
        return min(entries, key=lambda entry: abs(math.log(entry.rows / rows)), default=None)

    def reason(self, tokens: int, taken: Measured, measured: list[Measured]) -> str:
        """Why that is taken of what was measured."""
        rows = rows_per_expert(tokens, self.shape.top_k, self.shape.experts)
        entry = taken.entry
        times = ", ".join(f"{result.backend} {result.microseconds:.1f} us" for result in taken.results)
        others = [
            f"; {other.entry.accumulation.value} {other.best.microseconds:.1f} us"
            for other in measured
            if other is not taken and other.entry.tokens == entry.tokens
        ]
        return (
            f"{rows:.3g} rows per expert, nearest measured {entry.rows:.3g} ({entry.tokens} tokens): "
            f"{times}{''.join(others)}"
        )

    def explain(self, tokens: int) -> str:
        """The choice at a number of tokens in words: what, why, and how old the measurement is."""
        choice = self.choose(tokens)
        lines = [
            f"{tokens} tokens, {self.shape}, {self.experts.scheme.value}, "
            f"{choice.accumulation.value} accumulation: {choice.backend.value}",
            f"  because: {choice.reason}",
            f"  plan: {choice.plan or 'its own'}",
        ]
        return "\n".join([*lines, *(f"  careful: measured with {words}" for words in self.stale())])

    def stale(self) -> list[str]:
        """How this machine differs from the table's."""
        if not torch.cuda.is_available():
            return [f"{self.table.machine.device}; there is no CUDA device here"]
        return self.table.machine.differences(Machine.here())


def worth(measured: list[Measured]) -> Measured:
    """Exact, unless it costs more than ``WORTH``. Both were measured at the same number of tokens, or exact it is."""
    exact, *others = measured
    for fast in others:
        comparable = fast.entry.tokens == exact.entry.tokens
        if comparable and fast.best.microseconds * WORTH < exact.best.microseconds:
            return fast
    return exact
