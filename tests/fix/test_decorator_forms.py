"""Every form of a decorator that public code has: what must not be touched first, then what becomes of it."""

from __future__ import annotations

import ast
import os

import pytest

from jitwatch.lint.config import Configuration, Settings
from jitwatch.lint.engine import lint_sources
from jitwatch.lint.finding import Applicability
from tests.fix.fixing import BODY, PREAMBLE, decorated, fix, fix_decorator, fix_text


@pytest.mark.parametrize(
    "decorator",
    [
        '@triton.jit(do_not_specialize=["num_tokens"])',
        "@triton.jit(do_not_specialize=('num_tokens',))",
        "@triton.jit(do_not_specialize=[1])",
        '@triton.jit(do_not_specialize_on_alignment=["num_tokens"])',
        '@triton.jit(do_not_specialize=["num_tokens"] if triton.FAST else [])',
        '@triton.jit(do_not_specialize=["x", *(["num_tokens"] if triton.FAST else [])])',
        "@triton.jit(do_not_specialize=LISTED_ELSEWHERE)",
        "@triton.jit(do_not_specialize=make_list())",
        "@triton.jit(**OPTIONS)",
        "@cute.jit",
        "@numba.jit",
        "@helion.jit()",
        "@torch.jit.script",
    ],
)
def test_it_is_left_alone(decorator: str) -> None:
    source = decorated(decorator)
    assert fix_text(source) == source


def test_a_suppressed_finding_is_left_alone() -> None:
    ignore = "  # jitwatch: ignore[JW001] one length in this service"
    source = decorated("@triton.jit").replace("WIDTH: tl.constexpr):", f"WIDTH: tl.constexpr):{ignore}")
    assert fix_text(source) == source


def test_a_list_that_another_kernel_names_too_is_left_to_the_user() -> None:
    source = decorated("@triton.jit(do_not_specialize=SHARED)").replace(
        PREAMBLE, PREAMBLE + 'SHARED = ["x"]\nOTHERS = SHARED + ["y"]\n\n'
    )
    outcome = fix({"a.py": source.encode()}).outcome
    assert outcome.sources["a.py"] == source.encode()
    (finding,) = (each for each in outcome.shown if each.code == "JW001")
    assert finding.applicability is Applicability.DISPLAY
    assert finding.edits == ()
    assert "the list that `do_not_specialize` names is used elsewhere too" in finding.remedy


