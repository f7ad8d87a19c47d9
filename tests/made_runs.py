"""Make run directories by writing event lines, as a recorder would have written them.

The classes of arguments come from ``classify``, which its own tests hold against Triton's binder.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jitwatch.specialization import ArgumentClass, Parameter, classify, traits_of

START = 1_790_000_000.0
"""Unix time at which made runs start: 2026-09-21 UTC."""


def tensor(mod16: int = 0, dtype: str = "bfloat16", shape: Sequence[int] = (8, 8)) -> dict[str, Any]:
    """A tensor argument."""
    return {"tensor": dtype, "shape": list(shape), "mod16": mod16}


def spell(klass: ArgumentClass) -> tuple[Any, Any]:
    """``type`` and ``spec`` of an argument in an event line."""
    if klass.elements:
        pairs = [spell(each) for each in klass.elements]
        return [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    if klass.folded is not None:
        return "constexpr", json.loads(klass.folded)
    return klass.type, klass.spec


class MadeKernel:
    """A kernel of a made process; call ``launch`` for each launch that misses."""

    def __init__(self, process: MadeProcess, id_: int, parameters: Sequence[Parameter]) -> None:
        self.process, self.id, self.parameters = process, id_, tuple(parameters)

    def launch(self, *values: Any, site: int | None = 40, **how: Any) -> int:
        """A miss and how it was served; returns its number.

        `how`: ``seconds``, ``cached``, ``failed``, ``via``, ``options``, ``device``, ``thread``, ``key``,
        ``stages``, ``load``, ``served=False`` for a miss without an end, ``wait`` seconds before it.
        """
        return self.process.write_miss(self, values, site, **how)

    def tune(self, key: Mapping[str, Any], seconds: float, candidates: int = 4, **more: Any) -> None:
        """An autotuner met a new key."""
        self.process.clock += seconds
        row = {"event": "tune", "time": self.process.clock, "kernel": self.id, "candidates": candidates}
        pairs = [[name, value] for name, value in key.items()]
        self.process.write(row | {"key": [*pairs, "torch.bfloat16"], "seconds": seconds} | more)


class MadeProcess:
    """One event file."""

    def __init__(self, file: Path, triton: str, head: Mapping[str, Any], clock: float) -> None:
        self.file, self.triton, self.clock = file, triton, clock
        self.kernels = self.misses = 0
        self.write({"event": "process", "v": 1, "time": clock, "triton": triton, **head})

    def write(self, row: Mapping[str, Any]) -> None:
        """Append one event."""
        with self.file.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(row) + "\n")

    def kernel(
        self,
        name: str,
        *parameters: Parameter | str,
        path: str = "/srv/app/kernels/norm.py",
        line: int = 12,
        module: str = "app.kernels.norm",
    ) -> MadeKernel:
        """Tell of a kernel; a parameter given by name alone is a plain one."""
        declared = [Parameter(each) if isinstance(each, str) else each for each in parameters]
        rows = [
            {
                "name": each.name,
                "constexpr": each.constexpr,
                "no_specialize": each.no_specialize,
                "no_alignment": each.no_alignment,
                "annotation": each.annotation,
            }
            for each in declared
        ]
        head = {"event": "kernel", "id": self.kernels, "name": name, "module": module}
        self.write({**head, "path": path, "line": line, "params": rows})
        self.kernels += 1
        return MadeKernel(self, self.kernels - 1, declared)

    def write_miss(
        self,
        kernel: MadeKernel,
        values: Sequence[Any],
        site: int | None,
        *,
        seconds: float = 0.1,
        cached: bool | None = False,
        failed: str | None = None,
        via: str = "launch",
        options: Mapping[str, Any] | None = None,
        device: int = 0,
        thread: int = 1,
        key: str | None = None,
        stages: Mapping[str, float] | None = None,
        load: float = 0.0,
        served: bool = True,
        wait: float = 0.01,
    ) -> int:
        """See ``MadeKernel.launch``."""
        traits, n = traits_of(self.triton), self.misses
        pairs = zip(values, kernel.parameters, strict=True)
        args = [[*spell(classify(value, parameter, traits)), value] for value, parameter in pairs]
        text = json.dumps([[arg[:2] for arg in args], options])
        self.misses += 1
        self.clock += wait
        place = [f"{'/srv/app/model.py'}", site, "forward"] if site else None
        miss = {
            "event": "miss",
            "n": n,
            "time": self.clock,
            "thread": thread,
            "kernel": kernel.id,
            "key": key or hashlib.sha256(text.encode()).hexdigest()[:16],
            "device": device,
            "via": via,
            "args": args,
            "options": dict(options or {}),
            "site": place,
            "stack": [place, ["/srv/app/serve.py", 7, "main"]] if place else [],
            "capturing": False,
        }
        self.write(miss)
        if served:
            self.clock += seconds
            end = {"event": "served", "n": n, "time": self.clock, "seconds": seconds, "cached": cached}
            self.write({**end, "stages": dict(stages or {}), "failed": failed})
        if load:
            self.write({"event": "load", "n": n, "kernel": "k", "time": self.clock, "seconds": load})
        return n


class MadeRun:
    """A run directory."""

    def __init__(self, path: Path, *, triton: str = "3.7.1", **header: Any) -> None:
        self.path, self.triton, self.started = path, triton, 0
        (path / "events").mkdir(parents=True)
        head: dict[str, Any] = {
            "schema": 1,
            "command": ["python", "serve.py"],
            "cwd": "/srv/app",
            "started": "2026-09-21T14:13:20+00:00",
            "ended": "2026-09-21T14:15:20+00:00",
            "exit_code": 0,
            "target": "cuda:90",
            "offline": False,
            "jitwatch": "0.1.0",
            "unobserved": [],
        }
        (path / "run.json").write_text(json.dumps(head | header), encoding="utf-8")

    def process(self, *, pid: int = 4242, clock: float = START + 1, **head: Any) -> MadeProcess:
        """A Python process that imported Triton; `head` adds to its first line (``rank``, ``parent``)."""
        seen = {
            "pid": pid,
            "ppid": 1,
            "time": clock,
            "argv": ["serve.py"],
            "python": "python",
            "skipped": None,
        }
        with (self.path / "processes.jsonl").open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(seen) + "\n")
        file = self.path / "events" / f"host-{pid}-{int(clock)}.jsonl"
        whole = {"pid": pid, "ppid": 1, "host": "host", "argv": ["serve.py"], "rank": None} | head
        return MadeProcess(file, self.triton, whole, clock)
