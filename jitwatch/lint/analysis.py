"""Files to modules: from the cache, in this process, or in several when there is enough to do."""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from jitwatch.lint.cache import Cache, digest, dumps
from jitwatch.lint.config import Configuration
from jitwatch.lint.discovery import Problem

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

    from jitwatch.source.model import Module

Progress = Callable[[int, int], None]
"""Called with how many bytes are analysed, and of how many."""

WORTH_A_POOL = 600_000
"""Bytes to analyse from which worker processes pay: two of them cost about 0.1 s, as much as 300 kB."""


def analyse(
    files: Mapping[str, bytes],
    configuration: Configuration,
    cache: Cache | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> tuple[dict[str, Module], list[Problem]]:
    """Analyse files, in any order; returns modules by path and the files that have none."""
    modules: dict[str, Module] = {}
    problems = []
    todo = dict(files)
    if cache is not None:
        for path, source in files.items():
            module = cache.load(digest(path), _content(path, source, configuration))
            if module is not None:
                modules[path] = module
                del todo[path]
    total, done = sum(map(len, todo.values())), 0
    for path, pickled, problem in _results(todo, configuration, jobs or available_jobs()):
        done += len(todo[path])
        if progress:
            progress(done, total)
        if problem is not None:
            problems.append(problem)
            continue
        modules[path] = pickle.loads(pickled)  # made by ourselves a moment ago: unlike a cache's, trusted
        if cache is not None:
            cache.store(digest(path), _content(path, todo[path], configuration), pickled)
    return modules, problems


def available_jobs() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


Task = tuple[str, bytes, tuple[tuple[str, ...], tuple[str, ...]]]
"""Path, source, and the names of the project's own jit and autotune decorators."""

Result = tuple[str, bytes, "Problem | None"]
"""Path, pickled module, and why there is none."""


def _results(files: Mapping[str, bytes], configuration: Configuration, jobs: int) -> Iterator[Result]:
    # The longest first: a core that begins the longest file last keeps the others waiting.
    tasks = sorted(
        ((path, source, configuration.decorators(path)) for path, source in files.items()),
        key=lambda task: -len(task[1]),
    )
    if jobs == 1 or len(tasks) < 2 or sum(map(len, files.values())) < WORTH_A_POOL:
        yield from map(_analyse_one, tasks)
        return
    from concurrent.futures.process import BrokenProcessPool

    done = 0
    try:
        with _pool(jobs) as pool:
            for result in pool.map(_analyse_one, tasks, chunksize=4):
                yield result
                done += 1
    except BrokenProcessPool:
        yield from _one_by_one(tasks[done:])


def _one_by_one(tasks: Sequence[Task]) -> Iterator[Result]:
    """Find the file that kills a worker (out of memory, or the parser's own stack), and do the others."""
    from concurrent.futures.process import BrokenProcessPool

    remaining = list(tasks)
    while remaining:
        try:
            with _pool(1) as pool:
                while remaining:
                    yield pool.submit(_analyse_one, remaining[0]).result()
                    del remaining[0]
        except BrokenProcessPool:
            path = remaining.pop(0)[0]
            yield path, b"", Problem(path, None, None, "analysing it ended the process: memory, or nesting")


def _pool(jobs: int) -> ProcessPoolExecutor:
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # Forked workers have everything imported already; there are no threads yet that a fork could harm.
    method = "fork" if "fork" in multiprocessing.get_all_start_methods() else None
    return ProcessPoolExecutor(jobs, multiprocessing.get_context(method), gc.disable)


def _analyse_one(task: Task) -> Result:
    path, source, (jit, autotune) = task
    from jitwatch.source import analyse_module

    try:
        with _quiet_parser():
            return path, dumps(analyse_module(path, source, jit=jit, autotune=autotune)), None
    except Exception as error:  # noqa: BLE001 (one strange file must not stop the others)
        return path, b"", problem_of(path, source, error)


def problem_of(path: str, source: bytes, error: Exception) -> Problem:
    """Say in one line why a file could not be analysed."""
    if isinstance(error, (SyntaxError, ValueError)) and b"\0" in source:
        before = source[: source.index(b"\0")]
        column = len(before) - before.rfind(b"\n")
        return Problem(path, before.count(b"\n") + 1, column, "not valid Python 3: it holds a NUL byte")
    if isinstance(error, SyntaxError):
        return Problem(path, error.lineno, error.offset, f"not valid Python 3: {error.msg}")
    if isinstance(error, UnicodeDecodeError):
        line = source.count(b"\n", 0, error.start) + 1
        return Problem(path, line, None, f"not valid Python 3: not {error.encoding}: {error.reason}")
    if isinstance(error, (RecursionError, MemoryError)):
        return Problem(path, None, None, "nested too deeply to be parsed")
    return Problem(path, None, None, internal_error(error))


def internal_error(error: Exception) -> str:
    """Name the place of a mistake of our own."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" at {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}" if trace else ""
    text = " ".join(str(error).split())
    return f"internal error, please report it: {type(error).__name__}{place}: {text}"


@contextlib.contextmanager
def _quiet_parser() -> Iterator[None]:
    """Parsing warns on stderr of `"\\d"` in somebody's file, which is not what we look at."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def check_syntax(path: str, source: bytes) -> Problem | None:
    """Parse a file that nothing else would parse."""
    from jitwatch.source.text import SourceText

    try:
        with _quiet_parser():
            SourceText(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return problem_of(path, source, error)
    return None


def _content(path: str, source: bytes, configuration: Configuration) -> bytes:
    jit, autotune = configuration.decorators(path)
    return digest(source, *jit, "", *autotune)