def test_a_projects_own_bare_decorator_is_explained() -> None:
    configuration = Configuration()
    settings = Settings(jit_decorators=("mylib.kernel",))
    configuration._known[os.getcwd()] = settings
    source = decorated("@mylib.kernel").replace(PREAMBLE, PREAMBLE + "import mylib\n")
    (finding,) = lint_sources({"a.py": source.encode()}, configuration).shown
    assert finding.applicability is Applicability.DISPLAY
    assert "`mylib.kernel` may not take arguments" in finding.remedy


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("@triton.jit", '@triton.jit(do_not_specialize=["num_tokens"])'),
        ("@triton.jit  # hot", '@triton.jit(do_not_specialize=["num_tokens"])  # hot'),
        ("@triton.jit()", '@triton.jit(do_not_specialize=["num_tokens"])'),
        ("@triton.jit( )", '@triton.jit(do_not_specialize=["num_tokens"])'),
        ("@triton.jit(debug=True)", '@triton.jit(debug=True, do_not_specialize=["num_tokens"])'),
        ("@triton.jit(debug=True,)", '@triton.jit(debug=True, do_not_specialize=["num_tokens"],)'),
        ("@triton.jit(do_not_specialize=[])", '@triton.jit(do_not_specialize=["num_tokens"])'),
        ("@triton.jit(do_not_specialize=())", '@triton.jit(do_not_specialize=("num_tokens",))'),
        ("@triton.jit(do_not_specialize=['x'])", "@triton.jit(do_not_specialize=['x', 'num_tokens'])"),
        ("@triton.jit(do_not_specialize=['x', ])", "@triton.jit(do_not_specialize=['x', 'num_tokens', ])"),
        ("@triton.jit(do_not_specialize=('x',))", "@triton.jit(do_not_specialize=('x', 'num_tokens',))"),
        ("@triton.jit(do_not_specialize=[0])", '@triton.jit(do_not_specialize=[0, "num_tokens"])'),
        ('@triton.jit(do_not_specialize=[("x")])', '@triton.jit(do_not_specialize=[("x"), "num_tokens"])'),
        (
            '@triton.jit(do_not_specialize=["x", *MORE])',
            '@triton.jit(do_not_specialize=["x", *MORE])',  # MORE may name it
        ),
        (
            '@triton.jit(do_not_specialize=["x", *(["y"] if FAST else [])])',
            '@triton.jit(do_not_specialize=["x", *(["y"] if FAST else []), "num_tokens"])',
        ),
        (
            "@triton.jit(do_not_specialize=['x'] if FAST else ['x', 'y'])",
            "@triton.jit(do_not_specialize=['x', 'num_tokens'] if FAST else ['x', 'y', 'num_tokens'])",
        ),
        (
            '@triton.jit(do_not_specialize_on_alignment=["x"])',
            '@triton.jit(do_not_specialize_on_alignment=["x"], do_not_specialize=["num_tokens"])',
        ),
        (
            '@triton.jit(do_not_specialize=["x"], do_not_specialize_on_alignment=["x"])',
            '@triton.jit(do_not_specialize=["x", "num_tokens"], do_not_specialize_on_alignment=["x"])',
        ),
        (
            '@triton.jit(\n    debug=True,\n    do_not_specialize=[\n        "x",  # why\n    ],\n)',
            '@triton.jit(\n    debug=True,\n    do_not_specialize=[\n        "x",  # why\n'
            '        "num_tokens",\n    ],\n)',
        ),
        (
            "@triton.jit(\n    do_not_specialize=[\n        'x'  # why\n    ]\n)",
            "@triton.jit(\n    do_not_specialize=[\n        'x',  # why\n        'num_tokens'\n    ]\n)",
        ),
        (
            "@triton.jit(\n    debug=True,  # slow\n)",
            '@triton.jit(\n    debug=True,  # slow\n    do_not_specialize=["num_tokens"],\n)',
        ),
        (
            "@triton.jit(\n\tdebug=True\n)",
            '@triton.jit(\n\tdebug=True,\n\tdo_not_specialize=["num_tokens"]\n)',
        ),
        (
            '@triton.autotune(configs=[], key=["WIDTH"])\n# between\n@triton.jit  # hot',
            '@triton.autotune(configs=[], key=["WIDTH"])\n# between\n'
            '@triton.jit(do_not_specialize=["num_tokens"])  # hot',
        ),
        (
            '@triton.heuristics({"WIDTH": lambda args: 64})\n@triton.jit',
            '@triton.heuristics({"WIDTH": lambda args: 64})\n@triton.jit(do_not_specialize=["num_tokens"])',
        ),
        ("@libentry()\n@triton.jit", '@libentry()\n@triton.jit(do_not_specialize=["num_tokens"])'),
    ],
)
def test_it_is_given_the_list(before: str, after: str) -> None:
    assert fix_decorator(before) == after


@pytest.mark.parametrize(
    ("imported", "before", "after"),
    [
        ("from triton import jit\n", "@jit", '@jit(do_not_specialize=["num_tokens"])'),
        (
            "from triton.experimental import gluon\n",
            "@gluon.jit",
            '@gluon.jit(do_not_specialize=["num_tokens"])',
        ),
        ("import triton as tr\n", "@tr.jit", '@tr.jit(do_not_specialize=["num_tokens"])'),
    ],
)
def test_whatever_triton_is_imported_as(imported: str, before: str, after: str) -> None:
    source = decorated(before).replace(PREAMBLE, PREAMBLE + imported)
    assert fix_text(source) == source.replace(before, after)


def test_a_list_of_its_own_is_extended_where_it_is_written() -> None:
    source = decorated("@triton.jit(do_not_specialize=_LENGTHS)").replace(
        PREAMBLE, PREAMBLE + '_LENGTHS = [\n    "x",\n]\n\n'
    )
    assert fix_text(source) == source.replace('    "x",\n', '    "x",\n    "num_tokens",\n')


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("kernel = triton.jit(kernel)", 'kernel = triton.jit(do_not_specialize=["num_tokens"])(kernel)'),
        (
            'run = triton.jit(kernel, do_not_specialize=["x"])',
            'run = triton.jit(kernel, do_not_specialize=["x", "num_tokens"])',
        ),
        (
            "run = triton.jit(kernel, debug=True)",
            'run = triton.jit(kernel, debug=True, do_not_specialize=["num_tokens"])',
        ),
        (
            'kernel = triton.jit(kernel)\nkernel = triton.heuristics({"WIDTH": lambda a: 64})(kernel)',
            'kernel = triton.jit(do_not_specialize=["num_tokens"])(kernel)\n'
            'kernel = triton.heuristics({"WIDTH": lambda a: 64})(kernel)',
        ),
    ],
)
def test_a_kernel_that_is_jitted_by_a_call(before: str, after: str) -> None:
    head = f"{PREAMBLE}def kernel(x, num_tokens, WIDTH: tl.constexpr):{BODY}\n"
    assert fix_text(f"{head}{before}\n") == f"{head}{after}\n"


