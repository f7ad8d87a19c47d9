"""Whole sessions of an editor with ``jitwatch server``: a real client, a real process, its standard streams."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol.types import DiagnosticTag

from tests.server.editor import Editor

pytestmark = pytest.mark.anyio

KERNELS, OPS = "server/kernels.py", "server/ops.py"

UNSAFE = "(unsafe: look at the result)"

LOOP = """

import triton
import triton.language as tl

@triton.jit
def sum_rows(x_ptr, num_rows, WIDTH: tl.constexpr):
    for row in range(num_rows):
        tl.store(x_ptr + row * WIDTH + tl.arange(0, WIDTH), 0.0)
"""
"""A length that a 1 folds a loop away by: its fix is unsafe."""


async def test_nothing_is_said_of_files_that_are_no_matter_of_ours(folder: Path) -> None:
    bad = (folder / KERNELS).read_text()
    (folder / "pyproject.toml").write_text('[tool.jitwatch.lint]\nexclude = ["generated/"]\n')
    async with Editor(folder) as editor:
        editor.open("generated/kernels.py", bad)
        editor.open(".venv/lib/kernels.py", bad)
        editor.open("notes.txt", bad, language="plaintext")
        editor.open("plain.py", "def f(:\n    pass\n")
        editor.open(KERNELS)
        assert await editor.codes(KERNELS) == ["JW001", "JW002", "JW009"]
        for name in ("generated/kernels.py", ".venv/lib/kernels.py", "plain.py"):
            assert not editor.published[editor.uri(name)].diagnostics
            assert await editor.actions(name) == []
        assert editor.uri("notes.txt") not in editor.published
        assert await editor.hover("generated/kernels.py", "num_tokens") is None


async def test_fixes_make_the_diagnostics_go_away_one_by_one(folder: Path) -> None:
    async with Editor(folder) as editor:
        editor.open(KERNELS)
        found = await editor.diagnosed(KERNELS)
        assert [each.code for each in found] == ["JW001", "JW002", "JW009"]
        assert [editor.covered(KERNELS, each) for each in found] == ["num_tokens", "seq_len", "scale_stride"]
        assert 'instead: do_not_specialize=["num_tokens"]' in found[0].message

        for left in (["JW002", "JW009"], ["JW009"], []):
            fix, leave = await editor.actions(KERNELS, found[0])
            assert fix.title.startswith(f"{found[0].code}: ")
            assert not fix.title.endswith(UNSAFE)
            assert fix.is_preferred is True
            assert list(fix.diagnostics or ()) == [found[0]]
            assert f"ignore[{found[0].code}]" in leave.title
            editor.apply(fix)
            found = await editor.diagnosed(KERNELS)
            assert [each.code for each in found] == left
        assert '@triton.jit(do_not_specialize=["num_tokens"])\ndef scale_rows' in editor.texts[KERNELS]

        # Saving and closing: nothing is left, and what is open elsewhere is told of it.
        editor.save(KERNELS)
        editor.open(OPS)
        (sliced,) = await editor.diagnosed(OPS)
        assert (sliced.code, editor.covered(OPS, sliced)) == ("JW011", "seq_lens[num_decodes:]")

        editor.open("loops.py", LOOP)
        (endless,) = await editor.diagnosed("loops.py")
        fix, _ = await editor.actions("loops.py", endless)
        assert fix.title.endswith(UNSAFE)
        assert fix.is_preferred is False
        editor.close("loops.py")
        editor.close(OPS)
        assert await editor.codes(OPS) == []


async def test_buffers_that_are_not_saved_are_what_counts(folder: Path) -> None:
    launches = (folder / OPS).read_text()
    async with Editor(folder, cwd=folder.parent) as editor:
        editor.open(KERNELS)
        assert "JW009" in await editor.codes(KERNELS)
        # A launch in another buffer says what the parameter is.
        editor.open(OPS, launches.replace("(num_tokens + 3) // 4 * 4", "64"))
        assert "JW009" not in await editor.codes(KERNELS)
        editor.change(OPS, launches)
        assert "JW009" in await editor.codes(KERNELS)
        # Typing is waited out.
        before, text = editor.answers, editor.texts[KERNELS]
        for length in range(20):
            editor.change(KERNELS, "#" * length + "\n" + text)
        assert "JW009" in await editor.codes(KERNELS)
        assert editor.answers - before < 20
        # A question right after a key stroke is answered for the new text, however long the pause would be.
        editor.change(KERNELS, "\n\n" + editor.texts[KERNELS])
        editor.apply((await editor.actions(KERNELS))[0])
        assert '@triton.jit(do_not_specialize=["num_tokens"])\ndef scale_rows' in editor.texts[KERNELS]
        # A file that is on no disk yet has the same neighbours.
        editor.open("server/more.py", launches.replace("server.kernels", ".kernels"))
        assert await editor.codes("server/more.py") == ["JW011"]


async def test_places_are_counted_in_utf16_whatever_the_lines_end_with(folder: Path) -> None:
    text = (
        'import triton\nimport triton.language as tl\n\x0c\nNOTE = "\u2028"\n@triton.jit\n'
        'def scale(x_ptr, note="😀😀", num_tokens=0):  # 𝕊\n'
        "    if tl.program_id(0) < num_tokens:\n        tl.store(x_ptr + tl.program_id(0), 1.0)\n"
    ).replace("\n", "\r\n")
    async with Editor(folder) as editor:
        editor.open("wide.py", text)
        (found,) = await editor.diagnosed("wide.py")
        assert (found.code, editor.covered("wide.py", found)) == ("JW001", "num_tokens")
        assert "a plain int: three classes" in (await editor.hover("wide.py", "num_tokens") or "")
        fix, leave = await editor.actions("wide.py", found)
        editor.apply(leave)
        assert editor.texts["wide.py"] == text.replace("# 𝕊", "# 𝕊  # jitwatch: ignore[JW001]")
        assert await editor.codes("wide.py") == []
        editor.change("wide.py", text)
        assert await editor.codes("wide.py") == ["JW001"]
        (fix, _) = await editor.actions("wide.py", found)
        editor.apply(fix)
        assert editor.texts["wide.py"] == text.replace(
            "triton.jit\r", 'triton.jit(do_not_specialize=["num_tokens"])\r'
        )
        assert await editor.codes("wide.py") == []


DEAD = """\
import triton
import triton.language as tl

