"""The devices that can be stood in for: what Triton compiles for, and what a program that asks is told."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """A device, by its data sheet. Clocks are in kHz, sizes in bytes, as the drivers give them."""

    backend: str
    """``cuda`` or ``hip``."""
    arch: int | str
    """90, or ``gfx942``."""
    name: str
    warp_size: int
    multiprocessors: int
    max_shared_mem: int
    """Most shared memory (LDS) one program may use."""
    l2_size: int
    memory: int
    sm_clock: int
    memory_clock: int
    memory_bus: int
    """Bits."""

    @property
    def spelling(self) -> str:
        """As the command line takes it: ``cuda:90``."""
        return f"{self.backend}:{self.arch}"

    @property
    def capability(self) -> tuple[int, int]:
        """What ``torch.cuda.get_device_capability`` answers."""
        if isinstance(self.arch, int):
            return divmod(self.arch, 10)
        return int(self.arch[3:-2]), int(self.arch[-2], 16)

    @property
    def threads_per_multiprocessor(self) -> int:
        """Resident threads: 1536 on Ada (8.9), 2048 on the data-centre parts."""
        return 1536 if self.arch == 89 else 2048

    def properties(self) -> dict[str, int | str]:
        """What ``driver.active.utils.get_device_properties`` answers."""
        answer: dict[str, int | str] = {
            "max_shared_mem": self.max_shared_mem,
            "max_num_regs": 65536,
            "multiprocessor_count": self.multiprocessors,
            "warpSize": self.warp_size,
            "sm_clock_rate": self.sm_clock,
            "mem_clock_rate": self.memory_clock,
            "mem_bus_width": self.memory_bus,
        }
        if self.backend == "hip":
            answer.update(arch=f"{self.arch}:sramecc+:xnack-", max_threads_per_sm=2048, cooperativeLaunch=1)
        return answer


_KIB, _MIB, _GIB = 1024, 1024**2, 1024**3

_ALL = (
    #      backend, arch, name, warp, multiprocessors, shared, L2, memory, clocks, bus
    Target(
        "cuda", 80, "NVIDIA A100-SXM4-80GB", 32, 108, 163 * _KIB, 40 * _MIB, 80 * _GIB, 1410000, 1593000, 5120
    ),
    Target("cuda", 89, "NVIDIA L40S", 32, 142, 99 * _KIB, 96 * _MIB, 45 * _GIB, 2520000, 9001000, 384),
    Target("cuda", 90, "NVIDIA H200", 32, 132, 227 * _KIB, 60 * _MIB, 150109880320, 1980000, 3201000, 6016),
    Target("cuda", 100, "NVIDIA B200", 32, 148, 227 * _KIB, 126 * _MIB, 178 * _GIB, 1965000, 3996000, 8192),
    Target(
        "hip",
        "gfx942",
        "AMD Instinct MI300X",
        64,
        304,
        64 * _KIB,
        4 * _MIB,
        192 * _GIB,
        2100000,
        1300000,
        8192,
    ),
)

TARGETS = {target.spelling: target for target in _ALL}
"""Spelling to target."""


def parse_target(text: str) -> Target:
    """Read ``cuda:90``. Raises ValueError, naming the valid ones, for anything else."""
    target = TARGETS.get(text.strip().lower())
    if target is None:
        raise ValueError(f"unknown offline target {text!r}: choose one of {', '.join(TARGETS)}")
    return target