def test_each_static_kernel_of_a_class_gets_its_own() -> None:
    one = (
        "    @staticmethod\n    @triton.jit\n    def kernel(x, num_tokens, WIDTH: tl.constexpr):"
        + BODY.replace("\n    ", "\n        ")
    )
    source = f"{PREAMBLE}class A:\n{one}\n\nclass B:\n{one}\n"
    assert fix_text(source) == source.replace("@triton.jit", '@triton.jit(do_not_specialize=["num_tokens"])')


def test_several_parameters_go_in_together_in_the_order_of_the_signature() -> None:
    body = BODY.replace("row < num_tokens", "row < num_tokens + num_reqs")
    source = f"{PREAMBLE}@triton.jit\ndef kernel(x, num_reqs, num_tokens, WIDTH: tl.constexpr):{body}"
    fixed = fix({"a.py": source.encode()})
    assert b'@triton.jit(do_not_specialize=["num_reqs", "num_tokens"])\n' in fixed.after["a.py"]


def test_a_line_that_would_get_longer_than_the_files_are_is_broken() -> None:
    long = "a_rather_long_name_of_a_parameter"
    before = f'@triton.jit(debug=True, do_not_specialize=["{long}", "x"])'
    after = f'@triton.jit(\n    debug=True,\n    do_not_specialize=["{long}", "x", "num_tokens"],\n)'
    signature = f"x, {long}, num_tokens, WIDTH: tl.constexpr"
    assert fix_decorator(before, signature=signature) == after


def test_a_list_too_long_for_a_line_has_a_line_for_each() -> None:
    names = [f"quite_a_long_parameter_{letter}" for letter in "abc"]
    listed = ", ".join(f'"{name}"' for name in names)
    signature = f"x, {', '.join(names)}, num_tokens,\n    WIDTH: tl.constexpr"
    before = f"@triton.jit(\n    do_not_specialize=[{listed}]\n)"
    lines = "".join(f'        "{name}",\n' for name in [*names, "num_tokens"])
    after = f"@triton.jit(\n    do_not_specialize=[\n{lines}    ]\n)"
    assert fix_decorator(before, signature=signature) == after


def test_a_file_that_has_longer_lines_keeps_them() -> None:
    long = "y" * 50
    source = decorated(
        f'@triton.jit(debug=True, do_not_specialize=["{long}"])', f"x, {long}, num_tokens, WIDTH"
    )
    source = f"# {'x' * 110}\n{source}"
    assert fix_text(source) == source.replace('"])', '", "num_tokens"])')


@pytest.mark.parametrize(
    "argument",
    [
        "debug=(triton.IS_DEBUGGED_BY_SOMEBODY_WHO_HAS_A_REASON_FOR_IT_AND_A_LONG_NAME_TOO_ALAS)",
        "debug=triton.FLAGS[triton.IS_DEBUGGED_BY_SOMEBODY_WHO_HAS_A_REASON_FOR_IT_AND_A_LONG_NAME_TOO]",
        "noinline=[each for each in triton.FLAGS if each.IS_INLINED_BY_SOMEBODY_WHO_HAS_A_REASON_FOR_IT]",
        "noinline=any(each for each in triton.FLAGS if each.IS_INLINED_BY_SOMEBODY_WHO_HAS_A_REASON)",
    ],
)
def test_only_what_takes_a_comma_at_its_end_is_broken(argument: str) -> None:
    before = f"@triton.jit({argument}, repr=name)"
    after = fix_decorator(before)
    old, new = (ast.parse(f"{each[1:]}", mode="eval").body for each in (before, after))
    assert isinstance(old, ast.Call)
    assert isinstance(new, ast.Call)
    assert "\n" in after
    assert list(map(ast.dump, new.keywords[:2])) == list(map(ast.dump, old.keywords))


@pytest.mark.parametrize("newline", ["\r\n", "\n", "\r"])
def test_line_ends_stay_what_they_are(newline: str) -> None:
    source = decorated("@triton.jit(\n    debug=True,\n)").replace("\n", newline).encode()
    fixed = fix({"a.py": source}).after["a.py"]
    assert fixed.replace(f'    do_not_specialize=["num_tokens"],{newline}'.encode(), b"") == source


def test_a_declared_encoding_and_a_byte_order_mark_stay() -> None:
    latin = ("# coding: latin-1\n# \xe9t\xe9\n" + decorated("@triton.jit  # \xfc")).encode("latin-1")
    assert b'@triton.jit(do_not_specialize=["num_tokens"])  # \xfc\n' in fix({"a.py": latin}).after["a.py"]
    marked = b"\xef\xbb\xbf" + decorated("@triton.jit  # \xfc").encode()
    fixed = fix({"a.py": marked}).after["a.py"]
    assert fixed.startswith(b"\xef\xbb\xbfimport triton\n")
    ast.parse(fixed)
