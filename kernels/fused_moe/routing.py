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
from dataclasses import dataclass

import torch

from jitwatch.errors import JitwatchError
from jitwatch.kernels.fused_moe import grouped, launcher
from jitwatch.kernels.fused_moe.constants import Layer, layer_of
from jitwatch.kernels.fused_moe.experts import Experts
from jitwatch.kernels.fused_moe.problem import Shape
from jitwatch.kernels.fused_moe.table import Backend, Entry, Machine, Result, Table
from jitwatch.kernels.fused_moe.tiles import Accumulation, Plan, rows_per_expert

OURS = (Backend.SWAPPED, Backend.PLAIN)


@dataclass(frozen=True)
class Choice:
    """What runs a layer at a number of tokens, and why."""

    backend: Backend
    plan: Plan | None
    reason: str


class Router:
    """A layer that runs by whatever was fastest where it was measured: the H200's table unless you pass yours."""

    def __init__(
        self,
        experts: Experts,
        top_k: int,
        *,
        table: Table | None = None,
        accumulation: Accumulation = Accumulation.EXACT,
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
                x,
                self.experts,
                topk_ids,
                topk_weights,
                expert_map=expert_map,
                plan=choice.plan,
                accumulation=self.accumulation,
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

    def allowed(self, backend: Backend) -> bool:
        """Whether a backend can run this layer as asked for: the grouped GEMMs add up fp8 fast or not at all."""
        if backend in OURS:
            return True
        if self.weights is None or (self.experts.quantized and self.accumulation is Accumulation.EXACT):
            return False
        return backend is Backend.GROUPED or grouped.fbgemm_available()

    def _choose(self, tokens: int) -> Choice:
        """Look up the nearest entry by rows per expert."""
        entry = self.nearest(tokens)
        results = (
            [result for result in entry.results if self.allowed(Backend(result.backend))] if entry else []
        )
        if self.override is not None:
            return self.overridden(tokens, results)
        if entry is None or not results:
            return Choice(Backend.SWAPPED, self.default(tokens), "nothing was measured for this layer")
        best = min(results, key=lambda result: result.microseconds)
        return Choice(Backend(best.backend), best.plan, self.reason(tokens, entry, results))

    def overridden(self, tokens: int, results: list[Result]) -> Choice:
        """The backend asked for, with its measured plan if there is one."""
        backend = self.override
        assert backend is not None
        if not self.allowed(backend):
            raise JitwatchError(
                f"backend {backend.value} cannot run this layer: it takes plain or per-tensor fp8 weights, "
                "fast accumulation, and to be installed"
            )
        plan = next((result.plan for result in results if result.backend == backend.value), None)
        if plan is None and backend in OURS:
            plan = self.default(tokens)
        return Choice(backend, plan, "asked for")

    def default(self, tokens: int) -> Plan:
        """The plan where nothing was measured."""
        return launcher.plan_of(self.layer(), tokens)

    def plan(self, layer: Layer, tokens: int) -> Plan:
        """Its plan at a number of tokens, as `variants.variants` asks for it; the default's where it has none."""
        return self.choose(tokens).plan or launcher.plan_of(layer, tokens)

    def layer(self) -> Layer:
        """What stays the same from call to call."""
        device = self.experts.gate_up.device
        overlap = launcher.overlaps(device)
        return layer_of(self.experts, self.shape.top_k, False, self.accumulation, overlap)

    def nearest(self, tokens: int) -> Entry | None:
        """The layer's entry whose rows per expert are nearest, by their ratio."""
        rows = rows_per_expert(max(1, tokens), self.shape.top_k, self.shape.experts)
        wanted = (self.shape, self.experts.scheme, self.accumulation)
        entries = [entry for entry in self.table.entries if entry.layer == wanted]
        return min(entries, key=lambda entry: abs(math.log(entry.rows / rows)), default=None)

    def reason(self, tokens: int, entry: Entry, results: list[Result]) -> str:
        """Why the fastest of these results is taken."""
        rows = rows_per_expert(tokens, self.shape.top_k, self.shape.experts)
        ranked = sorted(results, key=lambda result: result.microseconds)
        times = ", ".join(f"{result.backend} {result.microseconds:.1f} us" for result in ranked)
        return (
            f"{rows:.3g} rows per expert, nearest measured {entry.rows:.3g} ({entry.tokens} tokens): {times}"
        )

    def explain(self, tokens: int) -> str:
        """The choice at a number of tokens in words: what, why, and how old the measurement is."""
        choice = self.choose(tokens)
        lines = [
            f"{tokens} tokens, {self.shape}, {self.experts.scheme.value}, "
            f"{self.accumulation.name.lower()} accumulation: {choice.backend.value}",
            f"  because: {choice.reason}",
            f"  plan: {choice.plan or 'its own'}",
        ]
        return "\n".join([*lines, *(f"  careful: measured with {words}" for words in self.stale())])

    def stale(self) -> list[str]:
        """How this machine differs from the table's."""
        if not torch.cuda.is_available():
            return [f"{self.table.machine.device}; there is no CUDA device here"]
        return self.table.machine.differences(Machine.here())
