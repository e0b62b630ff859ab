from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robocompiler.backend.identifiers import (
    KEYWORDS,
    RESERVED,
    c_identifier,
    is_c_identifier,
    macro,
    original_name,
    unique_identifiers,
    unique_macros,
)
from robocompiler.errors import CompileError

# Few letters, so that names that could meet are likely; X, digits of escapes and separators above all.
NAMES = st.text("aX_2DdF5-./ :", min_size=1, max_size=8)
WIDE_NAMES = st.text("abcxyzABCXYZ0123456789_-./ :", min_size=1, max_size=20)


@given(st.one_of(NAMES, WIDE_NAMES, st.sampled_from(sorted(RESERVED))))
def test_the_map_can_be_undone_and_gives_proper_identifiers(name: str) -> None:
    identifier = c_identifier(name)
    assert original_name(identifier) == name  # a map with an inverse is injective
    assert is_c_identifier(identifier)
    assert identifier not in RESERVED
    assert identifier[0].isalpha()
    assert not identifier.endswith("_")
    assert "__" not in f"robot_{identifier}_{identifier}"


@given(st.text("aX_25FD", min_size=1, max_size=8))
def test_what_is_no_identifier_of_a_name_is_refused(text: str) -> None:
    try:
        name = original_name(text)
    except CompileError:
        return
    assert c_identifier(name) == text


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("leg_0_length", "leg_0_length"),
        ("j_ga", "j_ga"),
        ("leg-1.length", "leg_X2D1_X2Elength"),
        ("left foot/sole", "left_X20foot_X2Fsole"),
        ("a::b", "a_X3A_X3Ab"),
        ("0leg", "X0leg"),
        ("X0leg", "XX0leg"),
        ("_hidden", "X_hidden"),
        ("a__b", "a_X5F_b"),
        ("a_", "a_X5F"),
        ("int", "Xint"),
        ("class", "Xclass"),
        ("sin", "Xsin"),
        ("gamma", "Xgamma"),
    ],
)
def test_examples(name: str, identifier: str) -> None:
    assert c_identifier(name) == identifier


@pytest.mark.parametrize("name", ["", "a\nb", "ä", "a*b", "a\x00", "a/*", "$x", "٣"])
def test_other_characters_are_refused(name: str) -> None:
    with pytest.raises(CompileError, match=r"empty|cannot be mapped"):
        c_identifier(name)


def test_c_and_cpp_keywords_are_known() -> None:
    assert {"restrict", "inline", "int", "template", "and", "xor_eq", "constexpr", "char8_t"} <= KEYWORDS
    assert not is_c_identifier("while")
    assert not is_c_identifier("a__b")
    assert not is_c_identifier("2a")
    assert is_c_identifier("STEWART_NQ")


@given(st.lists(st.text("aAbB_-1 2", min_size=1, max_size=5), max_size=12))
def test_sets_of_names_stay_apart_whatever_their_order(names: list[str]) -> None:
    macros = unique_macros(names)
    assert len(set(macros.values())) == len(set(names))
    assert list(macros) == list(dict.fromkeys(names))
    assert unique_macros(sorted(names, reverse=True)) == macros
    assert all(value == value.upper() and is_c_identifier(f"R_{value}") for value in macros.values())
    assert unique_identifiers(names) == {name: c_identifier(name) for name in names}


def test_macros_of_names_that_differ_in_case_only() -> None:
    assert macro("leg-1") == "LEG_X2D1"
    assert unique_macros(["leg", "Leg", "leg_2"]) == {"leg": "LEG_3", "Leg": "LEG", "leg_2": "LEG_2"}
