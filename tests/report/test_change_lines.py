"""The changed lines of a kernel, whatever its decorator looked like before."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from jitwatch.analysis.plan import Edit
from jitwatch.report.change import change_lines
from jitwatch.rundir import Kernel
from jitwatch.specialization import Parameter, Remedy

N = Edit(0, Parameter("n"), Remedy.SPECIALIZE, None, None)
STRIDE = Edit(1, Parameter("stride"), Remedy.ALIGNMENT, None, None)
WIDE = Edit(0, Parameter("n"), Remedy.ANNOTATE, "i64", None)
LENGTH = Edit(0, Parameter("n", constexpr=True), Remedy.RUNTIME, None, None)


def lines_of(tmp_path: Path, source: str, *edits: Edit, line: int | None = None) -> list[str]:
    """The change of the kernel ``k`` in `source`, which must still be Python when it is made."""
    path = tmp_path / "kernels.py"
    path.write_text(source, encoding="utf-8")
    found = next(i for i, text in enumerate(source.splitlines(), 1) if text.lstrip().startswith("def k("))
    kernel = Kernel(1, "k", "kernels", str(path), line or found, (Parameter("n"), Parameter("stride")))
    changed = change_lines(kernel, edits)
    mended = source
    for old, new in zip(changed[::2], changed[1::2], strict=False):
        mended = mended.replace(old[2:], new[2:])
    ast.parse(mended)
    return changed


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("@triton.jit", '@triton.jit(do_not_specialize=["n"])'),
        ("@jit", '@jit(do_not_specialize=["n"])'),
        ("@triton.jit()", '@triton.jit(do_not_specialize=["n"])'),
        ("@triton.jit(debug=True)", '@triton.jit(debug=True, do_not_specialize=["n"])'),
        ("@triton.jit(do_not_specialize=[])", '@triton.jit(do_not_specialize=["n"])'),
        (
            '@triton.jit(do_not_specialize=["stride"], debug=True)  # é',
            '@triton.jit(do_not_specialize=["stride", "n"], debug=True)  # é',
        ),
        ('@triton.jit(do_not_specialize=("stride",))', '@triton.jit(do_not_specialize=("stride", "n",))'),
    ],
)
def test_decorators(tmp_path: Path, before: str, after: str) -> None:
    source = f"{before}\ndef k(n, stride):\n    pass\n"
    assert lines_of(tmp_path, source, N) == [f"- {before}", f"+ {after}"]


def test_a_decorator_over_several_lines_changes_where_it_ends(tmp_path: Path) -> None:
    source = "@triton.autotune(configs=[], key=[])\n@triton.jit(\n    debug=True,\n)\ndef k(n, stride):\n    pass\n"
    assert lines_of(tmp_path, source, N, STRIDE) == [
        "-     debug=True,",
        '+     debug=True, do_not_specialize=["n"], do_not_specialize_on_alignment=["stride"],',
    ]


def test_signatures(tmp_path: Path) -> None:
    plain = "@triton.jit\ndef k(n, stride=1):\n    pass\n"
    assert lines_of(tmp_path, plain, WIDE)[2:] == ["- def k(n, stride=1):", "+ def k(n: tl.int64, stride=1):"]
    constant = "@triton.jit\ndef k(n: tl.constexpr = 4, stride=1):\n    pass\n"
    assert lines_of(tmp_path, constant, LENGTH)[3] == "+ def k(n = 4, stride=1):"


def test_of_two_kernels_of_one_name_the_one_on_the_line_changes(tmp_path: Path) -> None:
    source = "@triton.jit\ndef k(n):\n    pass\n\n\n@triton.jit(debug=True)\ndef k(n):\n    pass\n"
    assert lines_of(tmp_path, source, N, line=7)[0] == "- @triton.jit(debug=True)"


@pytest.mark.parametrize("source", ["@triton.jit\ndef k(n:\n", "@ours\ndef k(n, stride):\n    pass\n"])
def test_without_readable_source_only_the_new_lines_are_told(tmp_path: Path, source: str) -> None:
    path = tmp_path / "kernels.py"
    path.write_text(source)
    kernel = Kernel(1, "k", "kernels", str(path), 2, (Parameter("n"), Parameter("stride")))
    assert change_lines(kernel, [WIDE]) == ['+ @triton.jit(do_not_specialize=["n"])', "+ n: tl.int64"]
    path.unlink()
    assert change_lines(kernel, [N]) == ['+ @triton.jit(do_not_specialize=["n"])']
