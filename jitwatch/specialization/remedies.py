"""What each opt-out does to the class of an argument."""

from __future__ import annotations

import enum
from collections.abc import Collection

from jitwatch.specialization.classes import BOOLEANS, FOLDED, ArgumentClass, Parameter, fold, unfold
from jitwatch.specialization.releases import Traits, integer_class, integer_type


class Remedy(enum.Enum):
    """A change to a kernel's declaration that merges classes of one argument, or spares tuning for its values."""

    ALIGNMENT = "do_not_specialize_on_alignment"
    """Divisibility by 16 no longer matters; a 1 still does."""
    SPECIALIZE = "do_not_specialize"
    """No value matters; the type still does, and None."""
    ANNOTATE = "annotate"
    """A fixed type and ``do_not_specialize``: one class for every integer."""
    RUNTIME = "runtime_argument"
    """A constexpr made a run-time argument, and listed in ``do_not_specialize``."""
    RUNTIME_SPECIALIZED = "specialized_runtime_argument"
    """A constexpr made a run-time argument that Triton still specialises on 1 and on multiples of 16."""
    DROP = "drop"
    """An argument that nothing reads, taken out."""
    LEAVE_KEY = "leave_autotune_key"
    """The autotuner's key does not name it: no class changes."""


def sensible_remedies(
    parameter: Parameter, classes: Collection[ArgumentClass], traits: Traits
) -> tuple[Remedy, ...]:
    """Remedies that can be written for this argument, weakest first, given the classes it was seen in.

    None for tuples (Triton ignores the lists for their elements), floats and descriptors.
    """
    if parameter.constexpr:
        return (Remedy.RUNTIME,) if sum(map(_is_int_constant, classes)) > 1 else ()
    alignment = traits.alignment_list and not (parameter.no_alignment or parameter.no_specialize)
    remedies = [Remedy.ALIGNMENT] if alignment else []
    values = [each for each in classes if not each.is_none]
    if all(each.is_pointer for each in values):
        # do_not_specialize is no more than this for a pointer.
        return tuple(remedies)
    if any(not (each.is_integer or each.type in BOOLEANS) for each in values):
        return ()
    if not parameter.no_specialize:
        remedies.append(Remedy.SPECIALIZE)
    if parameter.annotation is None and fixed_type(classes):
        remedies.append(Remedy.ANNOTATE)
    return tuple(remedies)


def fixed_type(classes: Collection[ArgumentClass]) -> str | None:
    """The integer type that holds every value seen, or None: a None, a bool, or i64 beside u64 was seen."""
    if not all(each.is_integer for each in classes):
        return None
    types = {"i32" if each.type == FOLDED else each.type for each in classes}
    if len(types) == 1:
        return types.pop()
    return "i64" if types == {"i32", "i64"} else None


def coarsen(
    klass: ArgumentClass, remedy: Remedy, parameter: Parameter, annotation: str | None = None
) -> ArgumentClass:
    """Class the same value falls into once the remedy is applied; `annotation`: the type ANNOTATE writes."""
    if remedy is Remedy.DROP:
        return fold(None)
    if remedy in (Remedy.RUNTIME, Remedy.RUNTIME_SPECIALIZED):
        if not (parameter.constexpr and _is_int_constant(klass)):
            return klass
        value = unfold(klass.folded or "")
        if remedy is Remedy.RUNTIME:
            return ArgumentClass(integer_type(value))
        return integer_class(value, Parameter(parameter.name))
    if remedy is Remedy.LEAVE_KEY or parameter.constexpr or klass.is_none or klass.elements:
        return klass
    if remedy is Remedy.ALIGNMENT:
        return klass._replace(spec=klass.spec.replace("D", "")) if klass.spec else klass
    if remedy is Remedy.ANNOTATE and annotation and klass.is_integer:
        return ArgumentClass(annotation)
    if klass.type == FOLDED and klass.is_integer:
        return ArgumentClass("i32")
    return klass if klass.type == FOLDED else klass._replace(spec=None)


def _is_int_constant(klass: ArgumentClass) -> bool:
    if klass.type != FOLDED or klass.folded is None:
        return False
    value = unfold(klass.folded)
    return isinstance(value, int) and not isinstance(value, bool)
