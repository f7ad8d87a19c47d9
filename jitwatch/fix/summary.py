"""What was fixed, in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jitwatch.fix.changes import Change, Kind
from jitwatch.fix.passes import Fixed
from jitwatch.fix.proof import REMEDIES, Proofs
from jitwatch.lint.evidence import Recording
from jitwatch.lint.finding import Finding
from jitwatch.lint.formats.footer import count
from jitwatch.specialization import Remedy

WORDS = {
    Kind.OPT_OUT: "do_not_specialize",
    Kind.ALIGNMENT: "do_not_specialize_on_alignment",
    Kind.ANNOTATE: "a fixed type, and do_not_specialize",
    Kind.RUNTIME: "a run-time argument, and do_not_specialize",
    Kind.RUNTIME_SPECIALIZED: "a run-time argument",
    Kind.LEAVE_KEY: "out of the autotuner's key",
    Kind.DROP: "dropped, here and at its launches",
}


def fixes_by_file(applied: Iterable[Finding]) -> Iterator[str]:
    """Yield which findings of which rule were fixed, file by file."""
    by_file: dict[str, dict[tuple[str, str], list[Finding]]] = {}
    for finding in applied:
        by_rule = by_file.setdefault(finding.path, {})
        by_rule.setdefault((finding.code, finding.name), []).append(finding)
    yield "Fixed:"
    for path, by_rule in sorted(by_file.items()):
        yield f"- {path}:"
        for (code, name), findings in sorted(by_rule.items()):
            told = [f"{each.parameter} of {each.kernel}" for each in findings if each.parameter]
            yield f"    {len(findings)} × {code} ({name})" + (f": {', '.join(told)}" if told else "")


def predicted_against_proven(fixed: Fixed, recording: Recording, proofs: Proofs | None) -> Iterator[str]:
    """Yield for each kernel that was mended, the dearest first, what the run predicts and what is proven."""
    for mended in _by_kernel(fixed.applied):
        first = mended[0]
        changes = [finding.change for finding in mended if finding.change]
        yield f"{first.kernel}  {first.path}:{first.line}"
        for finding in mended:
            done = WORDS[finding.change.kind] if finding.change else finding.remedy
            yield f"  {finding.parameter}: {done}"
            if finding.evidence and finding.evidence.confirmed:
                yield f"    observed   {finding.evidence}"
            yield f"    proven     {_proven(finding, proofs)}"
        if words := _predicted(fixed, changes, recording):
            yield f"  predicted: {words}"


def _by_kernel(applied: Iterable[Finding]) -> list[list[Finding]]:
    groups: dict[tuple[str, str], list[Finding]] = {}
    for finding in applied:
        if finding.change:
            groups.setdefault(finding.change.kernel[:2], []).append(finding)
    return sorted(groups.values(), key=lambda group: -sum(map(_seconds, group)))


def _seconds(finding: Finding) -> float:
    return finding.evidence.seconds if finding.evidence else 0.0


def _proven(finding: Finding, proofs: Proofs | None) -> str:
    verdict = proofs.of(finding) if proofs else None
    if verdict is None and finding.change and not finding.change.kind.is_compiled:
        return "needs no proof: the code stays the same"
    if verdict is None:
        return "not yet: --verify compiles both forms"
    return f"{verdict.outcome.value} for {verdict.target}: {verdict.reason}"


def _predicted(fixed: Fixed, changes: list[Change], recording: Recording) -> str:
    """What the run would have been with all changes of a kernel."""
    remedies = {
        change.parameter: REMEDIES.get(change.kind, Remedy.SPECIALIZE)
        for change in changes
        if change.kind not in (Kind.LEAVE_KEY, Kind.RUNTIME_SPECIALIZED)
    }
    path, name, _ = changes[0].kernel
    kernels = fixed.outcome.project.kernels[path] if fixed.outcome.project else ()
    kernel = next((each for each in kernels if each.qualname == name), None)
    left = recording.left(kernel, remedies) if kernel and remedies else None
    if left is None:
        return ""
    before, after = left
    return (
        f"{count(before.variants, 'variant')} → {after.variants}, would have ended "
        f"{count(before.misses - after.misses, 'miss').replace('misss', 'misses')} "
        f"and saved {before.seconds - after.seconds:.2g} s of {before.seconds:.2g} s"
    )
