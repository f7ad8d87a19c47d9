"""A run's recompiles as remarks on lines of source, for GitHub and for code scanning."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from jitwatch.analysis import Findings, KernelFindings, MissEvent
from jitwatch.analysis.advice import advise
from jitwatch.report import wording
from jitwatch.report.causes import Cause, group_causes
from jitwatch.report.change import change_lines
from jitwatch.report.workflow import Properties, workflow_command
from jitwatch.rundir import Site

RULE = "JW200"
"""The rule about recompiles that a run shows (``rules/jw200_observed_recompile.py``)."""


@dataclass(frozen=True, slots=True)
class Remark:
    """The recompiles of a kernel that one launch met for one cause."""

    kernel: KernelFindings
    cause: Cause
    site: Site
    """The launch; the kernel where the launch is unknown."""

    @property
    def message(self) -> str:
        """One sentence: how often, why, at what cost."""
        number = wording.count(len(self.cause.events), "recompile")
        lost = wording.seconds(self.cause.seconds)
        return f"{number} of `{self.kernel.kernel.name}`, {lost} lost: {self.cause.words()}"

    @property
    def remedy(self) -> str:
        """What to write instead, over several lines; empty where nothing is known."""
        edits = [edit for step in self.kernel.plan for edit in step.edits]
        if not edits:
            return "\n".join(advise(self.kernel))
        where = f"in {Path(self.kernel.kernel.path).name}:{self.kernel.kernel.line}"
        cautions = [f"caution, {edit.parameter.name}: {edit.caution}" for edit in edits if edit.caution]
        return "\n".join([f"{where} write:", *change_lines(self.kernel.kernel, edits), *cautions])


def remarks(findings: Findings) -> list[Remark]:
    """All of a run, the dearest first."""
    made = []
    for kernel in findings.kernels:
        by_launch: dict[Site, list[MissEvent]] = {}
        for event in kernel.recompiles:
            site = event.miss.site or Site(kernel.kernel.path, kernel.kernel.line)
            by_launch.setdefault(site, []).append(event)
        made += [
            Remark(kernel, cause, site)
            for site, events in by_launch.items()
            for cause in group_causes(events)
        ]
    return sorted(made, key=lambda each: (-each.cause.seconds, each.site.path, each.site.line))


def write_github(findings: Findings, stream: TextIO) -> None:
    """A ``::warning`` at each launch that recompiled, paths relative to the working directory; then the total.

    GitHub shows ten annotations of a kind a step, so that the total is told apart.
    """
    for remark in remarks(findings):
        properties: Properties = {
            "title": f"jitwatch ({RULE})",
            "file": _relative(remark.site.path),
            "line": remark.site.line,
        }
        stream.write(
            workflow_command("warning", properties, f"{remark.message}\n{remark.remedy}".strip()) + "\n"
        )
    if findings.recompiles:
        total = wording.count(findings.recompiles, "recompile")
        text = f"{total}, {wording.seconds(findings.seconds_recompiles)} lost"
        stream.write(workflow_command("notice", {"title": "jitwatch"}, text) + "\n")


def write_sarif(findings: Findings, stream: TextIO) -> None:
    """SARIF 2.1.0: one result at each launch and cause, paths relative to the repository."""
    # The rule's text is what `jitwatch lint` shows; its registry is not needed by any other report.
    from jitwatch.lint.formats.sarif import log_object, repository_root
    from jitwatch.lint.registry import all_rules

    root = repository_root(os.getcwd())
    results = list(_results(findings, root))
    invocation = {"executionSuccessful": findings.run.exit_code in (0, None)}
    json.dump(log_object([all_rules()[RULE]], invocation, results, root), stream, indent=2)
    stream.write("\n")


def _results(findings: Findings, root: Path) -> Iterator[dict[str, Any]]:
    from jitwatch.lint.cache import digest
    from jitwatch.lint.formats.sarif import artifact_location

    for remark in remarks(findings):
        kernel = remark.kernel.kernel
        names = [change.name for change in remark.cause.events[0].changes]
        # Of no line's number and no time: the same recompile in the next run is the same finding.
        key = digest(RULE, kernel.module, kernel.name, *names, remark.site.function)
        yield {
            "ruleId": RULE,
            "ruleIndex": 0,
            "level": "warning",
            "message": {"text": f"{remark.message}\n{remark.remedy}".strip()},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": artifact_location(remark.site.path, root),
                        "region": {"startLine": remark.site.line},
                    }
                }
            ],
            "partialFingerprints": {"jitwatch/v1": key.hex()},
        }


def _relative(path: str) -> str:
    home = os.getcwd() + os.sep
    return path[len(home) :] if path.startswith(home) else path
