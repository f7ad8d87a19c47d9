"""What is to be compiled: a kernel, the variants it is compiled for, and the remedy to try on each."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jitwatch.specialization import ArgumentClass, Parameter, Remedy, Value, coarsen
from jitwatch.specialization.variants import Options

MOST_FORMS = 12
"""Variants that one remedy is tried on. They cover every class of its argument and every set of options first;
a kernel with hundreds differs in a constexpr, which the remedy does not touch."""


@dataclass(frozen=True)
class KernelSource:
    """Where a kernel's source is, and how its module was imported."""

    name: str
    """Qualified name of the function."""
    module: str
    path: str
    line: int
    roots: tuple[str, ...]
    """Folders to put on ``sys.path``, the first first."""
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class Form:
    """A kernel compiled for arguments of these classes with these options."""

    arguments: tuple[ArgumentClass, ...]
    options: Options = ()


@dataclass(frozen=True)
class Launch:
    """A launch that the run recorded, as far as it can be repeated."""

    grid: tuple[int, ...]
    values: tuple[Value, ...]
    """Of the arguments, tensors by their sizes, as events have them."""


@dataclass(frozen=True)
class Change:
    """A remedy for one parameter."""

    position: int
    remedy: Remedy
    annotation: str | None = None
    """The type that ANNOTATE writes."""

    def apply(self, form: Form, parameters: Sequence[Parameter]) -> Form:
        """The form that serves the same launches once the remedy is there."""
        arguments, parameter = list(form.arguments), parameters[self.position]
        merged = coarsen(arguments[self.position], self.remedy, parameter, self.annotation)
        if self.remedy is Remedy.RUNTIME:
            merged = merged._replace(spec=None)
        arguments[self.position] = merged
        return Form(tuple(arguments), form.options)


@dataclass(frozen=True)
class Request:
    """One remedy to verify on one kernel's variants."""

    kernel: KernelSource
    change: Change
    forms: tuple[Form, ...]
    left_out: int = 0
    """Variants beyond MOST_FORMS."""
    assumed: bool = False
    """The forms are guessed from the source, not recorded or given."""
    doubted: bool = False
    """They are, and the source says that divisibility matters: a guess that leaves the access out proves nothing."""
    launches: Mapping[Form, Launch] = field(default_factory=dict)
    """Of the forms: the first recorded launch of each whose grid is known."""

    @property
    def parameter(self) -> Parameter:
        """The one that the remedy is for."""
        return self.kernel.parameters[self.change.position]

    @property
    def element_bits(self) -> int | None:
        """Bits of an element, when all pointers of the kernel agree."""
        widths = {
            bits
            for form in self.forms
            for each in form.arguments
            if each.is_pointer and (bits := element_bits(each.type))
        }
        return widths.pop() if len(widths) == 1 else None

    def pairs(self) -> Iterator[tuple[Form, Form]]:
        """Forms that the remedy changes, and what it makes of each."""
        for form in self.forms:
            changed = self.change.apply(form, self.kernel.parameters)
            if changed != form:
                yield form, changed


def choose_forms(forms: Iterable[Form], position: int) -> tuple[tuple[Form, ...], int]:
    """At most MOST_FORMS of the forms, and how many are left out."""
    distinct = list(dict.fromkeys(forms))
    classes: dict[object, int] = {}

    def rank(form: Form) -> int:
        """How many forms of the same class of the argument come before it: one of each class goes first."""
        klass = form.arguments[position]
        classes[klass] = classes.get(klass, 0) + 1
        return classes[klass]

    ranked = sorted((rank(form), i) for i, form in enumerate(distinct))
    chosen = sorted(i for _, i in ranked[:MOST_FORMS])
    return tuple(distinct[i] for i in chosen), len(distinct) - len(chosen)


def element_bits(type_: str) -> int:
    """Bits of what a pointer type points to (``*bf16``: 16); 0 when its name does not tell."""
    digits = "".join(c for c in type_.lstrip("*k").partition("e")[0] if c.isdigit())
    bits = int(digits or 0)
    return 8 if bits == 1 else bits


def roots_of(module: str, path: str, cwd: str = "", argv: Sequence[str] = ()) -> tuple[str, ...]:
    """Folders that made ``import module`` find `path`: a script's own, the package's parent, the working directory."""
    script = next((Path(cwd, word).parent for word in argv if word.endswith(".py")), None)
    steps = 0 if module == "__main__" else module.count(".") + (Path(path).name == "__init__.py")
    package = Path(path).resolve().parents[steps]
    found = [script, package, Path(cwd) if cwd else None]
    installed = {Path(entry).resolve() for entry in sys.path if "site-packages" in entry}
    folders = [each.resolve() for each in found if each is not None]
    return tuple(dict.fromkeys(str(each) for each in folders if each not in installed))


def spell_class(klass: ArgumentClass) -> list[object]:
    """JSON form that the worker reads."""
    return [klass.type, klass.spec, klass.folded, [spell_class(each) for each in klass.elements]]


def comparison_of(kernel: KernelSource, before: Form, after: Form, target: str) -> Mapping[str, object]:
    """What a worker is sent to show the lines in which the code of two forms differs."""
    second = job_of(kernel, after, target)
    return {
        **job_of(kernel, before, target),
        "after": {name: second[name] for name in ("arguments", "options")},
    }


def timing_of(
    kernel: KernelSource, before: Form, after: Form, target: str, launch: Launch
) -> Mapping[str, object]:
    """What a worker with a device is sent to time two forms."""
    launched = {"grid": launch.grid, "values": launch.values}
    return {**comparison_of(kernel, before, after, target), "launch": launched}


def job_of(kernel: KernelSource, form: Form, target: str) -> Mapping[str, object]:
    """What a worker is sent to compile a form."""
    import json

    return {
        "kernel": {"name": kernel.name, "module": kernel.module, "path": kernel.path, "roots": kernel.roots},
        "names": [each.name for each in kernel.parameters],
        "arguments": [spell_class(each) for each in form.arguments],
        "options": {name: json.loads(text) for name, text in form.options},
        "target": target,
    }
