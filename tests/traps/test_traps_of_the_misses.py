"""Traps 6 to 10, 13, 14, 16 to 18: what a miss is, who caused it, and what must not be taken for one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Profiled

Write = Callable[..., Path]
Profile = Callable[..., Profiled]

KERNEL = """
@triton.jit
def kernel(n, BLOCK: tl.constexpr = 16):
    tl.device_print("n", n + tl.arange(0, BLOCK))
"""


def kinds(run: Profiled) -> dict[str, int]:
    """Misses by kind, as the report counts them."""
    counted: dict[str, int] = run.report()["totals"]["misses"]
    return {kind: count for kind, count in counted.items() if count}


def only_kernel(run: Profiled) -> dict[str, Any]:
    """The one kernel of the run's report."""
    kernels = run.report()["kernels"]
    assert [each["name"] for each in kernels] == ["kernel"]
    found: dict[str, Any] = kernels[0]
    return found


def test_trap_06_a_disk_hit_is_not_a_compile(write: Write, profile: Profile) -> None:
    program = write(KERNEL + "kernel[(1,)](3)\nkernel[(1,)](16)\n")
    assert kinds(profile(program)) == {"compile": 2}
    second = profile(program)
    assert kinds(second) == {"disk_hit": 2}
    assert second.report()["totals"]["recompiles"] == 1


def test_trap_06_a_function_decorated_again_is_told_from_a_new_variant(
    write: Write, profile: Profile
) -> None:
    program = write(
        """
        def make():
            @triton.jit
            def kernel(n):
                tl.device_print("n", n)
            return kernel
        make()[(1,)](3)
        make()[(1,)](3)
        make()[(1,)](16)
        """
    )
    run = profile(program)
    assert kinds(run) == {"compile": 2, "redecorated": 1}
    kernel = run.report()["kernels"][0]
    assert kernel["name"].endswith("make.<locals>.kernel")
    assert (kernel["variants"], kernel["recompiles"]) == (2, 2)


def test_trap_06_options_spelled_differently_are_told_from_other_options(
    write: Write, profile: Profile
) -> None:
    program = write(
        KERNEL
        + """
kernel[(1,)](3)
kernel[(1,)](3, num_warps=4)                  # the default, spelled out
kernel[(1,)](3, num_warps=4, num_stages=3)
kernel[(1,)](3, num_stages=3, num_warps=4)    # another order
kernel[(1,)](3, num_warps=8)
"""
    )
    run = profile(program)
    counted = kinds(run)
    assert counted.get("option_spelling") == 3
    assert counted["compile"] == 2
    changed = [event["changed"] for event in only_kernel(run)["events"]]
    assert [change["argument"] for change in changed[-1]] == ["num_warps"]
    assert changed[-1][0]["after"]["value"] == 8


def test_trap_06_another_device_is_told_from_a_new_variant(write: Write, profile: Profile) -> None:
    program = write(
        KERNEL
        + """
kernel[(1,)](3)
device = triton.runtime.driver.active
current = type(device).get_current_device
type(device).get_current_device = lambda self: 1
kernel[(1,)](3)
kernel[(1,)](5)
"""
    )
    assert kinds(profile(program)) == {"compile": 1, "another_device": 1}


def test_trap_06_a_warm_up_and_a_preload_are_told_from_launches(write: Write, profile: Profile) -> None:
    program = write(
        KERNEL
        + """
taken = []
knobs = getattr(triton, "knobs", None)
where = (knobs.runtime, "jit_cache_hook") if knobs else (triton.runtime.jit.JITFunction, "cache_hook")
previous = getattr(*where)
def hook(**call):
    taken.append(call["compile"]["specialization_data"])
    return previous(**call)
setattr(*where, hook if knobs else staticmethod(hook))
kernel.warmup(3, grid=(1,))
kernel[(1,)](5)
@triton.jit
def other(n):
    tl.device_print("n", n)
other[(1,)](3)
fresh = triton.jit(other.fn)
fresh.preload(taken[-1])
fresh[(1,)](3)
"""
    )
    run = profile(program)
    by_kernel = {
        k["name"]: {kind: n for kind, n in k["misses"].items() if n} for k in run.report()["kernels"]
    }
    assert by_kernel["kernel"] == {"manual_warmup": 1}
    assert by_kernel["other"].get("compile") == 1
    preloads = sum(miss["via"] == "preload" for miss in run.events("miss"))
    # preload calls the hooks from 3.5 on; before that nobody can see it.
    assert by_kernel["other"].get("preload", 0) == preloads
    assert run.report()["totals"]["recompiles"] == 0


