"""A command is watched whatever shape its processes take, and nothing it does is changed by that."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import PREAMBLE, Profiled

KERNEL = """
@triton.jit
def kernel(n):
    tl.device_print("n", n)

def launch(n):
    kernel[(1,)](n)
"""

Write = Callable[..., Path]
Profile = Callable[..., Profiled]


def names(run: Profiled) -> list[int]:
    """Values of `n` at every miss of the run."""
    return [miss["args"][0][2] for miss in run.events("miss")]


def test_a_script_keeps_its_output_exit_code_arguments_and_path(write: Write, profile: Profile) -> None:
    program = write(
        """
        import os, sys
        print(sys.argv[1:], os.path.basename(sys.argv[0]), sys.path[0] == os.path.dirname(__file__))
        print([p for p in sys.path if "bootstrap" in p])
        print("to stderr", file=sys.stderr)
        sys.exit(7)
        """,
        preamble="",
    )
    run = profile(program, "--fail-on", "x y", options=("--quiet",))
    assert run.code == 7
    assert run.stdout.splitlines() == ["['--fail-on', 'x y'] program.py True", "[]"]
    assert run.stderr == "to stderr\n"


def test_a_module_run_with_dash_m_is_watched(write: Write, profile: Profile, tmp_path: Path) -> None:
    write(KERNEL + "launch(3)\n", "pack/__main__.py")
    environment = {"PYTHONPATH": str(tmp_path)}
    run = profile(sys.executable, "-m", "pack", environment=environment)
    assert names(run) == [3], run.stderr


def test_a_console_script_is_watched(write: Write, profile: Profile, tmp_path: Path) -> None:
    write(KERNEL + "launch(3)\n", "tool_module.py")
    script = tmp_path / "tool"
    script.write_text(f"#!{sys.executable}\nimport tool_module\n")
    script.chmod(0o755)
    assert names(profile(script)) == [3]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing_children_write_files_of_their_own(
    write: Write, profile: Profile, method: str
) -> None:
    write(KERNEL, "kernels_here.py")
    program = write(
        f"""
        import multiprocessing
        from kernels_here import launch
        if __name__ == "__main__":
            launch(3)
            context = multiprocessing.get_context("{method}")
            child = context.Process(target=launch, args=(17,))
            child.start(); child.join()
            assert child.exitcode == 0
        """,
        preamble="",
    )
    run = profile(program)
    assert run.code == 0, run.stderr
    assert sorted(names(run)) == ([3, 17] if method != "fork" else [3]), (
        "n=17 is in the forked child's memory"
    )
    assert len(list((run.directory / "events").iterdir())) >= (1 if method == "fork" else 2)
    assert run.run_file()["unobserved"] == []


def test_a_forked_child_numbers_its_own_misses_and_names_its_parent(write: Write, profile: Profile) -> None:
    program = write(
        KERNEL
        + """
import os
launch(3)
pid = os.fork()
if pid == 0:
    launch(16)
    os._exit(0)
