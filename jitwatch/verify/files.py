"""Requests for ``FILE::KERNEL``, without a run: the kernel is read from its source, its classes given or guessed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from jitwatch.errors import JitwatchError
from jitwatch.source import analyse_module, link
from jitwatch.source.model import Kernel, Project
from jitwatch.specialization import ArgumentClass, Parameter, Remedy, sensible_remedies, traits_of
from jitwatch.specialization.classes import fold
from jitwatch.specialization.remedies import fixed_type
from jitwatch.verify.evidence import read_uses
from jitwatch.verify.pool import Pool, Progress
from jitwatch.verify.requests import Change, Form, KernelSource, Request, job_of, roots_of
from jitwatch.verify.signatures import GUESSES, INTEGER_ANNOTATION, Guess, guess_classes, parse_signature
from jitwatch.verify.uses import Uses
from jitwatch.verify.wanted import Wanted


def find_kernel(spelled: str) -> tuple[Project, Kernel]:
    """The kernel that ``FILE::KERNEL`` names, and its linked file. Raises JitwatchError."""
    path, _, name = spelled.rpartition("::")
    try:
        module = analyse_module(path, Path(path).read_bytes())
    except OSError as error:
        raise JitwatchError(f"cannot read {path}: {error.strerror}") from error
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise JitwatchError(f"cannot parse {path}: {error}") from error
    project = link([module])
    kernels = project.kernels[path]
    found = [kernel for kernel in kernels if name in (kernel.qualname, kernel.name)]
    if not found:
        known = ", ".join(kernel.qualname for kernel in kernels) or "no kernel at all"
        raise JitwatchError(f"{path} has no kernel {name!r}: it has {known}")
    return project, found[0]


def requests_of_kernel(
    project: Project,
    kernel: Kernel,
    wanted: Wanted,
    target: str,
    *,
    signature: str | None = None,
    source: KernelSource | None = None,
    pool: Pool | None = None,
    progress: Progress | None = None,
) -> list[Request]:
    """Requests for one kernel from source: every specialised integer, or what `wanted` names.

    `source`: where to import it from, if not from its file. What `signature` leaves out is guessed, and the guess
    tried on the compiler, which is what `pool` is for.
    """
    source = source or kernel_source(kernel)
    given = parse_signature(signature or "", source.parameters)
    uses = read_uses(kernel)
    bases = [_base(project, kernel, source, given, guess, uses) for guess in GUESSES]
    form = _first_that_compiles(source, bases, target, pool or Pool(), progress)
    assumed = len(given) < len(source.parameters)
    return [
        Request(
            source,
            change,
            _forms(source, form, change),
            assumed=assumed,
            doubted=assumed and bool(kernel.parameters[change.position].contiguity),
        )
        for change in _changes(source, form, wanted)
    ]


def kernel_source(kernel: Kernel) -> KernelSource:
    """Where to import a kernel from, and its parameters as Triton will see them declared."""
    path = str(Path(kernel.path).resolve())
    module = module_name(Path(path))
    return KernelSource(
        kernel.qualname if kernel.enclosing is None else f"{kernel.enclosing}.<locals>.{kernel.name}",
        module,
        path,
        kernel.span.line,
        roots_of(module, path, str(Path.cwd())),
        tuple(_parameters(kernel)),
    )


def module_name(path: Path) -> str:
    """Dotted name of a file: its folders belong to it as long as they are packages."""
    names = [] if path.stem == "__init__" else [path.stem]
    folder = path.parent
    while (folder / "__init__.py").exists():
        names.insert(0, folder.name)
        folder = folder.parent
    return ".".join(names) or path.parent.name


def _parameters(kernel: Kernel) -> Iterator[Parameter]:
    unspecialised = {each.name for each in kernel.listed("do_not_specialize")}
    unaligned = {each.name for each in kernel.listed("do_not_specialize_on_alignment")}
    for each in kernel.parameters:
        annotation = INTEGER_ANNOTATION.match(each.annotation or "")
        kind = None
        if annotation:
            kind = ("u" if "uint" in (each.annotation or "") else "i") + annotation[1]
        yield Parameter(
            each.name, each.is_constexpr, each.name in unspecialised, each.name in unaligned, kind
        )


def _base(
    project: Project,
    kernel: Kernel,
    source: KernelSource,
    given: Mapping[str, ArgumentClass],
    guess: Guess,
    uses: Uses,
) -> Form:
    guessed = guess_classes(kernel, source.parameters, project.launches_of(kernel), guess, uses)
    return Form(tuple({**guessed, **given}[each.name] for each in source.parameters))


def _first_that_compiles(
    source: KernelSource, forms: Sequence[Form], target: str, pool: Pool, progress: Progress | None
) -> Form:
    """One compile at a time: the first guess is right for most kernels."""
    for form in dict.fromkeys(forms):
        job = job_of(source, form, target)
        pool.compile([job], progress)
        answer = pool.answer(job)
        if "figures" in answer or answer.get("stage") != "compile":
            return form
    return forms[0]


def _changes(source: KernelSource, base: Form, wanted: Wanted) -> Iterator[Change]:
    for i, parameter in enumerate(source.parameters):
        classes = _classes(parameter, base.arguments[i])
        sensible = sensible_remedies(parameter, classes, traits_of(""))
        if wanted.remedies:
            remedies = wanted.of(parameter.name, sensible)
        else:
            # The others are weaker (alignment) or compile to the same (annotate).
            remedies = [each for each in sensible if each is Remedy.SPECIALIZE]
        for remedy in remedies:
            yield Change(i, remedy, fixed_type(classes) if remedy is Remedy.ANNOTATE else None)


def _forms(source: KernelSource, base: Form, change: Change) -> tuple[Form, ...]:
    """The base form with each class of one argument that launches will meet."""
    arguments, position = list(base.arguments), change.position
    forms: dict[Form, None] = {}
    classes = _classes(source.parameters[position], base.arguments[position])
    if change.remedy is Remedy.RUNTIME_SPECIALIZED and len(classes) > 1:
        # A constant 8 more is known to be divisible by 8, which as an argument it is not.
        classes.append(fold(int(classes[0].folded or 0) + 8))
    for klass in classes:
        arguments[position] = klass
        forms[Form(tuple(arguments), base.options)] = None
    return tuple(forms)


def _classes(parameter: Parameter, klass: ArgumentClass) -> list[ArgumentClass]:
    """The class an argument has, and those that its other values fall into.

    A folded 1 only where the base has it: what a kernel's launches never pass must not decide.
    """
    if parameter.constexpr:
        value = None if klass.folded is None else klass.folded
        return [klass, fold(int(value) * 2)] if value and value.isdigit() else [klass]
    if not (klass.is_integer or klass.is_pointer) or (klass.spec is None and klass.folded is None):
        return [klass]
    plain = klass._replace(spec="") if klass.folded is None else ArgumentClass("i32", "")
    aligned = plain._replace(spec="D")
    return list(dict.fromkeys([klass, aligned, plain]))