def test_trap_07_threads_racing_on_one_launch_count_once(write: Write, profile: Profile) -> None:
    program = write(
        KERNEL
        + """
import ast, threading
parse, alone = ast.parse, threading.Lock()
def parse_alone(*args, **kwargs):   # CPython 3.11 miscounts threads that parse together (python/cpython#106905)
    with alone:
        return parse(*args, **kwargs)
ast.parse = parse_alone
kernel[(1,)](16)
barrier = threading.Barrier(4)
def launch():
    barrier.wait()
    kernel[(1,)](3)
threads = [threading.Thread(target=launch) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
"""
    )
    run = profile(program)
    misses = run.events("miss")
    assert len(misses) == len(run.events("served"))
    kernel = only_kernel(run)
    assert kernel["recompiles"] == 1
    assert kernel["events"][1]["threads"] == len({miss["thread"] for miss in misses[1:]})


def test_trap_07_a_failed_compile_is_a_failure_at_every_launch(write: Write, profile: Profile) -> None:
    program = write(
        """
        @triton.jit
        def kernel(n, BLOCK: tl.constexpr):
            tl.static_assert(BLOCK < 10, "too wide")
            tl.device_print("n", n)
        kernel[(1,)](3, BLOCK=1)
        for _ in range(2):
            try:
                kernel[(1,)](3, BLOCK=16)
            except Exception as error:
                print(type(error).__name__)
        kernel[(1,)](16, BLOCK=1)
        """
    )
    run = profile(program)
    assert run.stdout.split() == ["CompileTimeAssertionFailure"] * 2
    kernel = only_kernel(run)
    assert {kind: n for kind, n in kernel["misses"].items() if n} == {"compile": 2, "failed": 2}
    assert kernel["recompiles"] == 1
    assert "CompileTimeAssertionFailure" in kernel["events"][1]["error"]


def test_trap_08_asynchronous_compiles_are_paired(write: Write, profile: Profile) -> None:
    program = write(
        KERNEL
        + """
try:
    from triton.runtime._async_compile import AsyncCompileMode
except ImportError:
    print("no async compile")
else:
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(2) as pool, AsyncCompileMode(pool):
        for n in (3, 16, 5):
            kernel.warmup(n, grid=(1,))
    kernel[(1,)](7)
    kernel[(1,)](1)
"""
    )
    run = profile(program)
    if run.stdout == "no async compile\n":
        pytest.skip("this Triton compiles in the launching thread only")
    misses, served = run.events("miss"), run.events("served")
    assert [miss["via"] for miss in misses] == ["warmup", "warmup", "launch"]
    assert sorted(end["n"] for end in served) == [1, 2, 3]
    assert all(end["cached"] is False and end["stages"] for end in served)


AUTOTUNED = """
configs = [triton.Config({"BLOCK": block}) for block in (16, 32, 64)]

@triton.autotune(configs, key=["n"])
@triton.jit
def kernel(n, BLOCK: tl.constexpr):
    tl.device_print("n", n + tl.arange(0, BLOCK))

kernel[(1,)](3)
kernel[(1,)](5)
kernel[(1,)](5)
"""


