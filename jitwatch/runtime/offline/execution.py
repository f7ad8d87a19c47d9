"""A launch without a device: the kernel runs in Triton's interpreter, on the CPU memory its tensors have."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any

from . import streams, tuning
from .driver import Launch
from .functions import Functions, make_callable
from .language import InterpretedLanguage, guard_compiler
from .notices import notices
from .patches import Patches


class DeviceAssertion(RuntimeError):
    """``tl.device_assert`` failed; on a GPU the program would end at the next synchronisation."""


class Execution:
    """Runs launches. Built at the first one: the interpreter needs numpy, which a program may not have."""

    def __init__(self, patches: Patches) -> None:
        self.interpreter: Any = importlib.import_module("triton.runtime.interpreter")
        if not hasattr(self.interpreter, "ASTTransformer"):
            raise NotImplementedError("the interpreter of Triton before 3.2 gives wrong results")
        # These need numpy too.
        from .libdevice import add_libdevice
        from .repairs import repair_interpreter

        repair_interpreter(self.interpreter, DeviceAssertion, patches)
        self.language = InterpretedLanguage(self.interpreter)
        add_libdevice(self.language)
        self.functions = Functions(self.language)
        make_callable(self.functions, patches)

    def run(self, launch: Launch) -> None:
        """Run every program of the grid, one after the other in the order of their ids."""
        with self.language.in_place():
            self.functions.begin()
            try:
                builder = self.interpreter.interpreter_builder
                builder.options = replace(builder.options, debug=launch.debug)
                self._run_programs(launch.source.fn, launch.grid, self._arguments(launch))
            finally:
                self.functions.end()

    def _run_programs(self, jit: Any, grid: tuple[int, int, int], arguments: dict[str, Any]) -> None:
        import numpy

        builder = self.interpreter.interpreter_builder
        body = self.functions.body(jit)
        builder.set_grid_dim(*grid)
        # Overflow and division by zero are the kernel's business, and masked lanes do both all the time.
        with numpy.errstate(all="ignore"):
            for x in range(grid[0]):
                for y in range(grid[1]):
                    for z in range(grid[2]):
                        builder.set_grid_idx(x, y, z)
                        body(**arguments)

    def _arguments(self, launch: Launch) -> dict[str, Any]:
        given, types = launch.arguments(), launch.source.signature
        return {
            param.name: _unwrapped(given[param.name])
            if param.is_constexpr
            else self._argument(given[param.name], types.get(param.name))
            for param in launch.source.fn.params
        }

    def _argument(self, value: Any, signature: Any) -> Any:
        """`value` as the interpreter's tensor, of the type it has in the compiled kernel's signature."""
        interpreter = self.interpreter
        if isinstance(value, (bool, int, float)):
            return self._scalar(value, signature)
        if isinstance(value, tuple) and isinstance(signature, tuple):
            items = [self._argument(item, type_) for item, type_ in zip(value, signature)]
            return value._make(items) if hasattr(value, "_make") else interpreter.tl.tuple(items)
        return interpreter._implicit_cvt(value)

    def _scalar(self, value: Any, signature: Any) -> Any:
        tl, numpy = self.interpreter.tl, self.interpreter.np
        type_ = _SCALARS.get(signature) if isinstance(signature, str) else None
        if type_ is None:  # folded (a plain 1), or a release whose signature leaves it out
            type_ = (
                "int1"
                if isinstance(value, bool)
                else _integer_type(value)
                if isinstance(value, int)
                else "float32"
            )
        dtype = getattr(tl, type_)
        if type_ == "bfloat16":  # only by annotation; numpy has none
            dtype = tl.float32
        data = numpy.array([value]).astype(self.interpreter._get_np_dtype(dtype))
        return tl.tensor(self.interpreter.TensorHandle(data, dtype), dtype)


_SCALARS = {
    "i1": "int1", "u1": "int1", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
    "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "f32": "float32", "fp64": "float64",
}  # fmt: skip


def _integer_type(value: int) -> str:
    """How Triton types a Python int."""
    if -(2**31) <= value < 2**31:
        return "int32"
    return "int64" if value < 2**63 else "uint64"


def _unwrapped(value: Any) -> Any:
    """A constexpr's value: kernels compare it (``is None``) as if it were plain."""
    return value.value if type(value).__name__ == "constexpr" else value


class Executor:
    """What launchers call: runs the kernel if it can, and keeps its own failures out of the program."""

    def __init__(self, patches: Patches) -> None:
        self._patches = patches
        self._execution: Execution | None = None
        self._impossible = False
        guard_compiler(patches)

    def __call__(self, launch: Launch) -> None:
        """Run one launch, and keep it if a graph is being captured. Raises DeviceAssertion when the kernel's own
        assertion failed.
        """
        if tuning.in_trial() or self._impossible:
            return
        if (
            getattr(launch.source, "fn", None) is None
            or getattr(launch.source.fn, "is_gluon", lambda: False)()
        ):
            notices.say(
                f"kernel {launch.name} was compiled but not run: only triton.language can be interpreted"
            )
            return
        self._run(launch)
        if streams.state.tape is not None:
            streams.state.tape.steps.append(lambda: self._run(launch))

    def _run(self, launch: Launch) -> None:
        try:
            if self._execution is None:
                self._execution = Execution(self._patches)
        except Exception as error:  # noqa: BLE001  no numpy, or a Triton whose interpreter is another
            self._impossible = True
            notices.say(f"kernels were compiled but not run, their outputs are unwritten: {_reason(error)}")
            return
        try:
            self._execution.run(launch)
        except DeviceAssertion:
            raise
        except Exception as error:  # noqa: BLE001  the interpreter's limits must not end the program
            notices.say(
                f"kernel {launch.name} was compiled but not run, its outputs are unwritten: {_reason(error)}"
            )


def _reason(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
