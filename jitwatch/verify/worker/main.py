"""The loop of a worker: a JSON line in, a JSON line out. Standard output is the user's module's no more."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any, TextIO

from jitwatch.runtime import offline
from jitwatch.runtime.imports import ImportWatcher
from jitwatch.runtime.offline.target import parse_target
from jitwatch.specialization.classes import ArgumentClass
from jitwatch.verify.code.difference import changed_lines
from jitwatch.verify.timing import has_driver
from jitwatch.verify.worker.compiling import compile_form, figures_of, instructions_of
from jitwatch.verify.worker.constants import Unbuildable
from jitwatch.verify.worker.importing import NotFound, load_kernel
from jitwatch.verify.worker.launching import Unrepeatable, find_device, time_forms


def main() -> None:
    """Answer requests until standard input ends."""
    answers = _take_standard_output()
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    for line in sys.stdin:
        answers.write(json.dumps(answer(json.loads(line))) + "\n")
        answers.flush()


def answer(job: Mapping[str, Any]) -> dict[str, Any]:
    """Compile one form, compare two or time two (``job_of``, ``comparison_of``, ``timing_of``), or find the device.

    The answer has what was asked for, or ``failed`` (one line) and ``stage``: ``find`` or ``compile``.
    """
    if "device" in job:
        return {"device": find_device()}
    target = parse_target(job["target"])
    _stand_in(job["target"])
    try:
        function = load_kernel(job["kernel"])
        _check_parameters(function, job)
    except NotFound as error:
        return {"failed": str(error), "stage": "find"}
    from triton.backends.compiler import GPUTarget

    gpu = GPUTarget(target.backend, target.arch, target.warp_size)

    def compiled(form: Mapping[str, Any]) -> Any:
        return compile_form(function, [read_class(row) for row in form["arguments"]], form["options"], gpu)

    try:
        if "launch" in job:
            return _timed(compiled(job), compiled(job["after"]), job["launch"])
        if "after" in job:
            # Both were compiled before: Triton's disk cache answers.
            old, new = (instructions_of(compiled(form), target.backend) for form in (job, job["after"]))
            lines, more = changed_lines(old, new)
            return {"changed": lines, "more": more}
        return {"figures": figures_of(compiled(job), target.backend).to_json()}
    except Unbuildable as error:
        return {"failed": str(error), "stage": "find"}
    except Exception as error:  # noqa: BLE001  whatever Triton's compiler raises is the answer
        return {"failed": explain(error), "stage": "compile"}


def _timed(before: Any, after: Any, launch: Mapping[str, Any]) -> dict[str, Any]:
    """Microseconds of both forms; a failed launch leaves the process's device context in ruins, so it is its last."""
    try:
        timing = time_forms(before, after, launch)
    except Unrepeatable as error:
        return {"failed": str(error), "stage": "time"}
    except Exception as error:  # noqa: BLE001  whatever the driver raises
        # The driver says first what happened, and then how to debug it: "CUDA error: an illegal memory access ...".
        text = str(error).partition("\n")[0].strip() or type(error).__name__
        return {"failed": text[:200], "stage": "time", "last": True}
    return {"before": timing.before, "after": timing.after}


def explain(error: BaseException) -> str:
    """The innermost reason of a compiler's error, in one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(getattr(error, "error_message", None) or error).splitlines()]
    # Triton's CompilationError quotes the source with a caret first; what it means to say comes last.
    text = next((line for line in reversed(lines) if line.strip("^ ")), type(error).__name__)
    return text[:200]


def read_class(row: list[Any]) -> ArgumentClass:
    """An ArgumentClass that came as JSON."""
    type_, spec, folded, elements = row
    return ArgumentClass(type_, spec, folded, tuple(map(read_class, elements)))


def _check_parameters(function: Any, job: Mapping[str, Any]) -> None:
    if list(function.arg_names) != job["names"]:
        raise NotFound(f"{job['kernel']['name']} has other parameters than in the run; record the run again")


_standing: list[str] = []


def _stand_in(target: str) -> None:
    """Where no device is, let modules that ask for one at import find the target's stand-in."""
    if not _standing and not has_driver():
        _standing.append(target)
        offline.activate(target, execute=False)
        ImportWatcher({"torch": lambda _module: offline.attach_torch()}).install()


def _end_with_parent(parent: int) -> None:
    """A killed command must not leave a compile of minutes behind; nobody would read the answer."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _take_standard_output() -> TextIO:
    """What was standard output, for answers; what modules print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers
