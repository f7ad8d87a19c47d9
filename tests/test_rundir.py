"""Reading run directories: whole, torn, alien, and large."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from jitwatch.analysis import analyse
from jitwatch.errors import JitwatchError
from jitwatch.rundir import find_run, read_run
from jitwatch.specialization import Parameter
from tests.made_runs import START, MadeRun, tensor


def fails(path: Path) -> str:
    with pytest.raises(JitwatchError) as caught:
        read_run(path)
    message = str(caught.value)
    assert "\n" not in message
    return message


def event_file(run: Path) -> Path:
    (file,) = (run / "events").iterdir()
    return file


def append(file: Path, text: str) -> None:
    with file.open("a", encoding="utf-8") as stream:
        stream.write(text)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of one kernel and two misses."""
    path = tmp_path / "run"
    kernel = MadeRun(path).process().kernel("k", "x", "n", Parameter("BLOCK", constexpr=True))
    kernel.launch(tensor(), 1, 64, load=0.5, stages={"ttir": 0.01})
    kernel.launch(tensor(8), 7, 64, options={"num_warps": 8})
    return path


# -- what is no run, or would be misread --------------------------------------------------------------------------


def test_a_missing_directory_is_said_to_be_missing(tmp_path: Path) -> None:
    assert "No such file" in fails(tmp_path / "nowhere")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_directory_is_said_to_be_so(run: Path) -> None:
    run.chmod(0)
    try:
        assert "Permission denied" in fails(run)
    finally:
        run.chmod(0o755)


def test_a_file_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "Not a directory" in fails(tmp_path / "file")


def test_another_directory_is_no_run(tmp_path: Path) -> None:
    assert "not a run directory" in fails(tmp_path)


def test_the_directory_of_runs_names_one_to_read(tmp_path: Path) -> None:
    MadeRun(tmp_path / "20260921-1")
    assert str(tmp_path / "20260921-1") in fails(tmp_path)


@pytest.mark.parametrize("content", ["", "{", "[]", '"x"', "{}", '{"schema": 1, "unobserved": [3]}'])
def test_a_broken_header_is_an_error_that_says_how_to_go_on(run: Path, content: str) -> None:
    (run / "run.json").write_text(content)
    assert "delete it to read the events alone" in fails(run)


def test_a_newer_header_asks_for_a_newer_jitwatch(run: Path) -> None:
    (run / "run.json").write_text('{"schema": 2}')
    assert "newer jitwatch" in fails(run)


def test_a_newer_event_file_asks_for_a_newer_jitwatch(run: Path) -> None:
    append(run / "events" / "z.jsonl", '{"event": "process", "v": 2, "time": 0}\n')
    assert "newer jitwatch" in fails(run)


def test_without_runs_the_error_says_how_to_make_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(JitwatchError, match="jitwatch profile"):
        find_run()


# -- what a crash leaves ------------------------------------------------------------------------------------------


def test_a_line_cut_short_is_counted_and_the_rest_is_kept(run: Path) -> None:
    append(event_file(run), '{"event": "miss", "n": 2, "ti')
    found = read_run(run)
    assert found.skipped_lines == 1
    assert len(found.processes[0].misses) == 2


@pytest.mark.parametrize(
    "line",
    [
        "hello",
        "[1, 2]",
        "null",
        "\udcff\udcfe",
        "{}",
        '{"event": "unheard of"}',
        '{"event": "served", "n": 99, "time": 1, "seconds": 1}',
        '{"event": "served", "n": 0}',
        '{"event": "miss", "n": 5, "time": 1, "kernel": 0, "key": "k", "args": [["i32", "Z", 3]]}',
        '{"event": "miss", "n": 5, "time": 1, "kernel": 0, "key": "k", "args": [["i32", ""]]}',
        '{"event": "kernel", "id": 3}',
        '{"event": "tune", "time": 1, "kernel": 0, "key": 3}',
    ],
)
def test_an_alien_line_is_counted_and_skipped(run: Path, line: str) -> None:
    with event_file(run).open("a", encoding="utf-8", errors="surrogateescape") as stream:
        stream.write(line + "\n")
    found = read_run(run)
    assert found.skipped_lines == 1
    assert [len(process.misses) for process in found.processes] == [2]
    assert analyse(found).recompiles == 1


