"""A killed run leaves each file as it was or as it is to be, whenever the kill comes."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

CONTENT = b"x" * 4_000_000
OLD, NEW = b"old\n" + CONTENT, b"new\n" + CONTENT

WRITE = """\
import sys
from jitwatch.fix.files import replace_file

old, new = (name + b"\\n" + b"x" * 4_000_000 for name in (b"old", b"new"))
print("ready", flush=True)
while True:
    replace_file(sys.argv[1], new, expected=old)
    replace_file(sys.argv[1], old, expected=new)
"""
"""Writes a file that takes a while, again and again."""

KILLS = 12


def test_a_file_is_old_or_new_whenever_the_writer_is_killed(tmp_path: Path) -> None:
    target = tmp_path / "a.py"
    seen = set()
    for kill in range(KILLS):
        target.write_bytes(OLD)
        with subprocess.Popen(
            [sys.executable, "-c", WRITE, str(target)], stdout=subprocess.PIPE, cwd=Path.cwd()
        ) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            # Anywhere in the next few writes: each takes some milliseconds, and the kills come ever later.
            select.select([], [], [], 0.002 + 0.0013 * kill)
            writer.kill()
        content = target.read_bytes()
        assert content in (OLD, NEW)
        seen.add(content[:3])
    assert seen <= {b"old", b"new"}
    assert os.listdir(tmp_path)
