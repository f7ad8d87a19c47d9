"""Joins findings with what a profiled run recorded, through the JSON report's own rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from jitwatch.lint.finding import Evidence, Finding
from jitwatch.lint.registry import all_rules

if TYPE_CHECKING:
    from jitwatch.lint.rule import Rule
    from jitwatch.report.schema import EventRow, KernelRow


@dataclass(frozen=True)
class Cause:
    """What made a kernel recompile, over all its recompiles of one kind."""

    subject: str
    """``argument``, ``option``, ``option_spelling``, ``function`` ..."""
    name: str
    """Of the parameter or option."""
    evidence: Evidence


class Recording:
    """The kernels of a run."""

    def __init__(self, kernels: Iterable[KernelRow]) -> None:
        self._exact: dict[tuple[str, str], list[KernelRow]] = {}
        self._by_name: dict[tuple[str, str], list[KernelRow]] = {}
        for row in kernels:
            name = row["name"].rpartition(".")[2]
            self._exact.setdefault((os.path.realpath(row["path"]), name), []).append(row)
            self._by_name.setdefault((os.path.basename(row["path"]), name), []).append(row)

    @classmethod
    def of_run(cls, path: Path) -> Recording:
        """Read a run directory. Raises JitwatchError on what is none."""
        from jitwatch.analysis import analyse
        from jitwatch.report.document import build_document
        from jitwatch.rundir import read_run

        return cls(build_document(analyse(read_run(path)))["kernels"])

    def rows(self, path: str, kernel: str) -> Sequence[KernelRow]:
        """Rows of a kernel of a linted file.

        The run may have imported an installed copy: then a file of the same name with a kernel of the same
        name counts, unless there are several.
        """
        exact = self._exact.get((os.path.realpath(path), kernel))
        if exact:
            return exact
        named = self._by_name.get((os.path.basename(path), kernel), [])
        return named if len({row["path"] for row in named}) == 1 else ()

    def causes(self, path: str, kernel: str) -> Iterator[Cause]:
        """Yield what made a kernel recompile, the most expensive first."""
        events: dict[tuple[str, str], list[tuple[EventRow, str]]] = {}
        for row in self.rows(path, kernel):
            for event in row["events"]:
                if event["recompile"]:
                    for change in event["changed"]:
                        key = change["subject"], change["argument"].partition("[")[0]
                        events.setdefault(key, []).append((event, change["words"]))
        causes = [
            Cause(
                subject,
                name,
                Evidence(True, len(group), sum(event["seconds"] for event, _ in group), group[0][1]),
            )
            for (subject, name), group in events.items()
        ]
        return iter(sorted(causes, key=lambda cause: -cause.evidence.seconds))

    def evidence(self, finding: Finding) -> Evidence | None:
        """Say what the run shows of a finding; None for one about no kernel."""
        if finding.kernel is None:
            return None
        rows = self.rows(finding.path, finding.kernel)
        rule = all_rules()[finding.code]
        if rule.observed_as == "tuning":
            return _tuning(rows, finding.parameter)
        for cause in self.causes(finding.path, finding.kernel):
            if _is_about(finding, rule, cause):
                return cause.evidence
        return Evidence(ran=bool(rows))

    def remedy(self, path: str, kernel: str, argument: str) -> str | None:
        """Return the report's plan for an argument in one line, when it has one."""
        for row in self.rows(path, kernel):
            for step in row["plan"]:
                if argument in [edit["argument"] for edit in step["edits"]]:
                    change = " ".join([step["decorator"], *step["declarations"]])
                    kept = f"leaves {step['variants_after']} of {step['variants_before']} variants"
                    return f"{change}, which {kept}; measure the kernel before you keep it"
        return None


def with_evidence(findings: Iterable[Finding], recording: Recording) -> list[Finding]:
    """Attach what a run shows; what it confirms comes first, by the seconds it cost."""
    joined = [
        finding if finding.evidence else replace(finding, evidence=recording.evidence(finding))
        for finding in findings
    ]
    return sorted(joined, key=lambda f: (-f.evidence.seconds if f.evidence else 0.0, f))


def _is_about(finding: Finding, rule: Rule, cause: Cause) -> bool:
    if rule.observed_as != "argument":
        return cause.subject == rule.observed_as
    if finding.parameter is not None:
        return cause.subject == "argument" and cause.name == finding.parameter
    # An option is no parameter: the message names it.
    return cause.subject == "option" and f"`{cause.name}`" in finding.message


def _tuning(rows: Sequence[KernelRow], argument: str | None) -> Evidence:
    """Evidence of an autotune key: benchmarks run again because of one of its arguments."""
    retunes, seconds = 0, 0.0
    for row in rows:
        for entry in row["tuning"]["arguments"] if row["tuning"] else ():
            if entry["name"] == argument:
                retunes += entry["retunes_saved"]
                seconds += entry["seconds_saved"]
    return Evidence(bool(rows), retunes, seconds, f"tuned anew for {argument}" if retunes else "")
