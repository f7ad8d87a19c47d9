"""Read one event file, line by line."""

from __future__ import annotations

import json
import marshal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar, cast

from jitwatch.errors import JitwatchError
from jitwatch.events import VERSION
from jitwatch.rundir.records import Kernel, Miss, Notice, ProcessLog, Run, Served, Site, Tune
from jitwatch.specialization import ArgumentClass, Parameter, Value, Variant, read_class
from jitwatch.specialization.classes import FOLDED
from jitwatch.specialization.variants import read_options

T = TypeVar("T")


class EventReader:
    """Turns lines into records, one of each equal thing: a run of 50,000 misses repeats a few thousand."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.built: dict[tuple[str, bytes], object] = {}
        self.interned: dict[Any, Any] = {}
        self.classes: dict[tuple[str, str | None], ArgumentClass] = {}

    def lines(self, file: Path) -> Iterator[dict[str, Any]]:
        """The JSON objects of a file; anything else is counted."""
        try:
            with file.open(encoding="utf-8", errors="replace") as stream:
                for line in stream:
                    try:
                        row = json.loads(line)
                    except (ValueError, RecursionError):
                        row = None
                    if isinstance(row, dict):
                        yield row
                    elif line.strip():
                        self.run.skipped_lines += 1
        except FileNotFoundError:
            return
        except OSError as error:
            self.run.notes.append(f"cannot read {file}: {error.strerror}")

    def read_process(self, file: Path) -> None:
        """Read one process's file; one that does not begin with its ``process`` line is alien."""
        self.read_rows(file.name, self.lines(file), str(file))

    def read_rows(self, name: str, rows: Iterable[dict[str, Any]], source: str) -> None:
        """Add the process `name` from its events, the ``process`` line first; messages call them `source`."""
        rows = iter(rows)
        head = next(rows, None)
        if head is None:
            return
        version = head.get("v")
        if head.get("event") != "process" or not isinstance(version, int):
            self.run.skipped_lines += 1 + sum(1 for _ in rows)
            self.run.notes.append(f"{source} is not an event file (no process line first): skipped")
            return
        if version > VERSION:
            raise JitwatchError(f"{source} was written by a newer jitwatch (v {version}): upgrade jitwatch")
        process = _process(name, head)
        misses: dict[int, Miss] = {}
        for row in rows:
            try:
                self._event(process, misses, row)
            except (KeyError, TypeError, ValueError, IndexError, AttributeError):
                self.run.skipped_lines += 1
        process.misses = [misses[n] for n in sorted(misses)]
        self.run.processes.append(process)

    def _event(self, process: ProcessLog, misses: dict[int, Miss], row: dict[str, Any]) -> None:
        event = row["event"]
        if event == "miss":
            misses[row["n"]] = self._miss(row)
        elif event == "served":
            misses[row["n"]].served = self._served(row)
        elif event == "kernel":
            process.kernels[row["id"]] = _kernel(row)
        elif event == "load":
            if row.get("n") is not None:
                miss = misses[row["n"]]
                miss.load_seconds += _load(miss, row)
                miss.grid = miss.grid or _grid(row)
        elif event == "tune":
            process.tunes.append(self._tune(row))
        elif event == "notice":
            process.notices.append(Notice(row["topic"], row["text"]))
        else:
            self.run.skipped_lines += 1

    def _miss(self, row: dict[str, Any]) -> Miss:
        parsed = [self._argument(argument) for argument in row["args"]]
        classes = self._intern(tuple(each[0] for each in parsed))
        options = self._once("options", row.get("options") or {}, read_options)
        device = str(row.get("device"))
        variant = Variant(row["kernel"], device, classes, options, row.get("effective"))
        site = row.get("site")
        return Miss(
            n=int(row["n"]),
            time=float(row["time"]),
            thread=row.get("thread", 0),
            key=str(row["key"]),
            via=row.get("via", "launch"),
            variant=self._intern(variant),
            values=tuple(each[1] for each in parsed),
            site=self._once("site", site, read_site) if site else None,
            stack=self._once("stack", row.get("stack") or (), read_stack),
            capturing=bool(row.get("capturing")),
            grid=_grid(row),
        )

    def _argument(self, argument: list[Any]) -> tuple[ArgumentClass, Value]:
        type_, spec, value = argument
        if type_ == FOLDED or not isinstance(type_, str) or not isinstance(spec, (str, NoneType)):
            return self._once("argument", argument, self._read_argument)
        klass = self.classes.get((type_, spec))
        if klass is None:
            klass = self.classes[type_, spec] = self._intern(read_class(type_, spec))
        # Numbers are as small as their record would be; equal tensors share one.
        return klass, self._once("value", value, _same) if isinstance(value, dict) else value

    def _read_argument(self, argument: list[Any]) -> tuple[ArgumentClass, Value]:
        type_, spec, value = argument
        return self._intern(read_class(type_, spec)), value

    def _once(self, what: str, content: Any, build: Callable[[Any], T]) -> T:
        """Build a record from JSON once for all equal `content`."""
        # marshal: the cheapest digest of nested lists that keeps 1, True and 1.0 apart.
        key = (what, marshal.dumps(content, 1))
        known = self.built.get(key)
        if known is None:
            known = self.built[key] = build(content)
        return cast("T", known)

    def _served(self, row: dict[str, Any]) -> Served:
        stages = {name: float(seconds) for name, seconds in (row.get("stages") or {}).items()}
        return Served(float(row["time"]), float(row["seconds"]), row.get("cached"), stages, row.get("failed"))

    def _tune(self, row: dict[str, Any]) -> Tune:
        # The dtypes Triton appends have no argument's name.
        parts = [part if isinstance(part, list) else ["dtype", part] for part in row["key"]]
        site = row.get("site")
        return Tune(
            time=float(row["time"]),
            kernel=row["kernel"],
            key=tuple((str(name), value) for name, value in parts if name != "dtype"),
            dtypes=tuple(str(value) for name, value in parts if name == "dtype"),
            candidates=row.get("candidates", 0),
            best=row.get("best"),
            seconds=float(row.get("seconds") or 0.0),
            losers=float(row.get("losers") or 0.0),
            cached=bool(row.get("cached")),
            misses=tuple(row.get("misses") or ()),
            site=read_site(site) if site else None,
        )

    def _intern(self, thing: Any) -> Any:
        return self.interned.setdefault(thing, thing)


