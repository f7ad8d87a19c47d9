"""What a hover says of a kernel's parameter, and of which one."""

from __future__ import annotations

import pytest

from jitwatch.lint.lines import Lines
from jitwatch.server.explain import explain
from jitwatch.server.parameters import parameter_at
from jitwatch.source.model import Project
from tests.source import reading

ROWS = """
@triton.jit{options}
def rows(x_ptr, n, scale, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    if row < n:
        offsets = row * WIDTH + tl.arange(0, WIDTH)
        tl.store(x_ptr + offsets, tl.load(x_ptr + offsets) * scale)
"""

LAUNCH = """
from kernels import rows

def launch(x, factor):
    tokens = x.shape[0]
    rows[(tokens,)](x, tokens, factor, WIDTH=x.shape[1])
"""


def words(source: str, name: str, **others: str) -> str:
    """The hover over the declaration of a parameter of the first kernel."""
    project = reading.project(kernels=source, **others)
    kernel = project.kernels["kernels.py"][0]
    parameter = kernel.parameter(name)
    assert parameter is not None
    return explain(project, kernel, parameter, ())


def found_at(source: str, text: str, within: str = "") -> str | None:
    """Kernel and parameter found at the first ``text`` after ``within``."""
    whole = reading.HEADER + source
    place = whole.index(text, whole.index(within))
    project: Project = reading.project(kernels=source)
    line = whole.count("\n", 0, place) + 1
    column = place - whole.rfind("\n", 0, place)
    found = parameter_at(project, "kernels.py", Lines(whole.encode()), line, column)
    return found and f"{found[0].name} {found[1].name}"


@pytest.mark.parametrize(
    ("text", "within"),
    [
        ("triton", ""),
        ("rows", "def rows"),
        ("program_id", ""),
        ("offsets", ""),
        ("n", ".n"),
        ("x_ptr", "def launch"),
        ("(1,)", "rows["),
    ],
)
def test_nothing_is_said_of_other_names(text: str, within: str) -> None:
    source = (
        ROWS.format(options="") + "    row.n\n\ndef launch(x_ptr):\n    rows[(1,)](x_ptr + 0, 5, 1.0, 64)\n"
    )
    assert found_at(source, text, within) is None


@pytest.mark.parametrize(
    ("text", "within", "said"),
    [
        ("n, scale", "", "rows n"),
        ("n:", "row <", "rows n"),
        ('n"]', "", "rows n"),
        ("WIDTH)", "arange", "rows WIDTH"),
        ("batch", "rows[", "rows n"),
        ("64", "rows[", "rows WIDTH"),
    ],
)
def test_a_parameter_is_known_where_it_is_declared_used_listed_and_fed(
    text: str, within: str, said: str
) -> None:
    source = ROWS.format(options='(do_not_specialize=["n"])')
    assert (
        found_at(source + "\ndef launch(x, batch):\n    rows[(9,)](x, batch, 2.0, 64)\n", text, within)
        == said
    )


@pytest.mark.parametrize(
    ("options", "name", "said"),
    [
        ("", "n", "a plain int: three classes: =1, ÷16, other; listed in `do_not_specialize`: one class; "),
        ("", "n", "listed in `do_not_specialize_on_alignment`: two classes: =1, other\n"),
        ('(do_not_specialize=["n"])', "n", "- a plain int, listed in `do_not_specialize`: one class\n"),
        ("(do_not_specialize=[1])", "n", "- a plain int, listed in `do_not_specialize`: one class\n"),
        (
            '(do_not_specialize_on_alignment=["n"])',
            "n",
            "- a plain int, listed in `do_not_specialize_on_alignment`: two classes: =1, other; "
            "listed in `do_not_specialize`: one class\n",
        ),
        ("(do_not_specialize=LENGTHS)", "n", "(or listed in `do_not_specialize`, which is not written out)"),
        ("", "x_ptr", "- a pointer: two classes: aligned, unaligned; "),
        ('(do_not_specialize=["x_ptr"])', "x_ptr", "- a pointer, listed in `do_not_specialize`: one class\n"),
        ("", "scale", "; a float: one class\n"),
        ("", "WIDTH", "- a constexpr: every value is a class of its own, and a compile\n"),
        ("", "n", "- in the kernel it bounds a mask\n"),
        ("", "n", "- no launches in the workspace"),
    ],
)
def test_the_classes_are_those_that_the_lists_of_the_kernel_leave(options: str, name: str, said: str) -> None:
    assert said in words(ROWS.format(options=options), name)


@pytest.mark.parametrize(
    ("annotation", "said"),
    [
        ("tl.int32", "- an int of type `i32`: three classes: =1, ÷16, other; "),
        ('"i64"', "- an int of type `i64`: three classes: =1, ÷16, other; "),
        ("tl.uint32", "- an int of type `u32`: three classes: =1, ÷16, other; "),
        ("int", "- an int of type `i32`: three classes: =1, ÷16, other; "),
        ("Any", "- a plain int: three classes: =1, ÷16, other; "),
    ],
)
def test_a_fixed_type_leaves_the_classes_of_the_value(annotation: str, said: str) -> None:
    assert said in words(ROWS.format(options="").replace("n, scale", f"n: {annotation}, scale"), "n")


def test_launches_tell_what_it_is_and_contiguity_what_it_is_worth() -> None:
    told = words(ROWS.format(options=""), "n", host=LAUNCH)
    assert "- a length (`tokens = x.shape[0]`), any value\n- 1 launch in the workspace" in told
    masked = """
@triton.jit
def add(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, 1.0, offsets < n)
"""
    assert (
        "- it bounds the axis contiguous in memory: without its divisibility loads and stores get narrower"
        in (words(masked, "n"))
    )
    assert "narrower" not in told


def test_a_tuner_and_a_caller_decide_for_their_parameters() -> None:
    tuned = '@triton.autotune(configs=[triton.Config({"WIDTH": 64})], key=["n"])' + ROWS.format(options="")
    tuned = tuned.replace("\n@triton.jit", "@triton.jit", 1).replace(")@triton.jit", ")\n@triton.jit")
    assert "- in the autotuner's key: each new value is tuned anew\n" in words(tuned, "n")
    assert "- provided by the autotuner's configurations\n" in words(tuned, "WIDTH")
    called = """
@triton.jit
def helper(n):
    return n + 1

@triton.jit
def kernel(x_ptr, n):
    tl.store(x_ptr, helper(n))
"""
    told = words(called, "n")
    assert "it has no variants of its own" in told
    assert "launch" not in told


def test_a_dead_parameter_is_called_so() -> None:
    assert "- nothing in the kernel reads it\n" in words(
        ROWS.format(options="").replace("n, scale", "n, unread, scale"), "unread"
    )