@triton.jit
def fill(x_ptr, num_tokens, WIDTH: tl.constexpr):
    tl.store(x_ptr + tl.program_id(0) * WIDTH + tl.arange(0, WIDTH), 0.0)
"""

FILLS = "from dead import fill\n\ndef clear(x):\n    fill[(len(x),)](x, {}WIDTH=64)\n"


async def test_a_fix_reaches_the_files_that_are_not_open(folder: Path) -> None:
    (folder / "fills.py").write_text(FILLS.format("x.shape[0], "))
    async with Editor(folder) as editor:
        editor.open("dead.py", DEAD)
        (found,) = await editor.diagnosed("dead.py")
        assert (found.code, list(found.tags or ())) == ("JW004", [DiagnosticTag.Unnecessary])
        fix, _ = await editor.actions("dead.py", found)
        assert "drop `num_tokens`, here and at its launches" in fix.title
        editor.apply(fix)
        assert editor.texts["dead.py"] == DEAD.replace("num_tokens, ", "")
        assert (folder / "fills.py").read_text() == FILLS.format("")
        assert await editor.codes("dead.py") == []


async def test_safe_fixes_are_made_all_at_once_and_unsafe_ones_never(folder: Path) -> None:
    text = (folder / KERNELS).read_text()
    listed = text.replace('["num_tokens"]', '["num_tokens", "no_such"]  # sic\n') + LOOP
    async with Editor(folder) as editor:
        editor.open(KERNELS, listed)
        assert await editor.codes(KERNELS) == ["JW001", "JW002", "JW006", "JW009", "JW001"]
        assert [each.kind for each in await editor.actions(KERNELS)] == ["quickfix"] * 10
        (everything,) = await editor.actions(KERNELS, only=["source.fixAll"])
        assert everything.kind == "source.fixAll.jitwatch"
        editor.apply(everything)
        left = listed.replace('"no_such"', '"scale_stride"').replace("seq_len: tl.constexpr", "seq_len")
        for kernel, length in {"scale_rows": "num_tokens", "mask_rows": "seq_len"}.items():
            listing = f'@triton.jit(do_not_specialize=["{length}"])'
            left = left.replace(f"@triton.jit\ndef {kernel}", f"{listing}\ndef {kernel}")
        assert editor.texts[KERNELS] == left
        assert await editor.codes(KERNELS) == ["JW001"]
        assert await editor.actions(KERNELS, only=["source.fixAll"]) == []
        assert await editor.actions(KERNELS, only=["refactor"]) == []


async def test_what_cannot_be_linted_is_said_and_passes(folder: Path) -> None:
    settings = folder / "pyproject.toml"
    settings.write_text("[tool.jitwatch.lint]\nselekt = []\n")
    async with Editor(folder) as editor:
        editor.open(KERNELS)
        assert "has no key 'selekt'" in await editor.told("selekt")
        assert await editor.codes(KERNELS) == []
        assert editor.watched == ["workspace/didChangeWatchedFiles"]
        settings.write_text('[tool.jitwatch.lint]\nselect = ["JW001"]\n')
        editor.tell_of("pyproject.toml")
        assert await editor.codes(KERNELS) == ["JW001"]

        good = editor.texts[KERNELS]
        editor.change(KERNELS, good.replace("def scale_rows(", "def scale_rows(("))
        (found,) = await editor.diagnosed(KERNELS)
        assert found.message.startswith("not linted: not valid Python 3")
        assert found.range.start.line == good[: good.index("def scale_rows")].count("\n")
        assert await editor.hover(KERNELS, "num_tokens") is None
        editor.change(KERNELS, good)
        assert await editor.codes(KERNELS) == ["JW001"]
        assert len(editor.messages) == 1


async def test_an_editor_of_few_words_gets_plain_edits_and_may_just_go_away(folder: Path) -> None:
    async with Editor(folder, versioned_edits=False) as editor:
        editor.open(KERNELS)
        (first, *_) = await editor.diagnosed(KERNELS)
        fix, _ = await editor.actions(KERNELS, first)
        assert fix.edit is not None
        assert fix.edit.document_changes is None
        assert list(fix.edit.changes or {}) == [editor.uri(KERNELS)]
        await editor.go_away()
