"""Findings as the JSON document that ``schema`` describes."""

from __future__ import annotations

from functools import lru_cache

from jitwatch.analysis import Findings, KernelFindings, Kind, MissEvent
from jitwatch.analysis.advice import advise
from jitwatch.analysis.findings import ArgumentFindings
from jitwatch.analysis.plan import declarations, decorator
from jitwatch.analysis.ranks import study_ranks
from jitwatch.report.ranks import rank_rows
from jitwatch.report.schema import (
    SCHEMA,
    ArgumentRow,
    ChangeRow,
    ClassRow,
    Document,
    EditRow,
    EventRow,
    KernelRow,
    Place,
    ProcessRow,
    RunRow,
    StepRow,
    Totals,
    TuneArgumentRow,
    TuneRow,
    UnobservedRow,
)
from jitwatch.rundir import ProcessLog, Run, Site
from jitwatch.specialization import Change


def build_document(findings: Findings) -> Document:
    """The report as one JSON-ready object."""
    kernels = findings.kernels
    notices = {(n.topic, n.text): None for process in findings.run.processes for n in process.notices}
    return Document(
        schema=SCHEMA,
        run=_run(findings.run),
        totals=Totals(
            misses=_by_kind(findings),
            recompiles=findings.recompiles,
            seconds=_round(findings.seconds),
            seconds_recompiles=_round(findings.seconds_recompiles),
            seconds_saved=_round(findings.seconds_saved),
            recompiles_saved=findings.recompiles_saved,
        ),
        ranks=rank_rows(study_ranks(findings)),
        kernels=[_kernel(each) for each in kernels],
        notices=[{"topic": topic, "text": text} for topic, text in notices],
    )


def _by_kind(findings: Findings | KernelFindings) -> dict[str, int]:
    return {kind.value: findings.misses[kind] for kind in Kind if findings.misses[kind]}


def _run(run: Run) -> RunRow:
    return RunRow(
        path=str(run.path),
        command=list(run.command),
        started=run.started,
        ended=run.ended,
        exit_code=run.exit_code,
        triton=list(run.triton),
        target=run.target,
        offline=run.offline,
        processes=[_process(process) for process in run.processes],
        unobserved=[
            UnobservedRow(pid=each.pid, argv=list(each.argv), reason=each.reason) for each in run.unobserved
        ],
        skipped_lines=run.skipped_lines,
        notes=list(run.notes),
    )


def _process(process: ProcessLog) -> ProcessRow:
    return ProcessRow(
        file=process.file,
        pid=process.pid,
        rank=process.rank,
        host=process.host,
        argv=list(process.argv),
        triton=process.triton,
        parent=process.parent,
    )


def _kernel(found: KernelFindings) -> KernelRow:
    kernel = found.kernel
    return KernelRow(
        name=kernel.name,
        module=kernel.module,
        path=kernel.path,
        line=kernel.line,
        variants=found.variants,
        misses=_by_kind(found),
        recompiles=len(found.recompiles),
        seconds=_round(found.seconds),
        seconds_recompiles=_round(found.seconds_recompiles),
        arguments=[_argument(each) for each in found.arguments],
        events=[_event(event) for event in found.events],
        plan=[_step(found, i) for i in range(len(found.plan))],
        advice=advise(found),
        tuning=_tuning(found),
    )


def _argument(found: ArgumentFindings) -> ArgumentRow:
    parameter = found.parameter
    by_class = [
        ClassRow(word=klass.word(parameter), values=values) for klass, values in found.classes.items()
    ]
    return ArgumentRow(
        name=parameter.name,
        constexpr=parameter.constexpr,
        recompiles=found.recompiles,
        classes=[row["word"] for row in by_class],
        values=[value for row in by_class for value in row["values"]][:16],
        by_class=by_class,
        variants_saved={remedy.value: saved for remedy, saved in found.variants_saved.items()},
        seconds_saved={remedy.value: _round(saved) for remedy, saved in found.seconds_saved.items()},
    )


def _event(event: MissEvent) -> EventRow:
    miss, served = event.miss, event.miss.served
    return EventRow(
        time=miss.time,
        process=event.process.file,
        pid=event.process.pid,
        rank=event.process.rank,
        kind=event.kind.value,
        recompile=event.recompile,
        seconds=_round(event.seconds),
        load_seconds=_round(miss.load_seconds),
        stages=served.stages if served else {},
        launch=_place(miss.site),
        changed=[_change(change) for change in event.changes],
        threads=event.threads,
        capturing=miss.capturing,
        error=event.error,
    )


@lru_cache(maxsize=4096)
def _place(site: Site | None) -> Place | None:
    return Place(path=site.path, line=site.line, function=site.function) if site else None


def _change(change: Change) -> ChangeRow:
    return ChangeRow(
        subject=change.subject.value,
        argument=change.name,
        before={"class": change.before, "value": change.before_value},
        after={"class": change.after, "value": change.after_value},
        words=change.words(),
    )


def _step(found: KernelFindings, i: int) -> StepRow:
    step = found.plan[i]
    so_far = [edit for each in found.plan[: i + 1] for edit in each.edits]
    return StepRow(
        edits=[
            EditRow(argument=e.parameter.name, remedy=e.remedy.value, caution=e.caution) for e in step.edits
        ],
        decorator=decorator(found.kernel.parameters, so_far),
        declarations=declarations(so_far),
        variants_before=step.before.variants,
        variants_after=step.after.variants,
        recompiles_saved=step.recompiles_saved,
        seconds_saved=_round(step.seconds_saved),
    )


def _tuning(found: KernelFindings) -> TuneRow | None:
    tuning = found.tuning
    if tuning is None:
        return None
    return TuneRow(
        tunes=tuning.tunes,
        retunes=tuning.retunes,
        candidates=tuning.candidates,
        seconds=_round(tuning.seconds),
        seconds_retunes=_round(tuning.seconds_retunes),
        seconds_losers=_round(tuning.losers),
        arguments=[
            TuneArgumentRow(
                name=each.name,
                values=list(each.values),
                retunes_saved=each.retunes_saved,
                seconds_saved=_round(each.seconds_saved),
            )
            for each in tuning.arguments
        ],
    )


def _round(seconds: float) -> float:
    """To the microsecond: sums of floats end in noise."""
    return round(seconds, 6)
