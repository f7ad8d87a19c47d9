"""Generated modules: wherever a kernel stands, and in whatever bytes, its fix changes the decorator or says why not.

The code around it is hypothesmith's: anything that Python's grammar allows, odd blanks, comments and line ends with it.
"""

from __future__ import annotations

import ast
import codecs
from dataclasses import dataclass

import hypothesmith
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from jitwatch.fix.passes import Fixed
from tests.fix.fixing import GENERATED, fix, fix_and_record
from tests.fix.sameness import unsaid
from tests.fix.test_any_decorator import USED, jit_decorators

IMPORTS = (
    "import triton\nimport triton.language as tl\nfrom triton import jit\n"
    "from triton.experimental import gluon\n"
)
SIGNATURE = f"\ndef kernel(x, num_tokens, num_seqs, stride, WIDTH: tl.constexpr):{USED}"

BLOCKS = (
    ("def make():\n", ""),
    ("def make(a, /, *, b=(1,\n2)) -> None:\n", ""),
    ("async def make():\n", ""),
    ("class Kernels:\n", ""),
    ("if triton.FAST:\n", "else:\n{0}pass\n"),
    ("if triton.FAST:\n{0}pass\nelse:\n", ""),
    ("if triton.FAST: pass\nelif triton.SLOW:\n", ""),
    ("try:\n", "except ImportError: pass\n"),
    ("try:\n{0}import nothing\nexcept ImportError:\n", "finally:\n{0}pass\n"),
    ("try: pass\nfinally:\n", ""),
    ("for _ in range(2):\n", "else: pass\n"),
    ("while triton.FAST:\n", ""),
    ('with open("f") as f:\n', ""),
    ("match triton.FAST:\n{0}case True:\n{0}", ""),
)
"""What a kernel may stand in: before it and after it; ``{0}`` is one step of indentation."""

TEXT = hypothesmith.from_grammar("file_input")


@dataclass(frozen=True)
class Generated:
    """A file in three pieces."""

    before: bytes
    decorator: bytes
    after: bytes

    @property
    def source(self) -> bytes:
        """All of it."""
        return self.before + self.decorator + self.after


@st.composite
def modules(draw: st.DrawFn) -> Generated:
    """A module with one kernel somewhere inside."""
    encoding = draw(st.sampled_from(["utf-8", "utf-8", "latin-1"]))
    around = draw(TEXT).encode(encoding, "ignore").decode(encoding)
    before = draw(
        st.sampled_from([IMPORTS, f"{IMPORTS}\f\n", f"{around}\n{IMPORTS}", f"{IMPORTS}{around}\n"])
    )
    decorator = draw(jit_decorators().filter(lambda text: "LISTED" not in text))
    rest = SIGNATURE.rstrip() + draw(st.sampled_from(["", "\n", "  # at last", "\n\f\n", f"\n{around}\n"]))
    step = draw(st.sampled_from(["    ", "\t", " ", "  \t"]))
    indentation = ""
    heads: list[str] = []
    tails: list[str] = []
    for head, tail in draw(st.lists(st.sampled_from(BLOCKS), max_size=3)):
        heads.append(_indented(head.format(step), indentation))
        tails.insert(0, _indented(tail.format(step), indentation))
        indentation += step * (2 if head.endswith("{0}") else 1)
    rest = _indented(rest, indentation) if tails else rest
    newline = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    mark = draw(st.sampled_from([b"", codecs.BOM_UTF8]))
    if encoding == "latin-1":
        # tokenize, which reads the declaration, stumbles over an é in its line, and over lone carriage returns.
        newline = "\r\n" if newline == "\r" else newline
        mark = newline.join(["# -*- coding: latin-1 -*-", "", "# é", ""]).encode(encoding)
    feed = draw(st.sampled_from(["", "\f"]))
    pieces = (
        before + "".join(heads) + feed + indentation,
        _indented(decorator, indentation).lstrip(),
        rest + "".join(f"\n{tail}" for tail in tails if tail),
    )
    first, second, third = (each.replace("\n", newline).encode(encoding) for each in pieces)
    generated = Generated(mark + first, second, third)
    assume(_compiles(generated.source))
    return generated


def _indented(text: str, indentation: str) -> str:
    return "".join(f"{indentation}{line}\n" if line else "\n" for line in text.split("\n")).removesuffix("\n")


def _compiles(source: bytes) -> bool:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    return True


@pytest.mark.filterwarnings("ignore::SyntaxWarning")  # of generated code
@settings(GENERATED, max_examples=200)
@given(modules())
def test_only_the_decorator_changes_or_it_is_said_why_not(generated: Generated) -> None:
    source = generated.source
    fixed, record = fix_and_record({"a.py": source})
    after = fixed.after.get("a.py", source)

    assert fixed.undone == ()
    assert list(unsaid("a.py", source, after, record)) == []
    assert after.startswith(generated.before)
    assert after.endswith(generated.after)
    assert fix({"a.py": after}).after == {}
    decorator = after[len(generated.before) : -len(generated.after)].decode()
    assert "num_tokens" in decorator or hides_names(decorator) or is_explained(fixed)


def hides_names(decorator: str) -> bool:
    """Whether an opt-out list has its parameters by position, or computes them and spells none."""
    call = ast.parse(decorator[1:].strip(), mode="eval").body
    for each in call.keywords if isinstance(call, ast.Call) else ():
        parts = each.value.elts if isinstance(each.value, ast.List | ast.Tuple) else [each.value]
        if (each.arg or "").startswith("do_not_specialize") and any(_names_none(part) for part in parts):
            return True
    return False


def _names_none(part: ast.expr) -> bool:
    constants = [each.value for each in ast.walk(part) if isinstance(each, ast.Constant)]
    return not any(isinstance(each, str) for each in constants)


def is_explained(fixed: Fixed) -> bool:
    return any(
        finding.parameter == "num_tokens" and "by hand: " in finding.remedy
        for finding in fixed.outcome.findings
    )
