"""A signature is guessed from what the kernel does with each argument; its name speaks where that is silent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from jitwatch.specialization import ArgumentClass
from jitwatch.specialization.classes import FOLDED, unfold
from jitwatch.verify import Pool
from jitwatch.verify.evidence import read_uses
from jitwatch.verify.files import find_kernel, kernel_source, requests_of_kernel
from jitwatch.verify.signatures import GUESSES, guess_classes
from jitwatch.verify.wanted import Wanted

Write = Callable[..., Path]

HEAD = "@triton.jit\ndef kernel({}):\n"
ROW = "    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"


def guessed(path: Path) -> dict[str, object]:
    """The first guess for ``kernel``: types of run-time arguments, values of constexprs."""
    project, kernel = find_kernel(f"{path}::kernel")
    parameters, launches = kernel_source(kernel).parameters, project.launches_of(kernel)
    classes = guess_classes(kernel, parameters, launches, GUESSES[0], read_uses(kernel))
    return {name: spelled(klass) for name, klass in classes.items()}


def spelled(klass: ArgumentClass) -> object:
    """A type, or a value."""
    return unfold(klass.folded or "null") if klass.type == FOLDED else klass.type


@pytest.mark.parametrize(
    ("parameters", "body", "expected"),
    [
        pytest.param(
            "x, rows, BLOCK: tl.constexpr",
            "    tl.store(x + offsets, tl.load(x + tl.load(rows + offsets)))\n",
            {"x": "*bf16", "rows": "*i64"},
            id="what indexes memory is an integer, whatever its name",
        ),
        pytest.param(
            "x, starts, BLOCK: tl.constexpr",
            "    for i in range(tl.load(starts), tl.load(starts + 1)):\n        tl.store(x + i, 1.0)\n",
            {"x": "*bf16", "starts": "*i64"},
            id="what bounds a loop is one",
        ),
        pytest.param(
            "x, expert_weights_ptr, BLOCK: tl.constexpr",
            "    tl.store(x + offsets, tl.load(expert_weights_ptr + offsets) * 2)\n",
            {"expert_weights_ptr": "*bf16"},
            id="what is only multiplied is data, although its name has a word of an index",
        ),
        pytest.param(
            "x, packed, BLOCK: tl.constexpr",
            "    tl.store(x + offsets, ((tl.load(packed + offsets) >> 4) & 0xF).to(tl.float32))\n",
            {"packed": "*i32"},
            id="what is shifted is packed",
        ),
        pytest.param(
            "x, chosen, BLOCK: tl.constexpr",
            "    tl.store(x + offsets, 1.0, mask=tl.load(chosen + offsets))\n",
            {"chosen": "*i1"},
            id="what masks an access is a bool",
        ),
        pytest.param(
            "x, done, BLOCK: tl.constexpr",
            "    if not tl.load(done):\n        tl.store(x + offsets, 1.0)\n",
            {"done": "*i1"},
            id="what decides a branch is a bool",
        ),
        pytest.param(
            "x, bases, BLOCK: tl.constexpr",
            "    own = tl.load(bases + tl.program_id(1)).to(tl.pointer_type(tl.bfloat16))\n"
            "    tl.store(x + offsets, tl.load(own + offsets))\n",
            {"bases": "*i64"},
            id="what becomes a pointer is an address",
        ),
        pytest.param(
            "x, one, other, FIRST: tl.constexpr, BLOCK: tl.constexpr",
            "    if FIRST:\n        y = one\n    else:\n        y = other\n"
            "    tl.store(x + offsets, tl.load(y + offsets))\n",
            {"one": "*bf16", "other": "*bf16"},
            id="both that a variable may be are pointers",
        ),
        pytest.param(
            "x, scale_row_stride, scale, BLOCK: tl.constexpr",
            "    tl.store(x + tl.program_id(0) * scale_row_stride, scale)\n",
            {"scale_row_stride": "i32", "scale": "fp32"},
            id="a stride is an integer, although its name has a word of a scale",
        ),
        pytest.param(
            "x, DIMS: tl.constexpr, BLOCK: tl.constexpr",
            "    for i in tl.static_range(DIMS):\n        tl.store(x + i * BLOCK + offsets, 1.0)\n",
            {"DIMS": 2, "BLOCK": 1024},
            id="the count of an unrolled loop is no block",
        ),
        pytest.param(
            "x, KIND: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr",
            "    tl.static_assert(KIND == 'max' or KIND == 'sum')\n"
            "    tl.static_assert(WIDTH == 48)\n    tl.store(x + offsets * WIDTH, 1.0)\n",
            {"KIND": "max", "WIDTH": 48},
            id="an assertion says the value",
        ),
        pytest.param(
            "x, ACT: tl.constexpr, BLOCK: tl.constexpr",
            "    if ACT == 'silu':\n        tl.store(x + offsets, 1.0)\n",
            {"ACT": "silu"},
            id="so does a comparison with a word",
        ),
        pytest.param(
            "x, WIDTH: tl.constexpr, BLOCK: tl.constexpr",
            "    if WIDTH == 2:\n        y = 1.0\n    elif WIDTH == 4:\n        y = 2.0\n"
            "    tl.store(x + offsets, y)\n",
            {"WIDTH": 4},
            id="of several numbers the last case defines the most",
        ),
        pytest.param(
            "x, stride_row: tl.constexpr, stride_column: tl.constexpr, BLOCK: tl.constexpr",
            "    tl.store(x + tl.program_id(0) * stride_row + offsets * stride_column, 1.0)\n",
            {"stride_row": 1024, "stride_column": 1},
            id="the innermost stride is 1",
        ),
        pytest.param(
            "x, EPS: tl.constexpr, BLOCK: tl.constexpr",
            "    tl.store(x + offsets, 1.0 / (tl.load(x + offsets) + EPS))\n",
            {"EPS": 1e-6},
            id="a small number is small",
        ),
    ],
)
def test_what_is_done_with_an_argument_says_what_it_is(
    write: Write, parameters: str, body: str, expected: dict[str, object]
) -> None:
    got = guessed(write(HEAD.format(parameters) + ROW + body, "guessed.py"))
    assert {name: got[name] for name in expected} == expected


def test_what_a_function_of_the_module_does_counts(write: Write) -> None:
    helper = "@triton.jit\ndef pick(places, i):\n    return tl.load(places + i)\n\n"
    body = ROW + "    tl.store(x + pick(slots, tl.program_id(0)) * BLOCK + offsets, 1.0)\n"
    got = guessed(write(helper + HEAD.format("x, slots, BLOCK: tl.constexpr") + body, "helped.py"))
    assert got["slots"] == "*i64"


def test_a_kernel_of_many_kinds_of_arguments_compiles_with_the_first_guess(write: Write, pool: Pool) -> None:
    source = (
        HEAD.format(
            "x, packed, places, chosen, scale, num_tokens, stride_token, KIND: tl.constexpr,"
            " DIMS: tl.constexpr, HAS_SCALE: tl.constexpr, BLOCK: tl.constexpr"
        )
        + ROW
        + "    tl.static_assert(KIND == 'low' or KIND == 'high')\n"
        + "    place = tl.load(places + tl.program_id(1))\n"
        + "    mask = (offsets < num_tokens) & tl.load(chosen + offsets)\n"
        + "    for i in tl.static_range(DIMS):\n"
        + "        y = ((tl.load(packed + offsets) >> i) & 1).to(tl.float32)\n"
        + "        if HAS_SCALE:\n            y *= scale\n"
        + "        tl.store(x + place * stride_token + offsets, y, mask=mask)\n"
    )
    project, kernel = find_kernel(f"{write(source, 'kinds.py')}::kernel")
    before = dict(pool.answers)
    requests_of_kernel(project, kernel, Wanted(), "cuda:90", pool=pool)
    (answer,) = [each for job, each in pool.answers.items() if job not in before]
    assert "figures" in answer
