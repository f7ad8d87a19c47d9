"""What becomes of parameters that do not go into a list: demoted, dropped, taken out of a key. Refusals first."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

import pytest

from jitwatch.lint.finding import Applicability, Finding
from tests.fix.fixing import fix, fix_text


def program(signature: str, body: str, launch: str = "", decorator: str = "@triton.jit") -> str:
    """A file with a kernel and, below it, its launch."""
    body = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    head = f"import triton\nimport triton.language as tl\n\n{decorator}\ndef kernel({signature}):\n{body}\n"
    return head + (f"\ndef launch(x, y):\n    {launch}\n" if launch else "")


def display_of(source: str, code: str) -> Finding:
    """The one finding of a rule that is left, which nothing can fix."""
    left = [f for f in fix({"a.py": source.encode()}).outcome.shown if f.code == code]
    assert [(f.applicability, f.edits) for f in left] == [(Applicability.DISPLAY, ())]
    return left[0]


LOOP = "for row in range(num_tokens):\n    tl.store(x + row * W, 0.0)"


@pytest.mark.parametrize(
    ("use", "reason"),
    [
        ("tl.store(x + tl.arange(0, num_tokens) * W, 0.0)", "shapes a tensor or an unrolled loop"),
        ("for i in tl.static_range(num_tokens):\n    tl.store(x + i * W, 0.0)", "shapes a tensor"),
        (f"tl.static_assert(num_tokens < 64)\n{LOOP}", "gives `num_tokens` to `static_assert`"),
        (f"tl.store(x, num_tokens ** 0.5)\n{LOOP}", "raises `num_tokens` to a power"),
        (f"half = num_tokens * 2\ntl.store(x, half ** 0.5)\n{LOOP}", "raises `num_tokens` to a power"),
        (f"period: tl.constexpr = num_tokens - 1\ntl.store(x, period * 0.5)\n{LOOP}", "makes a constexpr of"),
        (f"tl.store(x, float(num_tokens))\n{LOOP}", "gives `num_tokens` to `float`"),
        (f"if num_tokens == 1:\n    tl.store(x, 0.0)\n{LOOP}", "chooses code at compile time"),
        (
            f"if num_tokens == 1:\n    return\nelse:\n    tl.store(x, 0.0)\n{LOOP}",
            "chooses code at compile time",
        ),
        (f"one = num_tokens == 1\nif one:\n    tl.store(x, 0.0)\n{LOOP}", "chooses code at compile time"),
        (
            "for row in range(num_tokens):\n    if num_tokens == 1:\n        return\n    tl.store(x, 0.0)",
            "chooses code",
        ),
        (f"if num_tokens is None:\n    return\n{LOOP}", "chooses code at compile time"),
        (f"somewhere_else(x, num_tokens)\n{LOOP}", "handed to a function that is not among the linted files"),
    ],
)
def test_a_constexpr_that_the_kernel_needs_stays_and_the_reason_is_said(use: str, reason: str) -> None:
    source = program("x, num_tokens: tl.constexpr, W: tl.constexpr", use)
    assert reason in display_of(source, "JW002").remedy


def test_a_constexpr_that_a_helper_needs_stays() -> None:
    helper = "@triton.jit\ndef root(x, n):\n    tl.store(x, n ** 0.5)\n\n"
    source = program("x, num_tokens: tl.constexpr, W: tl.constexpr", f"root(x, num_tokens)\n{LOOP}")
    remedy = display_of(
        source.replace("@triton.jit\ndef kernel", f"{helper}@triton.jit\ndef kernel"), "JW002"
    ).remedy
    assert "raises `n` to a power" in remedy


def test_a_constexpr_that_chooses_code_in_a_helper_stays() -> None:
    helper = "@triton.jit\ndef guard(x, n: tl.constexpr):\n    if n == 0:\n        return\n    tl.store(x, 0.0)\n\n"
    source = program("x, num_tokens: tl.constexpr, W: tl.constexpr", f"guard(x, num_tokens)\n{LOOP}")
    source = source.replace("@triton.jit\ndef kernel", f"{helper}@triton.jit\ndef kernel")
    assert "chooses code at compile time" in display_of(source, "JW002").remedy


@pytest.mark.parametrize(
    "early",
    [
        "if num_tokens == 0:\n    return",
        "if num_tokens == 0:\n    tl.store(x, 1.0)\n    return",
        "if W == 4:\n    if num_tokens <= 1:\n        return",
        "none = num_tokens == 0\nif none or W == 3:\n    return",
    ],
)
def test_a_constexpr_that_only_ends_the_kernel_early_becomes_a_run_time_argument(early: str) -> None:
    source = program("x, num_tokens: tl.constexpr, W: tl.constexpr", f"{early}\n{LOOP}")
    fixed = fix_text(source)
    assert "num_tokens, W: tl.constexpr" in fixed
    assert 'do_not_specialize=["num_tokens"]' in fixed


def test_a_constexpr_that_is_none_at_a_launch_stays() -> None:
    source = program("x, num_tokens: tl.constexpr, W: tl.constexpr", LOOP)
    source += "\ndef launch(x):\n    kernel[(1,)](x, x.shape[0], 64)\n    kernel[(1,)](x, None, 64)\n"
    assert "a.py:11 passes `None`" in display_of(source, "JW002").remedy


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("num_tokens: tl.constexpr", "num_tokens"),
        ("num_tokens:tl.constexpr", "num_tokens"),
        ('num_tokens: "tl.constexpr"', "num_tokens"),
        ("num_tokens: tl.constexpr = 4", "num_tokens=4"),
        ("num_tokens: triton.language.constexpr", "num_tokens"),
    ],
)
def test_a_constexpr_becomes_a_run_time_argument(before: str, after: str) -> None:
    source = program(f"x, {before},  # of all\n    W: tl.constexpr = 8", LOOP)
    wanted = source.replace(before, after).replace(
        "@triton.jit", '@triton.jit(do_not_specialize=["num_tokens"])'
    )
    assert fix_text(source) == wanted


def test_a_constexpr_that_is_listed_already_loses_its_annotation_only() -> None:
    listed = '@triton.jit(do_not_specialize=["num_tokens"])'
    source = program("x, num_tokens: tl.constexpr, W: tl.constexpr", LOOP, decorator=listed)
    assert fix_text(source) == source.replace("num_tokens: tl.constexpr", "num_tokens")


def test_a_listed_constexpr_leaves_the_list_where_it_is_to_stay_one() -> None:
    listed = '@triton.jit(do_not_specialize=["num_tokens"])'
    source = program("x, num_tokens: tl.constexpr, W: tl.constexpr", LOOP, decorator=listed)
    safe = fix({"a.py": source.encode()}, Applicability.SAFE).after["a.py"].decode()
    assert safe == source.replace('["num_tokens"]', "[]")
    assert fix_text(safe) == source.replace("num_tokens: tl.constexpr", "num_tokens")


def test_a_length_along_memory_becomes_run_time_and_stays_specialised() -> None:
    body = """
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + at, tl.load(x + at, at < n_elements), at < n_elements)
    """
    source = program("x, n_elements: tl.constexpr, B: tl.constexpr", body)
    assert fix_text(source) == source.replace("n_elements: tl.constexpr", "n_elements")


DEAD = "tl.store(x + tl.program_id(0) * W, 0.0)"


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, "no launch of it is among the linted files"),
        (
            {"b.py": "from a import kernel\ndef f(x): kernel[(1,)](*x)\n"},
            "b.py:2 hides arguments behind a star",
        ),
        (
            {"b.py": "from a import kernel\ndef f(x): kernel[(1,)](x, n_rows=(n := x.shape[0]), W=8)\n"},
            "b.py:2 does more in that argument than pass it",
        ),
        (
            {"b.py": "from a import kernel\ndef f(x): kernel[(1,)](x, x.shape[0], 8)\nTABLE = [kernel]\n"},
            "b.py:3 uses `kernel` other than by launching it",
        ),
        (
            {"b.py": "from a import kernel\ndef f(x): kernel[lambda m: (m['n_rows'],)](x, x.shape[0], 8)\n"},
            "b.py:2 looks it up by its name",
        ),
    ],
)
def test_a_dead_parameter_stays_where_a_launch_may_be_missed(files: Mapping[str, str], reason: str) -> None:
    source = program("x, n_rows, W: tl.constexpr", DEAD)
    everything = {"a.py": source.encode(), **{path: text.encode() for path, text in files.items()}}
    fixed = fix(everything)
    opted_out = source.replace("@triton.jit", '@triton.jit(do_not_specialize=["n_rows"])')
    assert fixed.after == {"a.py": opted_out.encode()}
    (applied,) = fixed.applied
    assert reason in applied.remedy
    assert applied.applicability is Applicability.SAFE  # nothing reads it: the code stays what it is


@pytest.mark.parametrize(
    ("launch", "after"),
    [
        ("kernel[(1,)](x, y.shape[0], W=8)", "kernel[(1,)](x, W=8)"),
        ("kernel[(1,)](x, (y.shape[0] + 1), W=8)", "kernel[(1,)](x, W=8)"),
        ("kernel[(1,)](x, n_rows=y.shape[0], W=8)", "kernel[(1,)](x, W=8)"),
        ("kernel[(1,)](x, W=8, n_rows=y.shape[0])", "kernel[(1,)](x, W=8)"),
        ("kernel[(1,)](x, W=8, n_rows=y.shape[0],)", "kernel[(1,)](x, W=8, )"),
        ("kernel.run(x, y.shape[0], 8, grid=(1,))", "kernel.run(x, 8, grid=(1,))"),
        (
            "kernel[(1,)](\n        x,\n        n_rows=y.shape[0],  # all\n        W=8,\n    )",
            "kernel[(1,)](\n        x,\n        # all\n        W=8,\n    )",
        ),
    ],
)
def test_a_dead_parameter_goes_from_signature_list_and_launch(launch: str, after: str) -> None:
    listed = '@triton.jit(do_not_specialize_on_alignment=["x"])'
    source = program("x, n_rows, W: tl.constexpr", DEAD, launch, listed)
    assert fix_text(source) == source.replace("n_rows, ", "", 1).replace(launch, after)


def test_launches_in_other_files_are_edited_with_the_kernel_or_not_at_all() -> None:
    kernel = program("x, n_rows: tl.constexpr, W: tl.constexpr", DEAD).encode()
    good = b"from a import kernel\ndef f(x): kernel[(1,)](x, x.shape[0], 8)\n"
    fixed = fix({"a.py": kernel, "b.py": good})
    assert fixed.after == {
        "a.py": kernel.replace(b"n_rows: tl.constexpr, ", b""),
        "b.py": good.replace(b"x.shape[0], ", b""),
    }


@pytest.mark.parametrize(
    ("key", "after"),
    [
        ('["M"]', "[]"),
        ('["M", "W"]', '["W"]'),
        ('["W", "M"]', '["W"]'),
        ('["M", "N", "W"]', '["W"]'),
        ('["W", "M", "N"]', '["W"]'),
        ('["M", "N"]', "[]"),
        ('("M", "W")', '("W",)'),
        ('("W", "M")', '("W",)'),
        ('("W", "M",)', '("W", )'),
        ('[\n        "M",  # rows\n        "W",\n    ]', '[\n        # rows\n        "W",\n    ]'),
    ],
)
def test_lengths_leave_the_key_of_an_autotuner(key: str, after: str) -> None:
    tuner = f"@triton.autotune(\n    [triton.Config({{}}, num_warps=n) for n in (2, 4)],\n    key={key},\n)\n"
    listed = '@triton.jit(do_not_specialize=["M", "N"])'
    body = "for row in range(M + N):\n    tl.store(x + row * W, 0.0)"
    source = program("x, M, N, W", body, "kernel[(1,)](x, x.shape[0], y.shape[0], 8)", tuner + listed)
    assert fix_text(source) == source.replace(f"key={key}", f"key={after}")


def test_a_fix_that_would_break_the_file_is_taken_back_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from jitwatch.fix import plan
    from jitwatch.fix.changes import Kind

    monkeypatch.setitem(plan.LISTS, Kind.OPT_OUT, "not a keyword")  # a keyword that is no Python
    source = program("x, num_tokens, W: tl.constexpr", LOOP)
    fixed = fix({"a.py": source.encode()})
    assert fixed.after == {}
    assert [(finding.code, finding.parameter) for finding in fixed.undone] == [("JW001", "num_tokens")]
