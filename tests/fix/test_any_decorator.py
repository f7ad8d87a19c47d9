"""Generated kernels: whatever the decorators look like, the fix says what it does and does nothing else."""

from __future__ import annotations

import ast
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fix.fixing import BODY, GENERATED, fix, fix_and_record
from tests.fix.sameness import unsaid

PARAMETERS = ("x", "num_tokens", "num_seqs", "stride", "WIDTH")
USED = BODY.replace("row < num_tokens", "(row < num_tokens) & (row < num_seqs + 0 * stride)")

quotes = st.sampled_from("\"'")
blanks = st.sampled_from(["", "", " ", "\n    ", "  # a comment\n    ", "\n\n    # between\n    "])


@st.composite
def entries(draw: st.DrawFn) -> str:
    """An element of a list."""
    quote, index = draw(quotes), draw(st.integers(0, 3))
    written = str(index) if draw(st.booleans()) else f"{quote}{PARAMETERS[index]}{quote}"
    return f"({written})" if draw(st.integers(0, 5)) == 0 else written


@st.composite
def comma_lists(draw: st.DrawFn, elements: st.SearchStrategy[str], brackets: str) -> str:
    """A bracketed list with blanks, comments and line ends wherever they may stand."""
    parts = draw(st.lists(elements, max_size=3))
    text = draw(blanks)
    for number, part in enumerate(parts):
        comma = number < len(parts) - 1 or (brackets == "()" and len(parts) == 1) or draw(st.booleans())
        text += part + draw(blanks) + ("," + draw(blanks) if comma else "")
    return f"{brackets[0]}{text}{brackets[1]}"


@st.composite
def list_values(draw: st.DrawFn) -> str:
    """What a list of opt-outs is given as."""
    form = draw(st.sampled_from(["list", "tuple", "conditional", "starred", "name"]))
    one = draw(comma_lists(entries(), "[]"))
    if form == "tuple":
        return draw(comma_lists(entries(), "()"))
    if form == "conditional":
        return f"{one} if triton.FAST else {draw(comma_lists(entries(), '[]'))}"
    if form == "starred":
        return f"[{draw(entries())}, *({one} if triton.FAST else [])]"
    return "LISTED" if form == "name" else one


@st.composite
def jit_decorators(draw: st.DrawFn) -> str:
    """A jit decorator."""
    name = draw(st.sampled_from(["triton.jit", "jit", "gluon.jit"]))
    if draw(st.booleans()):
        return f"@{name}" + draw(st.sampled_from(["", "()", "  # bare", "( )", "(\n)"]))
    keywords = draw(
        st.lists(
            st.sampled_from(["debug", "noinline", "do_not_specialize", "do_not_specialize_on_alignment"]),
            unique=True,
            min_size=1,
        )
    )
    given_ = [f"{k}={draw(list_values()) if k.startswith('do_not') else 'True'}" for k in keywords]
    text = draw(blanks)
    for number, each in enumerate(given_):
        comma = number < len(given_) - 1 or draw(st.booleans())
        text += each + draw(blanks) + ("," + draw(blanks) if comma else "")
    return f"@{name}({text})"


ABOVE = (
    '@triton.autotune(\n    configs=[triton.Config({}, num_warps=n) for n in (2, 4)],\n    key=["num_tokens"],\n)\n',
    '@triton.autotune([triton.Config({}), triton.Config({}, num_warps=2)], ("num_seqs", "WIDTH"))\n',
    '@triton.heuristics({"WIDTH": lambda args: 64})\n',
    "# a comment of its own\n",
    "@libentry()\n",
    "",
)


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A file with one kernel, in a class or not, and a launch of it."""
    constexpr = draw(st.sampled_from(["", ": tl.constexpr", ": tl.constexpr = 3", ":tl.constexpr"]))
    signature = f"x, num_tokens{constexpr}, num_seqs, stride{'=1' if '=' in constexpr else ''}, WIDTH=64"
    signature = signature.replace("num_seqs,", "num_seqs=2,") if "=" in constexpr else signature
    above = "".join(draw(st.lists(st.sampled_from(ABOVE), max_size=2, unique=True)))
    kernel = f"{above}{draw(jit_decorators())}\ndef kernel({signature}):{USED}"
    if draw(st.booleans()):
        lines = f"@staticmethod\n{kernel}".replace("\n", "\n    ")
        kernel = f"class Holder:\n    {lines.rstrip()}\n"
    head = "import triton\nimport triton.language as tl\nfrom triton import jit\n"
    head += "from triton.experimental import gluon\n\n"
    if "LISTED" in kernel:
        head += f"LISTED = {draw(comma_lists(entries(), '[]'))}\n\n"
    target = "Holder.kernel" if "Holder" in kernel else "kernel"
    return (
        f"{head}{kernel}\ndef launch(x, lengths):\n    {target}[(1,)](x, x.shape[0], lengths.shape[0], 4)\n"
    )


@settings(GENERATED, max_examples=150)
@given(programs(), st.sampled_from(["\n", "\r\n"]))
def test_the_result_parses_differs_where_said_and_is_final(program: str, newline: str) -> None:
    source = program.replace("\n", newline).encode()
    fixed, record = fix_and_record({"a.py": source})
    after = fixed.after.get("a.py", source)

    assert fixed.undone == ()
    assert fixed.settled
    assert list(unsaid("a.py", source, after, record)) == []
    assert fix({"a.py": after}).after == {}
    assert_no_name_twice(ast.parse(source), ast.parse(after))


def assert_no_name_twice(before: ast.Module, after: ast.Module) -> None:
    """What was there once is not there twice: names are merged into lists, never added again."""
    most = Counter(name for names in _lists(before) for name in set(names) if names.count(name) > 1)
    for names in _lists(after):
        assert [name for name in set(names) if names.count(name) > 1 and name not in most] == []


def _lists(tree: ast.Module) -> list[list[object]]:
    return [
        [each.value for each in node.elts if isinstance(each, ast.Constant)]
        for node in ast.walk(tree)
        if isinstance(node, ast.List | ast.Tuple)
    ]
