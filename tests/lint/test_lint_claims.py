"""What the mechanical rules say of Triton, asked of the installed Triton itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton")

PROGRAM = """
import json
import triton
import triton.language as tl
from jitwatch.runtime import offline

offline.activate("cuda:90", execute=False)
said = {"triton": triton.__version__}

def variants(kernel):
    entries = kernel.device_caches.values() if hasattr(kernel, "device_caches") else kernel.cache.values()
    return sum(len(entry[0]) if isinstance(entry, tuple) else len(entry) for entry in entries)

def attempt(run):
    try:
        run()
    except Exception as error:
        return type(error).__name__
    return "accepted"

@triton.jit(do_not_specialize=["m", 7])
def misspelled(n):
    tl.device_print("n", n)

for n in (2, 32):
    misspelled[(1,)](n)
said["misspelled"] = variants(misspelled)

@triton.jit(do_not_specialize=["BLOCK"])
def constexpr_listed(n, BLOCK: tl.constexpr):
    tl.device_print("n", n + tl.arange(0, BLOCK))

said["constexpr_listed"] = attempt(lambda: constexpr_listed[(1,)](2, BLOCK=16))

def with_string():
    @triton.jit(do_not_specialize="n")
    def string(n):
        pass

said["string"] = attempt(with_string)

@triton.jit(do_not_specialize=["shape"])
def tuple_listed(shape):
    tl.device_print("n", shape[0])

for n in (2, 32):
    said["tuple"] = attempt(lambda: tuple_listed[(1,)]((n, 3)))
said["tuple_variants"] = variants(tuple_listed)

@triton.jit
def spelled(n):
    tl.device_print("n", n)

spelled[(1,)](2)
spelled[(1,)](2, num_warps=4)
said["written_out"] = variants(spelled)
spelled[(1,)](2, num_warps=4, num_stages=3)
spelled[(1,)](2, num_stages=3, num_warps=4)
said["reordered"] = variants(spelled)

def decorated():
    @triton.jit
    def again(n):
        tl.device_print("n", n)
    again[(1,)](2)
    return again

said["decorated_again"] = [variants(decorated()), variants(decorated())]

def with_key(key):
    @triton.autotune(configs=[triton.Config({})], key=key)
    @triton.jit
    def tuned(n):
        pass

said["unknown_key"] = attempt(lambda: with_key(["absent"]))
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("claims")
    (folder / "program.py").write_text(PROGRAM)
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "program.py"],
        cwd=folder,
        env={"TRITON_CACHE_DIR": str(folder / "cache"), "PATH": "", "HOME": str(folder), **pythonpath()},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    answers: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return answers


def pythonpath() -> dict[str, str]:
    """Keep a Triton that was put in front, and this checkout."""
    import os

    root = str(Path(__file__).parents[2])
    before = os.environ.get("PYTHONPATH", "")
    return {"PYTHONPATH": f"{before}{os.pathsep}{root}" if before else root}


def release(said: dict[str, Any]) -> tuple[int, int]:
    major, minor, *_ = said["triton"].split(".")
    return int(major), int(minor)


def test_an_opt_out_that_names_nothing_is_ignored_without_a_word(said: dict[str, Any]) -> None:
    assert said["misspelled"] == 2


def test_a_listed_constexpr_is_an_error_from_3_6_on(said: dict[str, Any]) -> None:
    expected = "CompilationError" if release(said) >= (3, 6) else "accepted"
    assert said["constexpr_listed"] == expected


def test_a_string_is_an_error_when_the_decorator_runs(said: dict[str, Any]) -> None:
    assert said["string"] == "TypeError"


def test_an_opt_out_does_not_reach_the_elements_of_a_tuple(said: dict[str, Any]) -> None:
    if said["tuple"] != "accepted":
        pytest.skip("this Triton takes no tuples")
    assert said["tuple_variants"] == 2


def test_a_default_written_out_is_another_key(said: dict[str, Any]) -> None:
    assert said["written_out"] == 2


def test_options_in_another_order_are_another_key(said: dict[str, Any]) -> None:
    assert said["reordered"] == 4


def test_a_kernel_decorated_again_starts_with_an_empty_cache(said: dict[str, Any]) -> None:
    assert said["decorated_again"] == [1, 1]


def test_an_unknown_autotune_key_is_dropped_or_refused(said: dict[str, Any]) -> None:
    silent = (3, 2) <= release(said) <= (3, 8)
    assert said["unknown_key"] == ("accepted" if silent else "ValueError")