def test_trap_09_a_new_key_tunes_again_though_nothing_compiles(write: Write, profile: Profile) -> None:
    run = profile(write(AUTOTUNED))
    tunes = run.events("tune")
    assert [tune["key"] for tune in tunes] == [[["n", 3]], [["n", 5]]]
    kernel = only_kernel(run)
    assert (kernel["tuning"]["tunes"], kernel["tuning"]["retunes"]) == (2, 1)
    assert [argument["name"] for argument in kernel["tuning"]["arguments"]] == ["n"]
    assert kernel["recompiles"] == 0


def test_trap_09_candidates_are_grouped_under_their_tuning(write: Write, profile: Profile) -> None:
    """On the stand-in driver alone, so that the autotuner really measures (host time) every candidate."""
    program = write(
        """
        import time
        from _jitwatch.runtime.offline.driver import Device, OfflineDriver
        from _jitwatch.runtime.offline.target import parse_target

        triton.runtime.driver.set_active(OfflineDriver(parse_target("cuda:90"), Device(), lambda _: None))

        def bench(call, quantiles):
            call()
            started = time.perf_counter()
            call()
            return [time.perf_counter() - started] * 3

        triton.runtime.autotuner.Autotuner.do_bench = property(lambda self: bench, lambda self, value: None)
        """
    )
    with program.open("a") as stream:
        stream.write(AUTOTUNED)
    run = profile(program, options=())
    assert run.code == 0, run.stderr
    first, second = run.events("tune")
    assert (first["candidates"], first["misses"], second["misses"]) == (3, [1, 2, 3], [])
    assert 0 < first["losers"] < first["seconds"]
    assert first["best"].startswith("BLOCK: ")
    assert {miss["via"] for miss in run.events("miss")} == {"tune"}
    kernel = only_kernel(run)
    assert {kind: n for kind, n in kernel["misses"].items() if n} == {"autotune_candidate": 3}
    assert kernel["recompiles"] == 0


def test_trap_10_the_launch_line_is_the_users_and_no_tensor_is_kept(write: Write, profile: Profile) -> None:
    pytest.importorskip("torch")
    program = write(
        """
        import gc, weakref, torch

        @triton.jit
        def kernel(x, n):
            tl.store(x, n)

        class Layer(torch.nn.Module):
            def forward(self, x):
                kernel[lambda meta: (1,)](x, x.shape[0])

        x = torch.zeros(48)
        Layer()(x)
        alive = weakref.ref(x)
        del x
        gc.collect()
        print(alive() is None)
        """
    )
    run = profile(program)
    assert run.stdout == "True\n", run.stderr
    (miss,) = run.events("miss")
    lines = program.read_text().splitlines()
    assert miss["site"][0] == str(program)
    assert "kernel[lambda" in lines[miss["site"][1] - 1]
    assert "Layer()(x)" in lines[miss["stack"][-1][1] - 1]
    assert len(miss["stack"]) == 2, "the frames of torch.nn.Module.__call__ are hidden"
    assert miss["args"][0][2] == {"tensor": "float32", "shape": [48], "mod16": 0, "bytes": 192}


def test_trap_14_loading_the_module_is_told_beside_the_compile(write: Write, profile: Profile) -> None:
    run = profile(write(KERNEL + "kernel[(1,)](3)\nkernel[(1,)](16)\n"))
    if not run.events("process")[0]["probes"]["load_hooks"]:
        pytest.skip("this Triton has no load hooks")
    assert [load["n"] for load in run.events("load")] == [1, 2]


GRIDS = """
import torch
asked = []
def grid(meta):
    asked.append(meta["n"])
    return (meta["n"] + 1, 2)
kernel[(3,)](4)
kernel[3, 2, 1](16)
kernel[grid](5, BLOCK=32)
kernel[grid](5, BLOCK=32)
kernel.warmup(7, BLOCK=64, grid=grid)
print(asked)
"""


