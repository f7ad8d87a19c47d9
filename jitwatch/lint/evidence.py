"""Joins findings with what a profiled run recorded, through the JSON report's own rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from jitwatch.lint.finding import Evidence, Finding
from jitwatch.lint.registry import all_rules

if TYPE_CHECKING:
    from jitwatch.analysis import Findings
    from jitwatch.analysis.whatif import Outcome as Left
    from jitwatch.fix.changes import Change
    from jitwatch.lint.rule import Rule
    from jitwatch.report.schema import EventRow, KernelRow
    from jitwatch.source.model import Kernel
    from jitwatch.specialization import Remedy


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

    def __init__(self, kernels: Iterable[KernelRow], findings: Findings | None = None) -> None:
        self.findings = findings
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

        findings = analyse(read_run(path))
        return cls(build_document(findings)["kernels"], findings)

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

    def change(self, kernel: Kernel, argument: str) -> Change | None:
        """Return the change that the report's plan makes to an argument of a kernel."""
        from jitwatch.fix.changes import Change, Kind

        for row in self.rows(kernel.path, kernel.name):
            for step in row["plan"]:
                for edit in step["edits"]:
                    if edit["argument"] == argument:
                        annotation = _annotation(step["declarations"], argument)
                        return Change(kernel.key, argument, Kind(edit["remedy"]), annotation)
        return None

    def left(self, kernel: Kernel, remedies: Mapping[str, Remedy]) -> tuple[Left, Left] | None:
        """What a run had of a kernel, and what it would have had with remedies for some arguments."""
        lines = {row["line"] for row in self.rows(kernel.path, kernel.name)}
        for found in self.findings.kernels if self.findings else ():
            if found.kernel.line in lines and found.kernel.name.rpartition(".")[2] == kernel.name:
                names = [parameter.name for parameter in found.kernel.parameters]
                chosen = {names.index(n): remedy for n, remedy in remedies.items() if n in names}
                varying = {i: remedy for i, remedy in chosen.items() if i in found.scenario.remedies}
                return found.scenario.as_is, found.scenario.outcome(varying)
        return None

    def remedy(self, path: str, kernel: str, argument: str) -> str | None:
        """Return the report's plan for an argument in one line, when it has one."""
        for row in self.rows(path, kernel):
            for step in row["plan"]:
                if argument in [edit["argument"] for edit in step["edits"]]:
                    change = " ".join([step["decorator"], *step["declarations"]])
                    kept = f"leaves {step['variants_after']} of {step['variants_before']} variants"
                    return f"{change}, which {kept}; measure the kernel before you keep it"
        return None


def _annotation(declarations: Iterable[str], argument: str) -> str | None:
    """The type that a declaration such as ``n: tl.int32`` fixes: ``i32``."""
    for declared in declarations:
        name, _, type_ = declared.partition(": tl.")
        if name == argument and type_:
            return type_.replace("uint", "u").replace("int", "i")
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
