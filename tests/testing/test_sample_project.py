"""Four bad kernels are stopped, each by its name and its argument; the shown change lets all tests pass."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.testing import sample_project
from tests.testing.conftest import OFFLINE


def apply_shown_changes(output: str, root: Path) -> int:
    """Write what the failures show, as a reader would: each ``- line`` becomes its ``+ line``, below its ``def``."""
    changed = 0
    file, line = root, 0
    old: str | None = None
    for text in output.splitlines():
        if place := re.fullmatch(r"  \w+ \((\S+):(\d+)\)", text):
            file, line = root / place[1], int(place[2])
        elif text.startswith("    - "):
            old = text[6:]
        elif text.startswith("    + ") and old is not None:
            lines = file.read_text().split("\n")
            near = [i for i in range(line - 4, line + 1) if lines[i] == old]
            lines[near[-1]] = text[6:]
            file.write_text("\n".join(lines))
            old, changed = None, changed + 1
    return changed


def test_the_plugin_stops_four_kernels_and_the_shown_changes_mend_them(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    sample_project.build(pytester.path)
    before = pytester.runpytest_subprocess("-p", "no:cacheprovider", *OFFLINE, "tests")
    before.assert_outcomes(failed=4)
    before.stdout.fnmatch_lines(
        [
            "no_recompiles: 2 recompiles of scale_rows",
            "  scale_rows  num_tokens: 5 (other) → 16 (÷16)*server/ops.py:13*",
            "  scale_rows  num_tokens: * → 1 (=1)*",
            "jitwatch.sweep (tests/test_ops.py:*): mask_rows has 3 variants, expected 1",
            "  mask_rows*seq_len: 5 → 17 (constexpr)*server/ops.py:19*",
            "max_recompiles(0): 1 recompile of scale_columns",
            "  scale_columns  scale_stride: 8 (other) → 16 (÷16)*server/ops.py:27*",
            "no_recompiles (tests/test_ops.py:*): 1 launch of count_blocks missed Triton's in-memory cache",
            "  count_blocks  seq_lens_ptr: aligned → unaligned (address % 16 = 12)*server/ops.py:34*",
        ]
    )
    for code in ("JW001", "JW002", "JW009", "JW011"):
        before.stdout.fnmatch_lines([f"*`jitwatch lint` finds this without running it: *{code}*"])

    assert apply_shown_changes(str(before.stdout), pytester.path) == 5
    after = pytester.runpytest_subprocess("-p", "no:cacheprovider", *OFFLINE, "tests")
    after.assert_outcomes(passed=4)
