"""The last stage of a compile, where a release's own tools cannot make the binary."""

from __future__ import annotations

import subprocess
from typing import Any, Callable

from .notices import notices
from .patches import Patches
from .target import Target


def finish_without_tools(target: Target, patches: Patches) -> None:
    """Where the linker or assembler is missing, end one stage earlier and say so; everything else is untouched."""
    from triton.backends import backends

    # Not by import: up to 3.3 Triton loads its backends under names of their own.
    backend = backends["amd" if target.backend == "hip" else "nvidia"].compiler
    if target.backend == "hip" and not _can_link(backend):
        notices.say(
            "this Triton cannot link code for AMD without ROCm: kernels end as amdgcn, assembled, not linked"
        )
        _replace_last_stage(backend, _assemble, patches)
    elif target.backend == "cuda" and not _can_assemble(backend, target):
        notices.say(
            f"the ptxas of this Triton does not know sm_{target.arch}: kernels are compiled down to PTX"
        )
        _replace_last_stage(backend, lambda _, ptx: ptx.encode(), patches)


def _can_link(backend: Any) -> bool:
    from triton._C.libtriton import amd

    if hasattr(amd, "link_hsaco"):  # from 3.5 on the linker is part of Triton
        return True
    try:
        backend.path_to_rocm_lld()
    except Exception:  # noqa: BLE001  what older releases raise, with no type of its own
        return False
    return True


def _can_assemble(backend: Any, target: Target) -> bool:
    find = backend.add_stages.__globals__.get("_path_to_binary")
    if find is None:  # from 3.4 on, whose ptxas knows all of the targets
        return True
    known = subprocess.run([find("ptxas")[0], "--help"], capture_output=True, text=True, check=False).stdout
    return f"sm_{target.arch}" in known


def _assemble(backend: Any, assembly: str) -> Any:
    """An object file, not yet linked."""
    from triton._C.libtriton import amd

    return amd.assemble_amdgcn(assembly, backend.target.arch, "")


def _replace_last_stage(backend: Any, make: Callable[[Any, str], Any], patches: Patches) -> None:
    add = backend.add_stages

    def add_stages(self: Any, stages: Any, *rest: Any) -> None:
        add(self, stages, *rest)
        stages[self.binary_ext] = lambda source, metadata: make(self, source)

    def hash_apart(self: Any) -> str:
        # The disk cache may be shared with a machine that has the tools: never leave it our substitute.
        return f"{self.target}-unfinished"

    patches.set(backend, "add_stages", add_stages)
    patches.set(backend, "hash", hash_apart)
