"""Requests for the remedies of a recorded run, on the variants that it recorded."""

from __future__ import annotations

import os
from collections.abc import Iterator

from jitwatch.analysis import Findings, KernelFindings
from jitwatch.rundir import Run
from jitwatch.specialization import Remedy, sensible_remedies, traits_of
from jitwatch.specialization.remedies import fixed_type
from jitwatch.specialization.variants import Variant
from jitwatch.verify.requests import Change, Form, KernelSource, Launch, Request, choose_forms, roots_of
from jitwatch.verify.wanted import Wanted


def requests_of_run(findings: Findings, wanted: Wanted) -> list[Request]:
    """The remedies of every kernel's plan; of `wanted` what it names, planned or not."""
    return [
        request
        for kernel in findings.kernels
        if kernel.scenario.entries and wanted.takes_kernel(kernel.kernel.name)
        for request in _of_kernel(kernel, findings.run, wanted)
    ]


def target_of_run(run: Run) -> str | None:
    """The target a run was recorded for: only an offline run says."""
    return run.target if run.offline else None


def _of_kernel(found: KernelFindings, run: Run, wanted: Wanted) -> Iterator[Request]:
    source = _source(found, run)
    forms = [_form(entry.variant) for entry in found.scenario.entries]
    launches = _launches(found)
    for change in _changes(found, run, wanted):
        chosen, left_out = choose_forms(forms, change.position)
        known = {form: launches[form] for form in chosen if form in launches}
        yield Request(source, change, chosen, left_out, launches=known)


def _form(variant: Variant) -> Form:
    return Form(variant.arguments, tuple(sorted(variant.options)))


def _launches(found: KernelFindings) -> dict[Form, Launch]:
    """The launch that met each variant first, where its grid is known."""
    launches: dict[Form, Launch] = {}
    for event in found.events:
        miss, form = event.miss, _form(event.miss.variant)
        if miss.grid and form not in launches:
            launches[form] = Launch(miss.grid, miss.values)
    return launches


def _changes(found: KernelFindings, run: Run, wanted: Wanted) -> Iterator[Change]:
    if not wanted.remedies:
        for step in found.plan:
            yield from (Change(edit.position, edit.remedy, edit.annotation) for edit in step.edits)
        return
    traits = traits_of(run.triton[0] if run.triton else "")
    for i, parameter in enumerate(found.kernel.parameters):
        classes = found.scenario.classes[i]
        for remedy in wanted.of(parameter.name, sensible_remedies(parameter, classes, traits)):
            yield Change(i, remedy, fixed_type(classes) if remedy is Remedy.ANNOTATE else None)


def _source(found: KernelFindings, run: Run) -> KernelSource:
    kernel, process = found.kernel, found.events[0].process
    path = os.path.join(run.cwd, kernel.path)
    return KernelSource(
        kernel.name,
        kernel.module,
        path,
        kernel.line,
        roots_of(kernel.module, path, run.cwd, process.argv),
        kernel.parameters,
    )
