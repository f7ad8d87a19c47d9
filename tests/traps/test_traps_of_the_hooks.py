"""Traps 1 to 5, 12, 15: a recorder that sets hooks must not change what the program does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Profiled

Write = Callable[..., Path]
Profile = Callable[..., Profiled]

KERNEL = """
@triton.jit
def kernel(n, MODE: tl.constexpr):
    tl.device_print("n", n)
"""

SLOTS = """
def slot(new, old):
    knobs = getattr(triton, "knobs", None)
    return (knobs.runtime, new) if knobs is not None else (triton.runtime.jit.JITFunction, old)

def get(where):
    return getattr(*where, None)

MISS, POST = slot("jit_cache_hook", "cache_hook"), slot("jit_post_compile_hook", "compiled_hook")
"""


@pytest.mark.parametrize("mode", ["Color.RED", "frozenset([1])", "Plain()", "(tl.float16, 1)"])
def test_trap_01_a_constexpr_that_json_cannot_dump_still_launches(
    write: Write, profile: Profile, mode: str
) -> None:
    program = write(
        f"""
        import enum
        class Color(enum.Enum):
            RED = 1
        class Plain:
            pass
        {KERNEL.replace(chr(10), chr(10) + " " * 8)}
        kernel[(1,)](3, MODE={mode})
        print("launched")
        """
    )
    run = profile(program)
    assert run.stdout == "launched\n", run.stderr
    assert len(run.events("served")) == 1


def test_trap_01_the_guard_keeps_what_json_can_dump(write: Write, profile: Profile) -> None:
    """A hook of the program still gets the real specialization data."""
    program = write(
        SLOTS
        + KERNEL
        + """
import json
def hook(**call):
    print(json.loads(call["compile"]["specialization_data"])["name"].rpartition(".")[2])
previous = get(MISS)
setattr(*MISS, lambda **call: (hook(**call), previous(**call))[1])
kernel[(1,)](3, MODE=1)
"""
    )
    assert profile(program).stdout == "kernel\n"


def test_trap_02_a_launch_is_never_dropped_by_our_hook(write: Write, profile: Profile) -> None:
    program = write(SLOTS + KERNEL + "print(kernel[(1,)](3, MODE=1) is not None, get(MISS).__module__)\n")
    assert profile(program).stdout == "True _jitwatch.runtime.hooks\n"


def test_trap_02_the_answer_of_a_hook_that_was_there_first_stands(write: Write, profile: Profile) -> None:
    """A program that sets its own dropping hook before we attach is attached to in-process."""
    program = write(
        SLOTS
        + KERNEL
        + """
import os, sys
dropped = []
setattr(*MISS, lambda **call: dropped.append(1) or True)
from _jitwatch.runtime.recorder import Recorder
events = []
second = Recorder(triton, events.append)
second.attach()
print(kernel[(1,)](3, MODE=1), len(dropped))
print([e["failed"] for e in events if e["event"] == "served"])
second.detach()
print(kernel[(1,)](3, MODE=1), len(dropped), len([e for e in events if e["event"] == "miss"]))
"""
    )
    lines = profile(program).stdout.splitlines()
    assert lines[0] == "None 1"
    assert "dropped by the cache hook" in lines[1]
    assert lines[2] == "None 2 1"


def test_trap_03_an_error_inside_the_recorder_does_not_reach_the_launch(
    write: Write, profile: Profile
) -> None:
    program = write(
        KERNEL
        + """
import shutil, os, _jitwatch.runtime.frames as frames
def broken(*args):
    raise RuntimeError("planted")
frames.Launch.__init__ = broken
print(kernel[(1,)](3, MODE=1) is not None)
"""
    )
    run = profile(program)
    assert run.stdout == "True\n"
    assert run.stderr.count("planted") == 1
    assert "the program is not affected" in run.stderr


def test_trap_03_a_run_directory_that_vanishes_does_not_stop_the_program(
    write: Write, profile: Profile
) -> None:
    program = write(
        KERNEL
        + """
import os, shutil
directory = os.environ["JITWATCH_SESSION"]
def launch():
    return kernel[(1,)](3, MODE=1) is not None
shutil.rmtree(directory)
print(launch())
pid = os.fork()   # the child must open a file of its own, and cannot
if pid == 0:
    print(kernel[(1,)](16, MODE=1) is not None, flush=True)
    os._exit(0)
