"""Compiles a sample of the kernels that fixes changed, as they were and as they are: none may stop compiling."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from jitwatch.lint.engine import Outcome
from jitwatch.source.model import Kernel, Project
from jitwatch.specialization import ArgumentClass, Parameter, Remedy, classify, coarsen, traits_of
from jitwatch.specialization.classes import FOLDED, unfold
from jitwatch.verify import Pool
from jitwatch.verify.evidence import read_uses
from jitwatch.verify.files import kernel_source
from jitwatch.verify.requests import Form, KernelSource, job_of
from jitwatch.verify.signatures import GUESSES, guess_classes
from tests.benchmarks.cut_out import cut_out
from tests.fix.said import Definition, kernels_by_definition

TARGET = "cuda:90"

SLOWEST = 20.0
"""Seconds that one compile of a kernel as it was may take."""


@dataclass(frozen=True)
class State:
    """The files before the fixes, or after them."""

    root: Path
    """The tree as it is in this state."""
    project: Project
    kernels: Mapping[Definition, Kernel]

    @classmethod
    def of(cls, outcome: Outcome, linted: Path, root: Path) -> State:
        """What a lint of the tree at ``linted`` saw, which now is at ``root``."""
        assert outcome.project is not None
        kernels = {
            definition: replace(kernel, path=str(root / Path(kernel.path).relative_to(linted)))
            for definition, kernel in kernels_by_definition(outcome.project, outcome.sources).items()
        }
        return cls(root, outcome.project, kernels)

    def source(self, wanted: Definition, folder: Path) -> KernelSource | None:
        """A kernel, cut out of its file into a folder; None where it cannot be."""
        kernel = self.kernels[wanted]
        file = cut_out(Path(kernel.path), folder)
        if file is None:
            return None
        return replace(kernel_source(kernel), path=str(file), module=file.stem, roots=(str(folder),))

    def guesses(self, wanted: Definition, source: KernelSource) -> Iterator[Form]:
        """Yield forms that launches of a kernel could have."""
        kernel = self.kernels[wanted]
        launches = self.project.launches.get((wanted.path, kernel.qualname, kernel.span.line), ())
        uses = read_uses(kernel)
        for guess in GUESSES:
            classes = guess_classes(kernel, source.parameters, launches, guess, uses)
            yield Form(tuple(classes[each.name] for each in source.parameters))


@dataclass(frozen=True)
class Compiled:
    """What came of a sample."""

    sampled: int
    before: int
    after: int
    broken: tuple[str, ...]
    """Kernels that compiled before only, with the compiler's words."""


def touched(before: State, changed: set[Definition]) -> list[Definition]:
    """Kernels that were changed, or that call, in the same file, one that was."""
    names = {(each.path, each.name) for each in changed}
    size = 0
    while size < len(names):
        size = len(names)
        for path in {path for path, _ in names}:
            module = before.project.modules[path]
            names |= {(path, caller) for caller, called in module.calls if (path, called) in names}
    return [
        each
        for each, kernel in before.kernels.items()
        if (each.path, each.name) in names and kernel.is_entry and kernel.enclosing is None
    ]


def compile_sample(
    before: State, after: State, changed: set[Definition], size: int, seed: int, folder: Path
) -> Compiled:
    """Compile both states of a sample, each kernel under the first guessed signature that it compiled with before.

    ``folder`` is for the kernels, cut out of their files.
    """
    found = sorted(touched(before, changed), key=repr)
    random.Random(seed).shuffle(found)
    sources = {}
    for each in found[:size]:
        old, new = before.source(each, folder), after.source(each, folder)
        if old and new:
            sources[each] = old, new
    with Pool(time_limit=SLOWEST) as pool:
        guesses = {each: list(before.guesses(each, old)) for each, (old, _) in sources.items()}
        forms = _first_that_compile({each: old for each, (old, _) in sources.items()}, guesses, pool)
    jobs = {
        each: job_of(sources[each][1], _form_after(form, *sources[each]), TARGET)
        for each, form in forms.items()
    }
    with Pool() as patient:  # on a busy machine the second form may take longer than the first
        patient.compile(jobs.values())
    answers = {each: patient.answer(job) for each, job in jobs.items()}
    broken = tuple(
        f"{each.path}: {each.name} compiled before, and now: {answer.get('failed')}"
        for each, answer in answers.items()
        if "figures" not in answer
    )
    return Compiled(min(size, len(found)), len(forms), len(forms) - len(broken), broken)


def _first_that_compile(
    sources: Mapping[Definition, KernelSource], guesses: Mapping[Definition, Sequence[Form]], pool: Pool
) -> dict[Definition, Form]:
    """For each kernel the first guess that compiles; those that no guess compiles, or not in time, are left out."""
    found: dict[Definition, Form] = {}
    left = set(sources)
    for number in range(len(GUESSES)):
        forms = {each: guesses[each][number] for each in sources if each in left}
        jobs = {each: job_of(sources[each], form, TARGET) for each, form in forms.items()}
        pool.compile(jobs.values())
        for each, job in jobs.items():
            answer = pool.answer(job)
            if "figures" in answer:
                found[each] = forms[each]
            if "figures" in answer or "not compiled within" in answer["failed"]:
                left.discard(each)
    return found


def _form_after(form: Form, before: KernelSource, after: KernelSource) -> Form:
    """The same launch, for the parameters that are left and as they are declared now."""
    classes = {
        each.name: (each, klass) for each, klass in zip(before.parameters, form.arguments, strict=True)
    }
    return Form(tuple(_class_after(*classes[each.name], each) for each in after.parameters))


def _class_after(before: Parameter, klass: ArgumentClass, after: Parameter) -> ArgumentClass:
    if before.constexpr and not after.constexpr and klass.type == FOLDED:
        value = unfold(klass.folded or "null")
        return classify(value, after, traits_of("")) if isinstance(value, int) else klass
    if after.annotation and not before.annotation:
        klass = coarsen(klass, Remedy.ANNOTATE, before, after.annotation)
    if after.no_specialize and not before.no_specialize:
        klass = coarsen(klass, Remedy.SPECIALIZE, before)
    if after.no_alignment and not before.no_alignment:
        klass = coarsen(klass, Remedy.ALIGNMENT, before)
    return klass
