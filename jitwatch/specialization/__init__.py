"""How Triton sorts argument values into classes, how two variants differ, what an opt-out would merge.

Pure data: nothing here imports Triton. The rules are a table by release (``releases``), held against the real
binder of every release by the tests.

``classes``     the class of one argument, and its word
``releases``    which class a value falls into under a given Triton release
``variants``    a compiled version: the classes of all arguments and the options; the difference between two
``remedies``    what each opt-out does to a class
"""

from __future__ import annotations

from jitwatch.specialization.classes import ArgumentClass, Parameter, Value, read_class, show_value
from jitwatch.specialization.releases import Traits, classify, traits_of
from jitwatch.specialization.remedies import Remedy, coarsen, sensible_remedies
from jitwatch.specialization.variants import Change, Subject, Variant, compare

__all__ = [
    "ArgumentClass",
    "Change",
    "Parameter",
    "Remedy",
    "Subject",
    "Traits",
    "Value",
    "Variant",
    "classify",
    "coarsen",
    "compare",
    "read_class",
    "sensible_remedies",
    "show_value",
    "traits_of",
]