os.waitpid(pid, 0)
launch(1)
"""
    )
    run = profile(program)
    heads = run.events("process")
    assert [head["parent"] is not None for head in heads].count(True) == 1
    files = {path.name: path.read_text() for path in (run.directory / "events").iterdir()}
    child = next(head for head in heads if head["parent"])
    assert child["parent"] in files
    assert sorted(names(run)) == [1, 3, 16]
    assert sorted(miss["n"] for miss in run.events("miss")) == [1, 1, 2]
    assert {seen["pid"] for seen in run.seen()} == {head["pid"] for head in heads}


@pytest.mark.parametrize("call", ["subprocess.run({argv})", "subprocess.run(' '.join({argv}), shell=True)"])
def test_a_subprocess_is_watched(write: Write, profile: Profile, call: str) -> None:
    inner = write(KERNEL + "launch(3)\n", "inner.py")
    argv = [sys.executable, str(inner)]
    program = write("import subprocess\n" + call.format(argv=argv) + "\n", preamble="")
    assert names(profile(program)) == [3]


def test_an_exec_is_watched(write: Write, profile: Profile) -> None:
    inner = write(KERNEL + "launch(3)\n", "inner.py")
    program = write(
        f"import os\nos.execv({sys.executable!r}, [{sys.executable!r}, {str(inner)!r}])\n", preamble=""
    )
    assert names(profile(program)) == [3]


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("os._exit(5)", 5),
        ("os.kill(os.getpid(), signal.SIGTERM)", 128 + 15),
        ("os.kill(os.getpid(), signal.SIGKILL)", 128 + 9),
        ("os.abort()", 128 + 6),
        ("raise SystemExit(3)", 3),
        ("1 / 0", 1),
    ],
)
def test_every_miss_before_the_end_is_on_disk_however_it_ends(
    write: Write, profile: Profile, ending: str, code: int
) -> None:
    run = profile(write(KERNEL + f"import os, signal\nlaunch(3)\nlaunch(16)\n{ending}\n"))
    assert run.code == code
    assert names(run) == [3, 16]
    assert len(run.events("served")) == 2


def test_signals_reach_the_command_and_its_own_answer_comes_back(write: Write, tmp_path: Path) -> None:
    import os
    import signal
    import subprocess

    program = write(
        """
        import signal, sys, time
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(42))
        print("ready", flush=True)
        time.sleep(60)
        """,
        preamble="",
    )
    line = [sys.executable, "-m", "jitwatch", "profile", "--quiet", "--out", str(tmp_path / "run")]
    with subprocess.Popen([*line, sys.executable, str(program)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ready\n"
        os.kill(parent.pid, signal.SIGTERM)
        assert parent.wait(timeout=30) == 42


def test_a_sitecustomize_that_is_shadowed_still_runs(write: Write, profile: Profile, tmp_path: Path) -> None:
    write("import sys\nsys.customized = __file__\n", "site/sitecustomize.py", preamble="")
    program = write(
        KERNEL + "import sys, sitecustomize\nprint(sys.customized == sitecustomize.__file__)\nlaunch(3)\n"
    )
    run = profile(program, environment={"PYTHONPATH": str(tmp_path / "site")})
    assert run.stdout == "True\n"
    assert names(run) == [3]


def test_an_error_in_the_shadowed_sitecustomize_looks_as_it_does_without_us(
    write: Write, profile: Profile, tmp_path: Path
) -> None:
    write("raise ValueError('mine')\n", "site/sitecustomize.py", preamble="")
    program = write("print('runs')\n", preamble="")
    run = profile(program, environment={"PYTHONPATH": str(tmp_path / "site")}, options=("--quiet",))
    assert run.stdout == "runs\n"
    assert "Error in sitecustomize" in run.stderr
    assert "ValueError: mine" in run.stderr


def test_pip_and_other_builders_are_seen_but_not_watched(profile: Profile) -> None:
    run = profile(sys.executable, "-m", "pip", "--version")
    assert run.code == 0
    assert [seen["skipped"] for seen in run.seen()] == ["pip is not watched"]


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        ("[sys.executable, '-I', inner]", "python -I ignores PYTHONPATH"),
        ("[sys.executable, '-S', inner]", "python -S skips sitecustomize"),
        ("[sys.executable, inner], env={'PATH': os.environ['PATH']}", "environment of its own"),
        ("[sys.executable, inner], env={**os.environ, 'PYTHONPATH': ''}", "PYTHONPATH was replaced"),
    ],
)
def test_a_python_that_escapes_is_listed_with_the_reason(
    write: Write, profile: Profile, start: str, reason: str
) -> None:
    inner = write("import time\ntime.sleep(1)\n", "inner.py", preamble="")
    program = write(
        f"import os, subprocess, sys\ninner = {str(inner)!r}\nsubprocess.run({start})\n", preamble=""
    )
    escaped = profile(program).run_file()["unobserved"]
    assert len(escaped) == 1
    assert reason in escaped[0]["reason"]
    assert escaped[0]["argv"][-1] == str(inner)


def test_another_venvs_interpreter_without_jitwatch_is_watched(
    write: Write, profile: Profile, tmp_path: Path
) -> None:
    import subprocess
    from importlib.metadata import distribution

    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    (tmp_path / "packages").mkdir()
    # Triton finds its backends by entry points, and up to 3.2 imports setuptools.
    for name in ("triton", "setuptools"):
        found = distribution(name)
        for part in (name, f"{name}-{found.version}.dist-info", "_distutils_hack"):
            if Path(str(found.locate_file(part))).exists() and not (tmp_path / "packages" / part).exists():
                (tmp_path / "packages" / part).symlink_to(str(found.locate_file(part)))
    forbid = "import sys\nsys.modules['jitwatch'] = None  # an import of it would fail\n"
    program = write(forbid + PREAMBLE + KERNEL + "launch(3)\n", preamble="")
    run = profile(python, program, environment={"PYTHONPATH": str(tmp_path / "packages")})
    assert run.code == 0, run.stderr
    assert names(run) == [3]
    assert run.events("process")[0]["python"] == str(python)


def test_without_the_session_variable_nothing_is_attached(write: Write, tmp_path: Path) -> None:
    import os
    import subprocess

    from jitwatch.launch.run import BOOTSTRAP

    program = write(
        "import sys\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('jitwatch', '_jitwatch')], sys.meta_path[0])\n",
        preamble="",
    )
    environment = {**os.environ, "PYTHONPATH": str(BOOTSTRAP)}
    got = subprocess.run(
        [sys.executable, program], env=environment, capture_output=True, text=True, check=True
    )
    assert got.stdout.startswith("[] ")
    assert "ImportWatcher" not in got.stdout


def test_the_parent_imports_neither_triton_nor_torch(write: Write, tmp_path: Path) -> None:
    import subprocess

    code = """
import sys
from jitwatch.cli import main
code = main(["profile", "--quiet", "--out", sys.argv[1], sys.executable, "-c", "pass"])
print(code, sorted({m.split(".")[0] for m in sys.modules} & {"triton", "torch", "libcst", "numpy"}))
"""
    got = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "run")], capture_output=True, text=True, check=True
    )
    assert got.stdout == "0 []\n"
