"""Compiles a sample of the kernels that fixes changed, as they were and as they are: none may stop compiling."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from jitwatch.source.model import BoundLaunch, Kernel, Project
from jitwatch.specialization import ArgumentClass, Parameter, Remedy, classify, coarsen, traits_of
from jitwatch.specialization.classes import FOLDED, unfold
from jitwatch.verify import Pool
from jitwatch.verify.files import kernel_source
from jitwatch.verify.requests import Form, KernelSource, job_of
from jitwatch.verify.signatures import GUESSES, guess_classes
from tests.benchmarks.bench_contiguity import cut_out
from tests.fix.said import Definition, kernels_by_definition

TARGET = "cuda:90"

SLOWEST = 20.0
"""Seconds that one compile may take."""

Answer = Mapping[str, Any]


@dataclass(frozen=True)
class State:
    """The files before the fixes, or after them."""

    project: Project
    sources: Mapping[str, bytes]
    folder: Path
    """Where its kernels are cut out to."""
    kernels: Mapping[Definition, Kernel] = field(default_factory=dict)

    @classmethod
    def of(cls, project: Project, sources: Mapping[str, bytes], folder: Path) -> State:
        """Find its kernels."""
        folder.mkdir()
        return cls(project, sources, folder, kernels_by_definition(project, sources))

    def source(self, wanted: Definition) -> KernelSource | None:
        """The kernel, cut out of its file; None where it cannot be."""
        kernel = self.kernels[wanted]
        whole = self.folder / "whole" / Path(kernel.path).name
        whole.parent.mkdir(exist_ok=True)
        whole.write_bytes(self.sources[kernel.path])
        file = cut_out(whole, self.folder)
        if file is None:
            return None
        own = self.folder / f"of_{abs(hash((kernel.path, file.name)))}.py"
        file.replace(own)
        return replace(kernel_source(kernel), path=str(own), module=own.stem, roots=(str(self.folder),))


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


def compile_sample(before: State, after: State, changed: set[Definition], size: int, seed: int) -> Compiled:
    """Compile both states of a sample, each kernel under the first guessed signature that it compiled with before."""
    found = sorted(touched(before, changed), key=repr)
    random.Random(seed).shuffle(found)
    pairs = {each: pair for each in found[:size] if (pair := (before.source(each), after.source(each)))}
    sources = {each: (old, new) for each, (old, new) in pairs.items() if old and new}
    with Pool(time_limit=SLOWEST) as pool:
        forms = _first_that_compile(before, {each: old for each, (old, _) in sources.items()}, pool)
        jobs = {
            each: job_of(sources[each][1], _form_after(form, *sources[each]), TARGET)
            for each, form in forms.items()
        }
        pool.compile(jobs.values())
        answers = {each: pool.answer(job) for each, job in jobs.items()}
    broken = tuple(
        f"{each.path}: {each.name} compiled before, and now: {answer.get('failed')}"
        for each, answer in answers.items()
        if "figures" not in answer
    )
    return Compiled(min(size, len(found)), len(forms), len(forms) - len(broken), broken)


def _first_that_compile(
    state: State, sources: Mapping[Definition, KernelSource], pool: Pool
) -> dict[Definition, Form]:
    """For each kernel the first guess that compiles; those that no guess compiles are left out."""
    found: dict[Definition, Form] = {}
    for guess in GUESSES:
        jobs = {}
        for each, source in sources.items():
            if each not in found:
                kernel = state.kernels[each]
                launches: Sequence[BoundLaunch] = state.project.launches_of(kernel)
                classes = guess_classes(kernel, source.parameters, launches, guess)
                form = Form(tuple(classes[parameter.name] for parameter in source.parameters))
                jobs[each] = form, job_of(source, form, TARGET)
        pool.compile(job for _, job in jobs.values())
        found |= {each: form for each, (form, job) in jobs.items() if "figures" in pool.answer(job)}
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