def read_site(frame: Sequence[Any]) -> Site:
    """A frame ``[path, line, function]``."""
    path, line, function = frame
    return Site(str(path), int(line), str(function))


def read_stack(frames: Iterable[Sequence[Any]]) -> tuple[Site, ...]:
    """Frames outward from the launch."""
    return tuple(map(read_site, frames))


def _process(file: str, head: Mapping[str, Any]) -> ProcessLog:
    return ProcessLog(
        file=file,
        pid=_number(head.get("pid")),
        time=_number(head.get("time")),
        host=head.get("host") or "",
        argv=tuple(map(str, head.get("argv") or ())),
        rank=head.get("rank"),
        triton=head.get("triton") or "",
        offline=head.get("offline"),
        parent=head.get("parent"),
    )


def _load(miss: Miss, row: Mapping[str, Any]) -> float:
    """Seconds that a load took from a launch.

    They begin where the compile ended: up to 3.6, Triton then builds the launcher of a new signature with a C compiler,
    which neither the compile's time nor the load's own holds. What a warm-up compiled waits for its first launch.
    """
    seconds = float(row["seconds"])
    if miss.via != "launch" or miss.served is None or miss.load_seconds:
        return seconds
    return max(seconds, float(row["time"]) - miss.served.time)


def _grid(row: Mapping[str, Any]) -> tuple[int, ...] | None:
    return tuple(map(int, row["grid"])) if row.get("grid") else None


def _number(value: Any) -> Any:
    return value if isinstance(value, (int, float)) else 0


def _kernel(row: Mapping[str, Any]) -> Kernel:
    parameters = tuple(
        Parameter(
            each["name"],
            bool(each.get("constexpr")),
            bool(each.get("no_specialize")),
            bool(each.get("no_alignment")),
            each.get("annotation"),
        )
        for each in row["params"]
    )
    names = (str(row["name"]), str(row["module"]), str(row["path"]))
    return Kernel(row["id"], *names, int(row["line"]), parameters)


def _same(value: Value) -> Value:
    return value
