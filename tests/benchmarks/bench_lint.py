"""How long `jitwatch lint` takes over a tree, beside ruff and Fixit on the same machine in the same run.

    python tests/benchmarks/bench_lint.py TREE [--ruff ruff] [--fixit "fixit"] [--repeat 3]

Not run in CI. Fixit parses every file with libcst and takes minutes over a large tree, so it gets the files
that mention Triton and jit only, at most `--fixit-bytes` of them, and its time is scaled up by their size.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jitwatch.lint.sources import mentions_kernels


@dataclass(frozen=True)
class Tree:
    """The files that the contestants get."""

    root: Path
    files: dict[Path, int]
    """Size in bytes by path."""
    kernel_files: dict[Path, int]

    @classmethod
    def of(cls, root: Path) -> Tree:
        """Read a folder."""
        contents = {path: path.read_bytes() for path in sorted(root.rglob("*.py")) if path.is_file()}
        sizes = {path: len(data) for path, data in contents.items()}
        return cls(
            root, sizes, {path: sizes[path] for path, data in contents.items() if mentions_kernels(data)}
        )

    def sample(self, limit: int) -> dict[Path, int]:
        """Kernel files, evenly spread, of at most ``limit`` bytes together."""
        total = sum(self.kernel_files.values())
        step = max(1, -(-total // limit))
        return dict(list(self.kernel_files.items())[::step])


def seconds(command: Sequence[str], folder: str) -> float:
    """Wall time of a command; its findings are of no interest here."""
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return time.perf_counter() - start


def cold_and_warm(command: Sequence[str], cache: str, repeat: int) -> tuple[float, float]:
    """Best of ``repeat`` without a cache and with one; ``cache`` is the name of its folder."""
    with tempfile.TemporaryDirectory() as folder:
        cold, warm = [], []
        for _ in range(repeat):
            shutil.rmtree(os.path.join(folder, cache), ignore_errors=True)
            cold.append(seconds(command, folder))
            warm.append(seconds(command, folder))
        return min(cold), min(warm)


def measure_fixit(command: Sequence[str], tree: Tree, limit: int) -> tuple[float, str]:
    """Time Fixit over a sample of the kernel files, scaled to all of them."""
    sample = tree.sample(limit)
    share = sum(sample.values()) / sum(tree.kernel_files.values())
    with tempfile.TemporaryDirectory() as folder:
        taken = seconds([*command, "lint", *map(str, sample)], folder)
    note = f"{taken:.1f} s for {len(sample)} kernel files, {share:.0%} of their bytes; scaled to all of them"
    return taken / share, note


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tree", type=Path)
    parser.add_argument("--ruff", default=f"{sys.executable} -m ruff")
    parser.add_argument("--fixit", default="", help="command of Fixit, left out when not given")
    parser.add_argument("--fixit-bytes", type=int, default=800_000)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    tree = Tree.of(args.tree.resolve())
    print(
        f"{len(tree.files)} files, {sum(tree.files.values()) / 1e6:.1f} MB; {len(tree.kernel_files)} with Triton, "
        f"{sum(tree.kernel_files.values()) / 1e6:.1f} MB; {len(os.sched_getaffinity(0))} cores"
    )
    own = [sys.executable, "-m", "jitwatch", "lint"]
    target = str(tree.root)
    cold, warm = cold_and_warm([*own, target], ".jitwatch_cache", args.repeat)
    ruff = [*shlex.split(args.ruff), "check", target]
    ruff_cold, ruff_warm = cold_and_warm(ruff, ".ruff_cache", args.repeat)
    middle = sorted(tree.kernel_files, key=lambda path: tree.kernel_files[path])[len(tree.kernel_files) // 2]
    one, _ = cold_and_warm([*own, str(middle)], ".jitwatch_cache", args.repeat)
    print(f"jitwatch lint   cold {cold:6.2f} s   warm {warm:5.2f} s   one file {one:5.2f} s")
    print(f"ruff check      cold {ruff_cold:6.2f} s   warm {ruff_warm:5.2f} s")
    print(f"jitwatch / ruff cold {cold / ruff_cold:6.2f}     warm {warm / ruff_warm:5.2f}")
    if args.fixit:
        fixit, note = measure_fixit(shlex.split(args.fixit), tree, args.fixit_bytes)
        print(f"fixit lint      cold {fixit:6.1f} s   ({note})")
        print(f"jitwatch / fixit cold {cold / fixit:5.3f}")


if __name__ == "__main__":
    main()
