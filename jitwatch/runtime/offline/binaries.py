"""The last stage of a compile, where a release's own tools cannot make the binary."""

from __future__ import annotations

import subprocess
from typing import Any, Callable

from .notices import notices
from .patches import Patches
from .target import Target


def finish_without_tools(target: Target, patches: Patches) -> None:
    """Where the linker or assembler is missing, end one stage earlier and say so; everything else is untouched."""
    if target.backend == "hip" and not _can_link():
        notices.say(
            "this Triton cannot link code for AMD without ROCm: kernels are compiled down to amdgcn and assembled"
        )
        _replace_last_stage("triton.backends.amd.compiler", "HIPBackend", _assemble, patches)
    elif target.backend == "cuda" and not _can_assemble(target):
        notices.say(
            f"the ptxas of this Triton does not know sm_{target.arch}: kernels are compiled down to PTX"
        )
        _replace_last_stage(
            "triton.backends.nvidia.compiler", "CUDABackend", lambda _, ptx: ptx.encode(), patches
        )


def _can_link() -> bool:
    from triton._C.libtriton import amd
    from triton.backends.amd.compiler import HIPBackend

    if hasattr(amd, "link_hsaco"):  # from 3.5 on the linker is part of Triton
        return True
    try:
        HIPBackend.path_to_rocm_lld()
    except Exception:  # noqa: BLE001  what older releases raise, with no type of its own
        return False
    return True


def _can_assemble(target: Target) -> bool:
    from triton.backends.nvidia import compiler

    find = getattr(
        compiler, "_path_to_binary", None
    )  # up to 3.3; later releases carry a ptxas for all five targets
    if find is None:
        return True
    known = subprocess.run([find("ptxas")[0], "--help"], capture_output=True, text=True, check=False).stdout
    return f"sm_{target.arch}" in known


def _assemble(backend: Any, assembly: str) -> Any:
    """An object file, not yet linked."""
    from triton._C.libtriton import amd

    return amd.assemble_amdgcn(assembly, backend.target.arch, "")


def _replace_last_stage(module: str, name: str, make: Callable[[Any, str], Any], patches: Patches) -> None:
    import importlib

    backend = getattr(importlib.import_module(module), name)
    add, digest = backend.add_stages, backend.hash

    def add_stages(self: Any, stages: Any, *rest: Any) -> None:
        add(self, stages, *rest)
        stages[self.binary_ext] = lambda source, metadata: make(self, source)

    def hash_apart(self: Any) -> str:
        # The disk cache may be shared with a machine that has the tools: never leave it our substitute.
        return f"{digest(self)}-unfinished"

    patches.set(backend, "add_stages", add_stages)
    patches.set(backend, "hash", hash_apart)