def test_the_grid_is_told_and_its_function_called_no_more_often_than_triton_does(
    write: Write, profile: Profile
) -> None:
    run = profile(write(KERNEL + GRIDS))
    misses = run.events("miss")
    assert [miss["grid"] for miss in misses[:2]] == [[3], [3, 2, 1]]
    assert [miss["grid"] for miss in misses[2:]] == [None] * len(misses[2:])
    assert run.stdout == "[5, 5]\n", "once for each launch, and not for the warm-up"
    if run.events("process")[0]["probes"]["load_hooks"]:
        assert [load["grid"] for load in run.events("load")] == [[3], [3, 2, 1], [6, 2]]


def test_a_views_storage_is_told_and_a_tensor_without_one_is_told_all_the_same(
    write: Write, profile: Profile
) -> None:
    program = """
        import torch
        from triton.runtime.jit import MockTensor
        @triton.jit
        def copied(x, n):
            tl.store(x, n)
        copied[(1,)](torch.zeros(1000, dtype=torch.float16)[8:16], 5)
        copied.warmup(MockTensor("fp16"), 6, grid=(1,))
    """
    first, *_ = (miss["args"][0][2] for miss in profile(write(program)).events("miss"))
    assert first == {"tensor": "float16", "shape": [8], "mod16": 0, "bytes": 2000}


def test_trap_16_a_warm_up_with_a_dtype_is_seen_as_the_aligned_variant_only(
    write: Write, profile: Profile
) -> None:
    pytest.importorskip("torch")
    program = write(
        """
        import torch

        @triton.jit
        def kernel(x):
            tl.store(x, 1.0)

        kernel.warmup(torch.float32, grid=(1,))
        x = torch.zeros(64)
        kernel[(1,)](x)
        kernel[(1,)](x[1:])
        """
    )
    run = profile(program)
    kernel = only_kernel(run)
    assert {kind: n for kind, n in kernel["misses"].items() if n} == {"manual_warmup": 1, "compile": 1}
    (change,) = kernel["events"][1]["changed"]
    assert change["argument"] == "x"
    assert change["after"]["value"]["mod16"] == 4


def test_trap_17_a_global_switch_is_blamed_and_not_an_argument(write: Write, profile: Profile) -> None:
    program = write(
        KERNEL
        + """
import os
kernel[(1,)](3)
if getattr(triton, "knobs", None):
    triton.knobs.runtime.debug = True
else:
    os.environ["TRITON_DEBUG"] = "1"
kernel[(1,)](3)
"""
    )
    (change,) = only_kernel(profile(program))["events"][1]["changed"]
    assert (change["subject"], change["argument"]) == ("option", "debug")


def test_trap_18_the_interpreter_is_said_rather_than_no_misses(write: Write, profile: Profile) -> None:
    pytest.importorskip("torch")
    program = write(
        """
        import torch

        @triton.jit
        def kernel(x, n):
            tl.store(x, n)

        x = torch.zeros(1, dtype=torch.int32)
        kernel[(1,)](x, 3)
        print(x.item())
        """
    )
    run = profile(program, options=(), environment={"TRITON_INTERPRET": "1"})
    assert run.stdout == "3\n", run.stderr
    assert run.events("miss") == []
    assert [notice["topic"] for notice in run.events("notice")] == ["interpreter"]
    assert "TRITON_INTERPRET" in run.stderr


def test_trap_13_a_miss_while_a_graph_is_captured_is_marked(write: Write, profile: Profile) -> None:
    pytest.importorskip("torch")
    program = write(
        """
        import torch

        @triton.jit
        def kernel(x, n):
            tl.store(x, n)

        x = torch.zeros(1, dtype=torch.int32, device="cuda")
        kernel[(1,)](x, 3)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            kernel[(1,)](x, 16)
        graph.replay()
        print(x.item())
        """
    )
    run = profile(program, options=("--offline",))
    assert run.stdout == "16\n", run.stderr
    assert [miss["capturing"] for miss in run.events("miss")] == [False, True]
    assert [event["capturing"] for event in only_kernel(run)["events"]] == [False, True]
