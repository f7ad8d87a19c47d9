"""Hands Triton's compiler a signature instead of arguments: exactly what a launch with such arguments would compile.

An argument that is listed in ``do_not_specialize`` reaches the compiler without an attribute, one that is a
run-time argument instead of a constexpr in the signature instead of the constants. So the form after a remedy
needs no edited source. Triton's own disk cache answers for what was compiled before, by the run or by us; its key
has the source, the signature, the constants, the options, the target and the release.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jitwatch.specialization.classes import FOLDED, TUPLE, ArgumentClass
from jitwatch.verify.code.measure import instructions, measure
from jitwatch.verify.figures import Figures
from jitwatch.verify.worker.constants import rebuild

ATTRIBUTES = {"D": ["tt.divisibility", 16], "S": ["tt.pointer_range", 32]}
ASSEMBLY = {"cuda": ("ptx", "cubin"), "hip": ("amdgcn", "hsaco")}
"""Names of the text and of the binary that a backend produces."""
Path = tuple[int, ...]


def compile_form(
    function: Any, arguments: Sequence[ArgumentClass], options: Mapping[str, Any], target: Any
) -> Any:
    """Compile a JITFunction for arguments of these classes; returns Triton's CompiledKernel.

    `target` is Triton's GPUTarget. Raises what the compiler raises, and Unbuildable.
    """
    import triton
    from triton.compiler import ASTSource, make_backend

    passed = dict(options)
    if getattr(function, "debug", None):
        passed.setdefault("debug", True)
    if hasattr(function, "_pack_args"):  # 3.5 and later: its own steps from a binder's result to the source
        specialization = [_specialization(each, function) for each in arguments]
        values = dict(zip(function.arg_names, (_value(each, function) for each in arguments), strict=True))
        backend = make_backend(target)
        settled, *packed = function._pack_args(backend, passed, values, specialization, None)
        return triton.compile(ASTSource(function, *packed), target=target, options=vars(settled))
    return triton.compile(_source(ASTSource, function, arguments), target=target, options=passed)


def _specialization(klass: ArgumentClass, function: Any) -> tuple[Any, Any]:
    """What the binder says of an argument."""
    if klass.type == TUPLE:
        pairs = [_specialization(each, function) for each in klass.elements]
        return tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
    if klass.type == FOLDED:
        return FOLDED, _constant(klass, function)
    # "1": a 1 whose type an annotation fixes. It has a key of its own and no attribute.
    return klass.type, None if klass.spec == "1" else klass.spec


def _value(klass: ArgumentClass, function: Any) -> Any:
    """The bound argument, of which the compiler sees constants only."""
    if klass.type == TUPLE:
        return tuple(_value(each, function) for each in klass.elements)
    return _constant(klass, function) if klass.type == FOLDED else None


def instructions_of(compiled: Any, backend: str) -> Sequence[str]:
    """The instructions of what ``compile_form`` returned."""
    return instructions(backend, compiled.asm[ASSEMBLY[backend][0]])


def figures_of(compiled: Any, backend: str) -> Figures:
    """Figures of what ``compile_form`` returned."""
    text, binary = ASSEMBLY[backend]
    metadata = compiled.metadata
    return measure(
        backend,
        compiled.asm[text],
        compiled.asm.get(binary),
        shared=metadata.shared,
        warps=metadata.num_warps,
    )


def _source(ast_source: Any, function: Any, arguments: Sequence[ArgumentClass]) -> Any:
    names = list(function.arg_names)
    constants = {path: _constant(leaf, function) for path, leaf in _leaves(arguments) if leaf.type == FOLDED}
    letters = {
        path: leaf.spec for path, leaf in _leaves(arguments) if leaf.type != FOLDED and leaf.spec is not None
    }
    if "constants" in ast_source.__init__.__code__.co_varnames:
        return _source_before_3_3(ast_source, function, arguments, constants, letters)
    signature = {name: _spelled(each) for name, each in zip(names, arguments, strict=True)}
    # "1": a 1 whose type an annotation fixes. It has a key of its own and no attribute.
    attributes = {
        path: [ATTRIBUTES[letter] for letter in spec] for path, spec in letters.items() if spec != "1"
    }
    return ast_source(function, signature, constants, attributes)


def _source_before_3_3(
    ast_source: Any, function: Any, arguments: Sequence[ArgumentClass], constants: Any, letters: Any
) -> Any:
    """3.0 to 3.2: constants by name, no entry for them in the signature, one descriptor of attributes."""
    from triton.backends.compiler import AttrsDescriptor

    names = list(function.arg_names)
    divisible = [path[0] for path, spec in letters.items() if "D" in spec]
    ones = [i for i, each in enumerate(arguments) if _is_one(each) and not function.params[i].is_constexpr]
    signature = {
        name: "i32" if i in ones else each.type
        for i, (name, each) in enumerate(zip(names, arguments, strict=True))
        if each.type != FOLDED or i in ones
    }
    if hasattr(AttrsDescriptor, "from_hints"):
        attributes = AttrsDescriptor.from_hints({**dict.fromkeys(divisible, 16), **dict.fromkeys(ones, 1)})
    else:
        attributes = AttrsDescriptor(tuple(divisible), tuple(ones))
    named = {names[path[0]]: value for path, value in constants.items()}
    return ast_source(function, signature, named, attributes)


def _leaves(arguments: Sequence[ArgumentClass], outer: Path = ()) -> Iterator[tuple[Path, ArgumentClass]]:
    for i, each in enumerate(arguments):
        if each.type == TUPLE:
            yield from _leaves(each.elements, (*outer, i))
        else:
            yield (*outer, i), each


def _spelled(klass: ArgumentClass) -> Any:
    return tuple(map(_spelled, klass.elements)) if klass.type == TUPLE else klass.type


def _constant(klass: ArgumentClass, function: Any) -> Any:
    return rebuild(json.loads(klass.folded or "null"), function)


def _is_one(klass: ArgumentClass) -> bool:
    return klass.type == FOLDED and klass.folded == "1"
