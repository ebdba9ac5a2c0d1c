"""One byte form per value: attack line 93."""

import math

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from eai.kernel.canonical import Canonical, canonical, nfc

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=20).map(nfc)
keys = st.text(st.characters(max_codepoint=127), max_size=8)
integers = st.integers(-(2**53) + 1, 2**53 - 1)
values = st.recursive(
    st.none() | st.booleans() | integers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=20,
)


def test_keys_are_sorted_and_nothing_is_spent_on_space() -> None:
    value = {"b": [1, None, True], "a": {"z": "é", "y": -7}}
    assert canonical(value) == '{"a":{"y":-7,"z":"é"},"b":[1,null,true]}'.encode()


def test_control_characters_are_escaped_in_their_shortest_form() -> None:
    value = {"name": 'line\nbreak\t\x1b[31mred\x1b[0m "quoted" \\ \x00'}
    assert canonical(value) == (rb'{"name":"line\nbreak\t\u001b[31mred\u001b[0m \"quoted\" \\ \u0000"}')


@given(values)
def test_it_is_the_form_of_rfc_8785(value: Canonical) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@given(st.dictionaries(keys, integers, min_size=2, max_size=6))
def test_the_order_in_which_a_mapping_was_filled_does_not_show(value: dict[str, int]) -> None:
    assert canonical(dict(reversed(value.items()))) == canonical(value)


def test_a_tuple_is_spelled_like_a_list() -> None:
    assert canonical({"a": (1, (2,))}) == b'{"a":[1,[2]]}'


@pytest.mark.parametrize("number", [0.0, 1.5, -0.0, 1e300, math.nan, math.inf])
def test_a_float_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="float has no canonical form"):
        canonical({"a": number})  # type: ignore[dict-item]


@pytest.mark.parametrize("number", [2**53, -(2**53), 2**64, 10**30])
def test_an_integer_that_a_reader_of_json_may_round_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match=r"integer beyond 2\*\*53 - 1"):
        canonical([number])


def test_the_largest_exact_integers_are_accepted() -> None:
    assert canonical([2**53 - 1, -(2**53) + 1]) == b"[9007199254740991,-9007199254740991]"


def test_text_that_is_not_in_nfc_is_refused_and_nfc_mends_it() -> None:
    decomposed = "e\u0301"
    with pytest.raises(ValueError, match="not in NFC"):
        canonical({"name": decomposed})
    assert canonical({"name": nfc(decomposed)}) == '{"name":"é"}'.encode()


@pytest.mark.parametrize("key", ["é", "名"])
def test_a_key_that_is_not_ascii_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="key is not an ASCII string"):
        canonical({"a": {key: 1}})


def test_a_key_that_is_no_text_is_refused() -> None:
    with pytest.raises(ValueError, match="key is not an ASCII string"):
        canonical({1: 2})  # type: ignore[dict-item]


@pytest.mark.parametrize("text", ["\ud800", "a\udfff"])
def test_a_lone_surrogate_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        canonical({"a": text})


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes"])
def test_what_json_cannot_say_is_refused(value: object) -> None:
    with pytest.raises(ValueError):
        canonical({"a": value})  # type: ignore[dict-item]