print(os.waitpid(pid, 0)[1])
os.makedirs(directory)
"""
    )
    assert sorted(profile(program).stdout.split()) == ["0", "True", "True"]


def test_trap_04_a_hook_that_was_replaced_is_reported(write: Write, profile: Profile) -> None:
    program = write(
        SLOTS
        + KERNEL
        + """
kernel[(1,)](3, MODE=1)
def intruder(**call):
    return None
setattr(*MISS, intruder)
kernel[(1,)](16, MODE=1)
"""
    )
    run = profile(program)
    notices = [n["text"] for n in run.events("notice") if n["topic"] == "hooks"]
    assert len(notices) == 1
    assert notices[0].startswith(("jit_cache_hook", "cache_hook"))
    assert "replaced by __main__.intruder" in notices[0]
    assert len(run.events("miss")) == 1


def test_trap_04_a_hook_set_over_ours_that_chains_keeps_us(write: Write, profile: Profile) -> None:
    program = write(
        SLOTS
        + KERNEL
        + """
previous = get(MISS)
setattr(*MISS, lambda **call: previous(**call))
kernel[(1,)](3, MODE=1)
"""
    )
    run = profile(program)
    assert len(run.events("miss")) == 1
    assert run.events("notice") == []


def test_trap_05_the_odd_call_of_inductor_is_not_a_miss(write: Write, profile: Profile) -> None:
    program = write(
        SLOTS
        + KERNEL
        + """
hook = get(POST)
if hook is not None:
    hook(key="source hash", repr="source", fn=kernel, compile=object(), is_manual_warmup=False,
         already_compiled=True, inductor_args={})
kernel[(1,)](3, MODE=1)
"""
    )
    run = profile(program)
    assert len(run.events("miss")) == len(run.events("served")) == 1
    assert "jitwatch:" not in run.stderr


def test_trap_05_a_compile_outside_a_launch_is_said_and_not_counted(write: Write, profile: Profile) -> None:
    program = write(
        KERNEL
        + """
if getattr(getattr(triton, "knobs", None), "compilation", None) is None:
    print("no listener")
else:
    compiled = kernel.warmup(3, MODE=1, grid=(1,))
    triton.compile(compiled.src, target=compiled.metadata.target)
"""
    )
    run = profile(program)
    if run.stdout == "no listener\n":
        pytest.skip("this Triton has no compile listener")
    assert [n["text"] for n in run.events("notice") if n["topic"] == "outside"] == [
        "kernel was compiled outside a launch, which is no cache miss"
    ]
    assert len(run.events("miss")) == 1


def test_trap_12_watching_imports_neither_triton_nor_torch_nor_json(write: Write, profile: Profile) -> None:
    program = write(
        "import sys\nprint(sorted({'triton', 'torch', 'json', 'typing'} & set(sys.modules)))\n", preamble=""
    )
    bare = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    assert profile(program).stdout == bare.stdout


def test_trap_15_a_triton_that_lacks_members_is_watched_with_what_it_has(
    write: Write, profile: Profile
) -> None:
    program = write(
        """
        import triton.runtime.jit
        knobs = getattr(triton, "knobs", None)
        from _jitwatch.runtime.hooks import Places
        if knobs is not None:
            class Without:
                jit_cache_hook = None
            before = triton.knobs
            class Knobs:
                runtime = Without()
            triton.knobs = Knobs
            print(Places(triton).probes())
            triton.knobs = before
        else:
            print({"miss_hook": True, "post_hook": False, "compile_listener": False, "tune_listener": False,
                   "load_hooks": False})
        """
    )
    assert profile(program).stdout.strip() == str(
        {
            "miss_hook": True,
            "post_hook": False,
            "compile_listener": False,
            "tune_listener": False,
            "load_hooks": False,
        }
    )


def test_trap_15_a_triton_without_a_miss_hook_is_said_and_not_called_clean(
    write: Write, profile: Profile, tmp_path: Path
) -> None:
    """Triton 2 and forks of it: no hook in any place known."""
    write("from .runtime import jit\n__version__ = '2.1.0'\n", "packages/triton/__init__.py", "")
    write("", "packages/triton/runtime/__init__.py", "")
    write("class JITFunction: pass\n", "packages/triton/runtime/jit.py", "")
    program = write("import triton\nprint(triton.__version__)\n", preamble="")
    run = profile(program, options=(), environment={"PYTHONPATH": str(tmp_path / "packages")})
    assert run.stdout == "2.1.0\n"
    assert "Triton 2.1.0 has no cache-miss hook" in " ".join(run.stderr.split())
    assert "Nothing lost" not in run.stderr
