"""Classes, their words, what opt-outs do to them, and differences between variants in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jitwatch.specialization import (
    ArgumentClass,
    Parameter,
    Remedy,
    Subject,
    Variant,
    classify,
    coarsen,
    compare,
    read_class,
    sensible_remedies,
    traits_of,
)
from jitwatch.specialization.releases import RELEASES
from jitwatch.specialization.variants import distance, read_options
from tests.made_runs import tensor

PLAIN = Parameter("n")
CONSTEXPR = Parameter("BLOCK", constexpr=True)
LATEST = traits_of("3.9.0")

releases = st.sampled_from(sorted(set(RELEASES.values()), key=repr))
integers = st.one_of(st.integers(-(2**63), 2**64 - 1), st.integers(-40, 40))
i32s = st.integers(-(2**31), 2**31 - 1)
anything = st.one_of(
    integers, st.booleans(), st.floats(allow_nan=False), st.none(), st.integers(0, 15).map(tensor)
)


def classes_of(*values: Any, parameter: Parameter = PLAIN) -> list[ArgumentClass]:
    return [classify(value, parameter, LATEST) for value in values]


def variant(*values: Any, parameters: tuple[Parameter, ...] = (), **more: Any) -> Variant:
    declared = parameters or tuple(Parameter(f"a{i}") for i in range(len(values)))
    arguments = tuple(classify(v, p, LATEST) for v, p in zip(values, declared, strict=True))
    options = read_options(more.pop("options", {}))
    return Variant(0, "0", arguments, options)._replace(**more)


def words(
    before: tuple[Any, ...], after: tuple[Any, ...], *parameters: Parameter, **options: Any
) -> list[str]:
    a, b = variant(*before, parameters=parameters), variant(*after, parameters=parameters, **options)
    return [change.words() for change in compare(a, b, parameters, before, after)]


# -- what an opt-out does to a class is what the binder does to the value -----------------------------------------


@given(value=anything, traits=releases)
def test_do_not_specialize_merges_as_the_binder_would(value: Any, traits: Any) -> None:
    listed = replace(PLAIN, no_specialize=True)
    assert coarsen(classify(value, PLAIN, traits), Remedy.SPECIALIZE, PLAIN) == classify(
        value, listed, traits
    )


@given(value=anything, traits=releases.filter(lambda traits: traits.alignment_list))
def test_do_not_specialize_on_alignment_merges_as_the_binder_would(value: Any, traits: Any) -> None:
    listed = replace(PLAIN, no_alignment=True)
    assert coarsen(classify(value, PLAIN, traits), Remedy.ALIGNMENT, PLAIN) == classify(value, listed, traits)


@given(value=integers, traits=releases)
def test_a_fixed_type_merges_as_the_binder_would(value: int, traits: Any) -> None:
    declared = Parameter("n", annotation="i64", no_specialize=True)
    coarse = coarsen(classify(value, PLAIN, traits), Remedy.ANNOTATE, PLAIN, "i64")
    assert coarse == classify(value, declared, traits)


@given(value=integers, traits=releases)
def test_a_constexpr_made_a_specialised_argument_has_the_binders_class(value: int, traits: Any) -> None:
    constant, argument = Parameter("n", constexpr=True), Parameter("n")
    merged = coarsen(classify(value, constant, traits), Remedy.RUNTIME_SPECIALIZED, constant)
    assert merged == classify(value, argument, traits)


@given(value=integers, traits=releases)
def test_a_constexpr_made_an_argument_merges_as_the_binder_would(value: int, traits: Any) -> None:
    declared = Parameter("BLOCK", no_specialize=True)
    coarse = coarsen(classify(value, CONSTEXPR, traits), Remedy.RUNTIME, CONSTEXPR)
    assert coarse == classify(value, declared, traits)


# -- remedies that make no sense are not offered ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        (PLAIN, (1.5, 2.5)),
        (PLAIN, ([1, 2], [3, 16])),
        (PLAIN, (3, tensor())),
        (CONSTEXPR, ("a", "b")),
        (CONSTEXPR, (True, False)),
        (CONSTEXPR, (None, 64)),
        (Parameter("x", no_alignment=True), (tensor(), tensor(8))),
    ],
)
def test_no_remedy_for(parameter: Parameter, values: tuple[Any, ...]) -> None:
    assert sensible_remedies(parameter, classes_of(*values, parameter=parameter), LATEST) == ()


def test_a_pointer_is_offered_its_alignment_only() -> None:
    assert sensible_remedies(Parameter("x"), classes_of(tensor(), tensor(8)), LATEST) == (Remedy.ALIGNMENT,)


def test_releases_without_the_alignment_list_are_not_told_to_use_it() -> None:
    offered = sensible_remedies(PLAIN, classes_of(3, 16), traits_of("3.1.0"))
    assert offered == (Remedy.SPECIALIZE, Remedy.ANNOTATE)


def test_a_none_among_the_integers_rules_out_a_fixed_type() -> None:
    assert Remedy.ANNOTATE not in sensible_remedies(PLAIN, classes_of(3, None), LATEST)


def test_no_integer_type_holds_i64_and_u64() -> None:
    assert Remedy.ANNOTATE not in sensible_remedies(PLAIN, classes_of(2**40, 2**63), LATEST)


# -- words --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "parameter", "word"),
    [
        (1, PLAIN, "=1"),
        (1, CONSTEXPR, "1"),
        (48, PLAIN, "÷16"),
        (0, PLAIN, "÷16"),
        (-16, PLAIN, "÷16"),
        (62, PLAIN, "other"),
        (2**40, PLAIN, "i64 ÷16"),
        (2**63 + 1, PLAIN, "u64 other"),
        (62, Parameter("n", no_specialize=True), "any"),
        (1, Parameter("n", annotation="i32"), "=1"),
        (1.5, PLAIN, "fp32"),
        (True, PLAIN, "bool"),
        (None, PLAIN, "None"),
        (tensor(), PLAIN, "aligned"),
        (tensor(4), PLAIN, "unaligned"),
        ("relu", CONSTEXPR, "relu"),
        ([48, 1, 3], PLAIN, "(÷16, =1, other)"),
        ([48], PLAIN, "(÷16,)"),
        ({"descriptor": "float16", "shape": [64, 64], "block": [16, 16]}, PLAIN, "descriptor fp16[16, 16]"),
    ],
)
def test_a_class_has_one_word(value: Any, parameter: Parameter, word: str) -> None:
    assert classify(value, parameter, LATEST).word(parameter) == word


def test_amd_pointers_say_when_they_are_small() -> None:
    small = classify(tensor(), PLAIN, LATEST, "hip")
    large = classify(tensor(4, shape=(2**31,)), PLAIN, LATEST, "hip")
    assert (small.word(), large.word()) == ("aligned ≤2 GiB", "unaligned")
    view = classify({**tensor(), "bytes": 2**32}, PLAIN, LATEST, "hip")
    assert view.word() == "aligned", "its storage is what counts"


@pytest.mark.parametrize(
    ("before", "after", "parameter", "expected"),
    [
        (48, 62, PLAIN, ["n: 48 (÷16) → 62 (other)"]),
        (48, 64, PLAIN, []),
        (5, 2**40, PLAIN, ["n: 5 (i32 other) → 1099511627776 (i64 ÷16)"]),
        (64, 128, CONSTEXPR, ["BLOCK: 64 → 128 (constexpr)"]),
        (1, True, CONSTEXPR, ["BLOCK: 1 → True (constexpr)"]),
        (tensor(), tensor(8), PLAIN, ["n: aligned → unaligned (address % 16 = 8)"]),
        (tensor(), tensor(dtype="float32"), PLAIN, ["n: *bf16 aligned → *fp32 aligned"]),
        (tensor(), None, PLAIN, ["n: aligned → None"]),
        ([1, 48, 7], [1, 7, 48], PLAIN, ["n[1]: 48 (÷16) → 7 (other)", "n[2]: 7 (other) → 48 (÷16)"]),
        ([1], [1, 1], PLAIN, ["n: (1,) (=1,) → (1, 1) (=1, =1)"]),
    ],
)
def test_a_difference_is_told_in_words(
    before: Any, after: Any, parameter: Parameter, expected: list[str]
) -> None:
    assert words((before,), (after,), parameter) == expected


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ({}, {}, []),
        ({"num_warps": 4}, {"num_warps": 8}, ["num_warps: 4 → 8"]),
        ({}, {"num_warps": 8}, ["num_warps: 4 (default) → 8"]),
        ({}, {"num_warps": 4}, ["no options → num_warps=4 (same options, spelled differently)"]),
        ({}, {"waves_per_eu": 2}, ["waves_per_eu: not passed → 2"]),
        (
            {"num_warps": 8, "num_stages": 2},
            {"num_stages": 2, "num_warps": 8},
            ["num_warps=8, num_stages=2 → num_stages=2, num_warps=8 (same options, spelled differently)"],
        ),
    ],
)
def test_options_differ_by_value_or_only_by_spelling(a: Any, b: Any, expected: list[str]) -> None:
    changes = compare(variant(options=a), variant(options=b), (), (), ())
    assert [change.words() for change in changes] == expected


def test_options_that_triton_told_to_be_equal_are_only_spelled_differently() -> None:
    a = variant(options={}, effective="e")
    b = variant(options={"num_stages": 2}, effective="e")  # the default of AMD's backend
    assert [change.subject for change in compare(a, b, (), (), ())] == [Subject.SPELLING]
    assert distance(a, b) == 1


def test_options_that_triton_told_to_differ_are_never_called_spelling() -> None:
    a = variant(options={}, effective="e")
    b = variant(options={"num_stages": 3}, effective="f")
    assert [change.subject for change in compare(a, b, (), (), ())] == [Subject.OPTION]


def test_the_device_and_the_function_object_are_differences() -> None:
    changes = compare(variant(), variant(device="1", function=1), (), (), ())
    assert [change.words() for change in changes] == [
        "device 0 → 1",
        "decorated again (a new function object)",
    ]


# -- normal form --------------------------------------------------------------------------------------------------


def test_constants_that_python_calls_equal_are_told_apart() -> None:
    assert len({read_class("constexpr", value) for value in (1, True, 1.0, "1")}) == 4


@pytest.mark.parametrize("spec", ["X", 7, ["D"]])
def test_what_is_no_class_is_refused(spec: Any) -> None:
    with pytest.raises(ValueError, match="not an argument class"):
        read_class("i32", spec)


@pytest.mark.parametrize(
    ("version", "release"),
    [("3.4.0+git1a2b", (3, 4)), ("3.12.1", (3, 9)), ("2.1.0", (3, 0)), ("unknown", (3, 9)), ("", (3, 9))],
)
def test_traits_come_from_the_nearest_release_known(version: str, release: tuple[int, int]) -> None:
    assert traits_of(version) is RELEASES[release]
