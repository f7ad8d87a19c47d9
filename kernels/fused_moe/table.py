"""What was measured, where, and with what: the file that choices are made from."""

from __future__ import annotations

import dataclasses
import enum
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import triton

from jitwatch.errors import JitwatchError
from jitwatch.kernels.fused_moe.experts import Scheme
from jitwatch.kernels.fused_moe.problem import Shape
from jitwatch.kernels.fused_moe.tiles import Accumulation, Plan, Tile, rows_per_expert

FORMAT = 1


class Backend(enum.Enum):
    """What a layer can be run by."""

    SWAPPED = "triton-swapped"
    """Ours, weights on the left of the product."""
    PLAIN = "triton"
    """Ours, weights on the right."""
    GROUPED = "torch-grouped-mm"
    """CUTLASS through torch's grouped GEMMs."""
    FBGEMM = "fbgemm"
    """FBGEMM's grouped GEMMs, where installed."""


@dataclass(frozen=True)
class Machine:
    """Where times were taken. A table of another machine is a guess."""

    device: str
    driver: str
    torch: str
    triton: str

    @classmethod
    def here(cls) -> Machine:
        """This one."""
        query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]
        try:
            driver = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()
        except (OSError, subprocess.CalledProcessError):
            driver = "unknown"
        return cls(torch.cuda.get_device_name(), driver, torch.__version__, triton.__version__)

    def differences(self, other: Machine) -> list[str]:
        """What differs, in words; a table for the same machine has none."""
        return [
            f"{field.name} {getattr(self, field.name)}, here {getattr(other, field.name)}"
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != getattr(other, field.name)
        ]


@dataclass(frozen=True)
class Result:
    """One backend's time."""

    backend: str
    microseconds: float
    plan: Plan | None
    """For the Triton backends."""


@dataclass(frozen=True)
class Entry:
    """A layer at one number of tokens."""

    shape: Shape
    scheme: Scheme
    accumulation: Accumulation
    tokens: int
    results: tuple[Result, ...]

    @property
    def rows(self) -> float:
        """Rows per expert: what entries are looked up by."""
        return rows_per_expert(self.tokens, self.shape.top_k, self.shape.experts)

    @property
    def layer(self) -> tuple[Shape, Scheme, Accumulation]:
        """What it is an entry of."""
        return self.shape, self.scheme, self.accumulation


@dataclass(frozen=True)
class Table:
    """Entries of one machine."""

    machine: Machine
    entries: tuple[Entry, ...] = ()

    def find(self, layer: tuple[Shape, Scheme, Accumulation], tokens: int) -> Entry | None:
        """The entry of a layer at a number of tokens."""
        return next((entry for entry in self.entries if (entry.layer, entry.tokens) == (layer, tokens)), None)

    def add(self, entry: Entry) -> Table:
        """The table with an entry more; one for the same layer and tokens gives way."""
        others = tuple(old for old in self.entries if (old.layer, old.tokens) != (entry.layer, entry.tokens))
        return Table(self.machine, (*others, entry))

    @classmethod
    def shipped(cls) -> Table:
        """The table that comes with the package: an H200's."""
        return cls.load(Path(__file__).with_name("tables") / "nvidia_h200.json")

    def save(self, path: Path) -> None:
        """Write the file in one piece: a reader never sees half of it."""
        head = json.dumps({"format": FORMAT, "machine": dataclasses.asdict(self.machine)})
        rows = ",\n".join(json.dumps(entry_to_json(entry)) for entry in self.entries)
        draft = path.with_suffix(".draft")
        draft.write_text(f'{head[:-1]}, "entries": [\n{rows}\n]}}\n')
        draft.replace(path)

    @classmethod
    def load(cls, path: Path) -> Table:
        """Read a file. Raises JitwatchError for one that cannot be read."""
        try:
            body = json.loads(path.read_text())
            if body["format"] != FORMAT:
                raise JitwatchError(f"{path}: format {body['format']}, this reads {FORMAT}: tune again")
            entries = tuple(map(entry_from_json, body["entries"]))
            return cls(Machine(**body["machine"]), entries)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise JitwatchError(f"{path}: no table of measurements ({error}): tune again") from error


def entry_to_json(entry: Entry) -> dict[str, Any]:
    """An entry as JSON takes it."""
    return {
        "shape": dataclasses.asdict(entry.shape),
        "scheme": entry.scheme.value,
        "accumulation": entry.accumulation.name.lower(),
        "tokens": entry.tokens,
        "results": [
            {**dataclasses.asdict(result), "plan": plan_to_json(result.plan)} for result in entry.results
        ],
    }


def entry_from_json(body: dict[str, Any]) -> Entry:
    """The entry that `entry_to_json` made this of."""
    accumulation = Accumulation[body["accumulation"].upper()]
    return Entry(
        Shape(**body["shape"]),
        Scheme(body["scheme"]),
        accumulation,
        body["tokens"],
        tuple(
            Result(result["backend"], result["microseconds"], plan_from_json(result["plan"], accumulation))
            for result in body["results"]
        ),
    )


def plan_to_json(plan: Plan | None) -> dict[str, Any] | None:
    """A plan as JSON takes it, or none. How it adds up is the entry's."""
    if plan is None:
        return None
    body = dataclasses.asdict(plan)
    del body["accumulation"]
    return body


def plan_from_json(body: dict[str, Any] | None, accumulation: Accumulation) -> Plan | None:
    """The plan that `plan_to_json` made this of."""
    if body is None:
        return None
    tiles = {name: Tile(**body[name]) for name in ("gate_up", "down")}
    return Plan(**{**body, **tiles}, accumulation=accumulation)
