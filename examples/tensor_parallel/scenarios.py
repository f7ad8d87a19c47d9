"""Runs the group in every scenario under `jitwatch profile`, and holds what the report computes against the clock.

    python examples/tensor_parallel/scenarios.py --nproc-per-node 4              on four GPUs
    python examples/tensor_parallel/scenarios.py --nproc-per-node 4 --offline    without any

Prints a table in Markdown; the runs stay in ``--out``, for ``jitwatch report`` to draw again.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from lockstep.outcome import HEADER, Outcome, read_outcome

RUN = Path(__file__).with_name("run.py")


@dataclass(frozen=True)
class Scenario:
    """How the ranks start."""

    name: str
    words: str
    form: str = "before"
    own_caches: bool = True
    """A compile cache for each rank, as with one on each node's disk; else one that all share."""
    cold_rank: bool = False
    """The last rank alone meets its lengths for the first time."""
    caches_of: str | None = None
    """Starts with the caches that this scenario left."""
    emptied: bool = False
    """... the last rank's emptied."""


SCENARIOS = (
    Scenario("own", "all ranks compile, each into a cache of its own"),
    Scenario("shared", "all ranks compile, into one shared cache", own_caches=False),
    Scenario("restarted", "started again: every rank's disk cache is full", caches_of="own"),
    Scenario("empty-disk", "one rank's disk cache is empty, the others' full", caches_of="own", emptied=True),
    Scenario("cold-rank", "one rank is cold, the others met every class", cold_rank=True),
    Scenario("fixed", "`kernel.py`, all ranks cold, one shared cache", form="kernel", own_caches=False),
)
"""In this order: two start with what another left."""


@dataclass(frozen=True)
class Bench:
    """Where and how scenarios run."""

    folder: Path
    ranks: int
    offline: bool
    arguments: tuple[str, ...]
    """For run.py."""

    def run(self, scenario: Scenario) -> Outcome:
        """Run one scenario and read what it left. Exits when it fails."""
        place = self.folder / scenario.name
        shutil.rmtree(place, ignore_errors=True)
        print(f"{scenario.name}: {scenario.words}", file=sys.stderr, flush=True)
        subprocess.run(self._command(scenario), check=True, env=self._environment(scenario))
        report = subprocess.run(
            [sys.executable, "-m", "jitwatch", "report", str(place / "run"), "--format", "json"],
            check=True,
            capture_output=True,
        )
        return read_outcome(json.loads(report.stdout), place / "measured")

    def _command(self, scenario: Scenario) -> list[str]:
        place = self.folder / scenario.name
        # Offline the kernels need not run: their place in the interpreter would say nothing about a GPU.
        offline = ["--offline=cuda:90", "--no-execute"] if self.offline else []
        profile = ["-m", "jitwatch", "profile", "--quiet", *offline, "--out", str(place / "run"), "--"]
        torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(self.ranks)]
        given = ["--form", scenario.form, "--measured", str(place / "measured"), *self.arguments]
        if scenario.own_caches:
            given += ["--caches", str(self._caches(scenario))]
        if scenario.cold_rank:
            given += ["--cold-rank", str(self.ranks - 1)]
        return [sys.executable, *profile, sys.executable, *torchrun, str(RUN), *given]

    def _environment(self, scenario: Scenario) -> dict[str, str]:
        if scenario.emptied:
            shutil.rmtree(self._caches(scenario) / f"rank{self.ranks - 1}", ignore_errors=True)
        # One thread a rank, as torchrun would set with a warning.
        added = {"TRITON_CACHE_DIR": str(self._caches(scenario)), "OMP_NUM_THREADS": "1"}
        return {**os.environ, **added}

    def _caches(self, scenario: Scenario) -> Path:
        # Never copied: the index files in a Triton cache hold absolute paths.
        return self.folder / (scenario.caches_of or scenario.name) / "caches"


def parse_arguments(argv: Sequence[str] | None) -> tuple[argparse.Namespace, list[str]]:
    """The command line, and the part of it meant for run.py."""
    parser = argparse.ArgumentParser(
        description="Hold the computed stall of a tensor-parallel group against the measured one.",
        epilog="Other options go to run.py (--steps, --largest, --layers, ...).",
    )
    parser.add_argument("--nproc-per-node", type=int, default=4, metavar="N", help="ranks (default: 4)")
    parser.add_argument("--offline", action="store_true", help="without a GPU: gloo, compiling for sm_90")
    parser.add_argument("--out", type=Path, metavar="DIR", help="keep the runs there (default: a new folder)")
    parser.add_argument("--only", nargs="+", choices=[each.name for each in SCENARIOS], metavar="NAME")
    return parser.parse_known_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    args, for_run = parse_arguments(argv)
    if args.nproc_per_node < 2:
        print("scenarios.py: one rank waits for nobody; try --nproc-per-node 2", file=sys.stderr)
        return 2
    folder = (args.out or Path(tempfile.mkdtemp(prefix="tensor-parallel-"))).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    bench = Bench(folder, args.nproc_per_node, args.offline, tuple(for_run))
    outcomes: dict[str, Any] = {}
    lines = [HEADER]
    for scenario in SCENARIOS:
        if args.only and scenario.name not in args.only:
            continue
        try:
            outcome = bench.run(scenario)
        except subprocess.CalledProcessError as error:
            print(f"scenarios.py: {scenario.name} failed with exit code {error.returncode}", file=sys.stderr)
            return 1
        outcomes[scenario.name] = asdict(outcome)
        lines.append(outcome.row(scenario.words))
    (folder / "outcomes.json").write_text(json.dumps(outcomes, indent=1))
    print("\n".join(lines))
    print(f"\nThe runs: jitwatch report {folder}/NAME/run", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