def test_blank_lines_and_unknown_keys_are_nothing_to_speak_of(run: Path) -> None:
    append(
        event_file(run), "\n" + json.dumps({"event": "notice", "topic": "t", "text": "x", "new": 1}) + "\n"
    )
    found = read_run(run)
    assert found.skipped_lines == 0
    assert found.processes[0].notices[0].text == "x"


def test_a_file_that_is_no_event_file_is_left_out_and_named(run: Path) -> None:
    append(run / "events" / "notes.jsonl", '{"todo": "buy milk"}\n')
    found = read_run(run)
    assert len(found.processes) == 1
    assert "notes.jsonl is not an event file" in found.notes[0]


def test_an_empty_event_file_is_a_process_that_died_early(run: Path) -> None:
    append(run / "events" / "host-1-1.jsonl", "")
    found = read_run(run)
    assert (len(found.processes), found.notes, found.skipped_lines) == (1, [], 0)


def test_events_without_a_header_are_read_all_the_same(run: Path) -> None:
    (run / "run.json").unlink()
    found = read_run(run)
    assert len(found.processes[0].misses) == 2
    assert "exit code are unknown" in found.notes[0]


def test_a_run_in_which_nothing_imported_triton_is_an_empty_run(tmp_path: Path) -> None:
    MadeRun(tmp_path / "run")
    assert read_run(tmp_path / "run").processes == []


def test_files_of_an_earlier_run_in_the_same_directory_are_left_out(run: Path) -> None:
    head = {"event": "process", "v": 1, "time": START - 3600, "pid": 1, "triton": "3.6.0"}
    append(run / "events" / "host-1-0.jsonl", json.dumps(head) + "\n")
    found = read_run(run)
    assert [process.triton for process in found.processes] == ["3.7.1"]
    assert "older than this run" in found.notes[0]


def test_a_miss_of_a_kernel_nobody_told_of_is_counted(run: Path) -> None:
    append(event_file(run), '{"event": "miss", "n": 9, "time": 1, "kernel": 77, "key": "k", "args": []}\n')
    assert analyse(read_run(run)).orphans == 1


# -- what is read -------------------------------------------------------------------------------------------------


def test_what_passes_between_compile_and_load_is_of_the_load(tmp_path: Path) -> None:
    process = MadeRun(tmp_path / "run").process()
    kernel = process.kernel("k", "n")
    for number, via in enumerate(("launch", "warmup")):
        n = kernel.launch(number, via=via, seconds=0.1)
        process.clock += 0.25
        process.write({"event": "load", "n": n, "kernel": "k", "time": process.clock, "seconds": 0.05})
        # The same variant once more, onto another device.
        process.clock += 9
        process.write({"event": "load", "n": n, "kernel": "k", "time": process.clock, "seconds": 0.02})
    (read,) = read_run(tmp_path / "run").processes
    launched, warmed = read.misses
    assert launched.load_seconds == pytest.approx(0.27)
    assert warmed.load_seconds == pytest.approx(0.07)


def test_a_miss_is_joined_with_how_it_was_served_and_loaded(run: Path) -> None:
    first, second = read_run(run).processes[0].misses
    assert first.served is not None
    assert (first.served.seconds, first.served.stages, first.load_seconds) == (0.1, {"ttir": 0.01}, 0.5)
    assert second.variant.options == (("num_warps", "8"),)
    assert second.site is not None
    assert (second.site.path, second.site.line) == ("/srv/app/model.py", 40)
    assert [site.function for site in second.stack] == ["forward", "main"]


