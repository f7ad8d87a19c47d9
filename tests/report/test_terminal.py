"""The report on a terminal: what it says, at every width and in every locale."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.cells import cell_len

from jitwatch.report.terminal import make_console, print_report
from jitwatch.report.wording import count, seconds
from tests.made_runs import MadeRun, tensor
from tests.report import scenes

Scene = Callable[[Path], Path]
COMMAND = re.compile(r"jitwatch (report|verify) ")


def draw(path: Path, width: int = 80, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    print_report(path, make_console(stream, width=width))
    stream.flush()
    return raw.getvalue().decode(encoding)


def flat(text: str) -> str:
    """The text without its line breaks, to look for sentences."""
    return " ".join(text.split())


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("scene", [scenes.serving, scenes.quiet, scenes.ranks])
def test_no_line_is_wider_than_the_terminal_but_a_command_to_copy(
    tmp_path: Path, width: int, scene: Scene
) -> None:
    for line in draw(scene(tmp_path / "run"), width).splitlines():
        assert cell_len(line) <= width or COMMAND.search(line)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_names_causes_and_changes_are_all_there_at_every_width(tmp_path: Path, width: int) -> None:
    text = flat(draw(scenes.serving(tmp_path / "run"), width))
    assert "8.44 s lost to 26 recompiles of 3 kernels" in text
    assert "_paged_attention_fwd kernels/attention.py:88" in text
    assert '@triton.jit(do_not_specialize=["num_tokens"])' in text
    assert "4 variants → 2, would end 2 recompiles and save 0.48 s" in text
    assert "CompilationError: at 4:12: x is not defined" in text
    assert "pid 4311 (python -S helper.py): started with -S" in text
    assert "another tool took the post hook" in text


def test_the_causes_are_told_in_words_with_the_launch(tmp_path: Path) -> None:
    text = draw(scenes.serving(tmp_path / "run"), 120)
    assert re.search(r"2 × num_tokens: 1 \(=1\) → 2 \(other\) +model.py:41", text)
    assert re.search(r"1 × scale_stride_k: 4 \(other\) → 16 \(÷16\) +model.py:41", text)
    assert re.search(r"1 × src: aligned → unaligned \(address % 16 = 8\) +model.py:71", text)


def test_nothing_is_promised_to_be_harmless(tmp_path: Path) -> None:
    text = flat(draw(scenes.serving(tmp_path / "run"), 120))
    assert "caution, scale_stride_k: its divisibility may let loads and stores be wide" in text
    assert re.search(r"jitwatch verify|Measure the kernel", text)
    assert not re.search(r"harmless|safe|free", text)


def test_tuning_again_is_told_with_the_key(tmp_path: Path) -> None:
    text = flat(draw(scenes.serving(tmp_path / "run")))
    assert "5.20 s lost to tuning again, 4 times" in text
    assert "_matmul tuned 5 times, 6.50 s in all" in text
    assert "key M = 48, 49, 50, 51, …" in text


def test_other_misses_take_one_line(tmp_path: Path) -> None:
    text = flat(draw(scenes.serving(tmp_path / "run")))
    assert "Other misses: 3 first variants" in text
    assert "15 to try a configuration in tuning" in text
    assert "Of the recompiles, 1 read from the disk cache, 1 on another device." in text


def test_terms_are_explained_only_where_they_appear(tmp_path: Path) -> None:
    kernel = MadeRun(tmp_path / "run").process().kernel("k", "x")
    kernel.launch(tensor())
    kernel.launch(tensor(8))
    text = draw(tmp_path / "run")
    assert "aligned: address divisible by 16" in text
    assert "÷16" not in text


def test_ranks_are_told_as_one_group_that_waits_for_its_slowest(tmp_path: Path) -> None:
    text = flat(draw(scenes.ranks(tmp_path / "run")))
    assert "Ranks in step, recompiles hold all 4 up for 0.75 s, 3.00 GPU-seconds." in text
    assert "all 4 ranks missed _fused_rope_quant_per_head, each compiled it: 3 times, 0.75 s" in text
    assert "the worst" not in text


def test_of_several_processes_that_are_no_ranks_the_worst_is_named(tmp_path: Path) -> None:
    run = MadeRun(tmp_path / "run")
    for pid, stall in ((101, 0.2), (102, 0.4)):
        kernel = run.process(pid=pid).kernel("k", "n")
        kernel.launch(3, seconds=1.0)
        kernel.launch(16, seconds=stall)
    assert "Over 2 processes; the worst, pid 102, lost 0.40 s." in flat(draw(tmp_path / "run"))


def test_threads_that_raced_are_told(tmp_path: Path) -> None:
    kernel = MadeRun(tmp_path / "run").process().kernel("k", "n")
    for thread in range(3):
        kernel.launch(3, thread=thread, wait=0, seconds=0.5)
        kernel.process.clock -= 0.4
    assert "1 variant compiled by up to 3 threads at once" in draw(tmp_path / "run")


def test_a_run_that_lost_nothing_is_told_so(tmp_path: Path) -> None:
    text = draw(scenes.quiet(tmp_path / "run"))
    assert "Nothing lost: 1 kernel compiled once (0.40 s), no launch waited after that." in text
    assert "What to change" not in text


def test_a_run_that_imported_no_triton_is_told_so(tmp_path: Path) -> None:
    MadeRun(tmp_path / "run")
    (tmp_path / "run" / "processes.jsonl").write_text('{"pid": 1}\n{"pid": 2}\n')
    assert "2 Python processes started, none imported Triton" in draw(tmp_path / "run")


def test_a_run_in_which_no_process_reported_says_why_that_may_be(tmp_path: Path) -> None:
    MadeRun(tmp_path / "run")
    assert "No Python process of this run reported" in draw(tmp_path / "run")


def test_a_run_with_tuning_only_is_not_called_lossless(tmp_path: Path) -> None:
    kernel = MadeRun(tmp_path / "run").process().kernel("k", "M")
    for m in (1, 2):
        kernel.tune({"M": m}, 1.0)
    assert "No recompiles, but 1.00 s lost to tuning again, 1 time." in draw(tmp_path / "run")


def test_a_run_in_which_every_compile_failed_is_not_called_lossless(tmp_path: Path) -> None:
    MadeRun(tmp_path / "run").process().kernel("k", "n").launch(3, served=False)
    text = flat(draw(tmp_path / "run"))
    assert "Nothing lost" not in text
    assert "Failed k at model.py:40: no end was recorded" in text


def test_an_ascii_terminal_gets_ascii_of_the_same_width(tmp_path: Path) -> None:
    path = scenes.serving(tmp_path / "run")
    process = MadeRun(tmp_path / "other").process()
    process.kernel("größe", "ναι").launch(3)
    assert "scale_stride_k: 4 (other)-> 16 (%16)" in draw(path, 120, "ascii")
    plain = draw(path, 80, "ascii")
    assert all(len(line) <= 80 or COMMAND.search(line) for line in plain.splitlines())
    draw(tmp_path / "other", 80, "ascii")


def test_a_pipe_gets_no_escape_codes(tmp_path: Path) -> None:
    assert "\x1b" not in draw(scenes.serving(tmp_path / "run"))


def test_markup_in_a_program_is_text(tmp_path: Path) -> None:
    run = MadeRun(tmp_path / "run", command=["python", "[bold]x[/bold].py"])
    run.process().kernel("[red]k", "n").launch(3, failed="Error: [/] :smile:")
    text = draw(run.path)
    assert "[bold]x[/bold].py" in text
    assert "Error: [/] :smile:" in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0 ms"),
        (0.012, "12 ms"),
        (0.85, "0.85 s"),
        (9.8, "9.80 s"),
        (41.26, "41.3 s"),
        (200, "3 min 20 s"),
    ],
)
def test_seconds_have_three_digits_at_most(value: float, text: str) -> None:
    assert seconds(value) == text


def test_counts_agree_with_their_nouns() -> None:
    assert (count(1, "miss", "misses"), count(1204, "miss", "misses")) == ("1 miss", "1,204 misses")
