"""What a worker cannot do is told in one line as unknown, and never ends the command."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from jitwatch.specialization import ArgumentClass, Parameter, Remedy
from jitwatch.specialization.classes import fold
from jitwatch.verify import Change, Form, KernelSource, Outcome, Pool, Request, Verdict, verify_remedies
from tests.verify.conftest import KERNELS

Write = Callable[..., Path]

PARAMETERS = (Parameter("out"), Parameter("n"))
FORMS = tuple(Form((ArgumentClass("*i32", "D"), ArgumentClass("i32", spec))) for spec in ("D", ""))
KERNEL = """
@triton.jit
def kernel(out, n):
    tl.store(out, n)
"""


def verdict_on(path: Path, pool: Pool, name: str = "kernel", module: str = "__main__") -> Verdict:
    """Of ``do_not_specialize`` for the second parameter of a kernel of two."""
    source = KernelSource(name, module, str(path), 1, (str(path.parent),), PARAMETERS)
    (verdict,) = verify_remedies([Request(source, Change(1, Remedy.SPECIALIZE), FORMS)], "cuda:90", pool=pool)
    return verdict


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            "import no_such_module_anywhere\n" + KERNEL,
            "importing .* failed: ModuleNotFoundError: No module named",
        ),
        ("import sys; sys.exit('not configured')\n" + KERNEL, "failed: SystemExit: not configured"),
        ("this is no Python\n" + KERNEL, "failed: SyntaxError"),
        ("import os; os._exit(7)\n" + KERNEL, r"cannot run the compiler \(exit code 7\)"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)\n" + KERNEL, "ended by signal 11"),
        ("other = 1\n", "defines no @triton.jit kernel kernel any more"),
        (KERNEL.replace("n)", "m)"), "has other parameters than in the run; record the run again"),
    ],
)
def test_a_module_that_cannot_give_the_kernel_is_unknown_with_its_reason(
    write: Write, pool: Pool, source: str, reason: str
) -> None:
    verdict = verdict_on(write(source, f"case_{abs(hash(reason))}.py"), pool)
    assert verdict.outcome is Outcome.UNKNOWN
    assert re.search(reason, verdict.reason), verdict.reason
    assert "\n" not in verdict.reason
    assert "time it" not in verdict.reason


def test_a_kernel_defined_inside_a_function_is_unknown_and_the_way_out_is_told(pool: Pool) -> None:
    verdict = verdict_on(KERNELS, pool, "make_kernel.<locals>.nested")
    assert verdict.outcome is Outcome.UNKNOWN
    assert "compare two runs" in verdict.reason


def test_a_kernel_that_does_not_compile_as_it_is_is_unknown(write: Write, pool: Pool) -> None:
    path = write(KERNEL.replace("tl.store(out, n)", "tl.store(out, tl.arange(0, 3))"), "broken.py")
    verdict = verdict_on(path, pool)
    assert verdict.outcome is Outcome.UNKNOWN
    assert verdict.reason.startswith("it does not compile as it is: ")
    assert "power of 2" in verdict.reason


def test_an_interpreter_that_cannot_run_is_unknown(write: Write) -> None:
    with Pool(python="/no/such/python") as pool:
        verdict = verdict_on(write(KERNEL), pool)
    assert verdict.outcome is Outcome.UNKNOWN
    assert "cannot start /no/such/python" in verdict.reason


def test_a_module_that_never_ends_its_import_is_given_up(write: Write) -> None:
    path = write("import time; time.sleep(600)\n" + KERNEL)
    with Pool(workers=1, time_limit=1.5) as pool:
        assert verdict_on(path, pool).reason == "not compiled within 2 s"


def test_a_killed_command_leaves_no_worker_behind(write: Write, tmp_path: Path) -> None:
    told = tmp_path / "pid"
    path = write(
        f"import os, time; open({str(told)!r}, 'w').write(str(os.getpid())); time.sleep(600)\n" + KERNEL
    )
    command = subprocess.Popen([sys.executable, "-m", "jitwatch", "verify", f"{path}::kernel"])
    wait_until(lambda: told.exists() and told.read_text() != "")
    command.kill()
    command.wait()
    wait_until(lambda: not Path("/proc", told.read_text()).exists())


def wait_until(happened: Callable[[], bool]) -> None:
    """Give it 30 s."""
    end = time.monotonic() + 30
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_script_is_imported_without_running_and_its_prints_disturb_nothing(
    write: Write, pool: Pool
) -> None:
    program = write(
        "print('{}')\n" + KERNEL + "if __name__ == '__main__':\n    raise SystemExit('ran')\n", "script.py"
    )
    assert verdict_on(program, pool).outcome is Outcome.HARMLESS


def test_a_module_is_imported_under_its_own_name_so_that_relative_imports_work(
    write: Write, pool: Pool
) -> None:
    write("", "package_of_kernels/__init__.py", preamble="")
    write("SIZE = 1\n", "package_of_kernels/sizes.py", preamble="")
    path = write("from .sizes import SIZE\n" + KERNEL, "package_of_kernels/kernels.py")
    source = KernelSource(
        "kernel", "package_of_kernels.kernels", str(path), 1, (str(path.parents[1]),), PARAMETERS
    )
    request = Request(source, Change(1, Remedy.SPECIALIZE), FORMS)
    (verdict,) = verify_remedies([request], "cuda:90", pool=pool)
    assert verdict.outcome is Outcome.HARMLESS, verdict.reason


def test_a_kernel_under_an_autotuner_in_a_class_is_found(pool: Pool) -> None:
    parameters = (*PARAMETERS, Parameter("BLOCK", constexpr=True))
    source = KernelSource("Namespace.tuned", "kernels", str(KERNELS), 1, (), parameters)
    forms = tuple(Form((*form.arguments, fold(64))) for form in FORMS)
    (verdict,) = verify_remedies([Request(source, Change(1, Remedy.SPECIALIZE), forms)], "cuda:90", pool=pool)
    assert verdict.outcome is not Outcome.UNKNOWN, verdict.reason


@pytest.mark.parametrize("text", ["bf16", "triton.language.bfloat16", "fp32"])
def test_a_dtype_among_the_constants_is_rebuilt_from_its_text(pool: Pool, text: str) -> None:
    names = ["x", "out", "n"]
    parameters = (
        *map(Parameter, names),
        Parameter("TYPE", constexpr=True),
        Parameter("BLOCK", constexpr=True),
    )
    source = KernelSource("cast", "kernels", str(KERNELS), 1, (), parameters)
    pointers = (ArgumentClass("*fp32", "D"), ArgumentClass("*bf16", "D"))
    form = Form((*pointers, ArgumentClass("i32", "D"), fold({"repr": text}), fold(256)))
    (verdict,) = verify_remedies(
        [Request(source, Change(2, Remedy.SPECIALIZE), (form,))], "cuda:90", pool=pool
    )
    assert verdict.outcome is Outcome.COSTS, verdict.reason


def test_a_value_that_only_the_program_can_make_is_unknown_and_named(pool: Pool) -> None:
    parameters = (*map(Parameter, ["x", "out", "n"]), Parameter("TYPE", True), Parameter("BLOCK", True))
    source = KernelSource("cast", "kernels", str(KERNELS), 1, (), parameters)
    pointers = (ArgumentClass("*fp32", "D"), ArgumentClass("*bf16", "D"))
    form = Form((*pointers, ArgumentClass("i32", "D"), fold({"repr": "<Config at 0x7f>"}), fold(256)))
    (verdict,) = verify_remedies(
        [Request(source, Change(2, Remedy.SPECIALIZE), (form,))], "cuda:90", pool=pool
    )
    assert verdict.outcome is Outcome.UNKNOWN
    assert "<Config at 0x7f>" in verdict.reason


def test_the_process_that_asks_imports_neither_triton_nor_torch() -> None:
    code = (
        "import sys, jitwatch.cli.verify, jitwatch.verify.files; print({'triton', 'torch'} & {*sys.modules})"
    )
    got = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert got.stdout.strip() == "set()"