def test_misses_are_in_launch_order_whatever_the_order_of_lines(run: Path) -> None:
    file = event_file(run)
    lines = file.read_text().splitlines()
    misses = [line for line in lines if '"miss"' in line]
    rest = [line for line in lines if '"miss"' not in line]
    file.write_text("\n".join([*rest[:2], *reversed(misses), *rest[2:]]) + "\n")
    assert [miss.n for miss in read_run(run).processes[0].misses] == [0, 1]


def test_the_latest_run_is_read_when_none_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("20260921-120000-9", "20260921-120001-3"):
        MadeRun(tmp_path / ".jitwatch" / "runs" / name)
    monkeypatch.chdir(tmp_path)
    assert find_run().name == "20260921-120001-3"


def test_a_forked_child_knows_the_kernels_its_parent_told_of(tmp_path: Path) -> None:
    run = MadeRun(tmp_path / "run")
    parent = run.process()
    parent.kernel("k", "n")
    child = run.process(pid=5000, clock=START + 5, parent=parent.file.name)
    child.write(
        {"event": "miss", "n": 0, "time": START + 6, "kernel": 0, "key": "k", "args": [["i32", "", 3]]}
    )
    assert read_run(run.path).processes[1].kernels[0].name == "k"


# -- large --------------------------------------------------------------------------------------------------------

LARGE = 50_000
"""Misses of the large run; with their ends 100,000 events."""


def write_large(path: Path) -> None:
    """A server that misses at every launch: a new constexpr each time, long stacks, ten arguments."""
    names = [f"stride_{i}" for i in range(6)]
    process = MadeRun(path).process()
    process.kernel("k", "x", "y", "T", *names, Parameter("T_CONST", constexpr=True))
    stack = [[f"/srv/app/layer_{i}.py", 10 + i, f"forward_{i}"] for i in range(8)]
    with process.file.open("a", encoding="utf-8") as stream:
        for n in range(LARGE):
            pointer: list[Any] = ["*bf16", "D", tensor(shape=(n % 512, 4096))]
            numbers = [["i32", "" if n % 3 else "D", n + i] for i in range(7)]
            miss = {"event": "miss", "n": n, "time": START + n, "thread": 1, "kernel": 0, "key": f"{n:016x}"}
            miss |= {"args": [pointer, pointer, *numbers, ["constexpr", n, n]], "options": {"num_warps": 8}}
            miss |= {"device": 0, "via": "launch", "site": stack[0], "stack": stack, "capturing": False}
            served = {"event": "served", "n": n, "time": START + n, "seconds": 0.06, "cached": False}
            served |= {"stages": {"ttir": 0.003, "ttgir": 0.004, "llir": 0.008, "ptx": 0.004, "cubin": 0.03}}
            stream.write(json.dumps(miss) + "\n" + json.dumps(served | {"failed": None}) + "\n")


SLOWEST = 7.5
"""Times what json.loads takes for the same lines: 3 s on a machine at rest, where that takes 0.4 s (reading takes
1.5 s there). A ratio of the better of two, since a machine shared by other tests is several times as slow."""


def test_a_hundred_thousand_events_are_read_in_three_seconds_and_300_mb(tmp_path: Path) -> None:
    write_large(tmp_path / "run")
    program = """
        import json, sys, time
        from pathlib import Path
        from jitwatch.rundir import read_run

        run = Path(sys.argv[1])
        (file,) = (run / "events").iterdir()

        def parse():
            with file.open() as lines:
                for line in lines:
                    json.loads(line)

        def read():
            assert len(read_run(run).processes[0].misses) == int(sys.argv[2])

        def clock(task):
            started = time.process_time()
            task()
            return time.process_time() - started

        read_seconds = clock(read)
        # Not ru_maxrss: a child starts with the peak of the process that forked it.
        peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024
        print(min(read_seconds, clock(read)) / min(clock(parse), clock(parse)), peak)
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path / "run"), str(LARGE)]
    got = subprocess.run(command, capture_output=True, text=True, check=True)
    ratio, megabytes = map(float, got.stdout.split())
    assert ratio < SLOWEST
    assert megabytes < 300
