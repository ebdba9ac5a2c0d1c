from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from eai.retrieval.schemas import Filters, Mode, QueryRequest, comparable

scalars = st.booleans() | st.integers(-5, 5) | st.floats(-5, 5) | st.text(max_size=3)


def accepts(wanted: Any, metadata: dict[str, Any]) -> bool:
    return Filters.model_validate({"metadata": wanted}).accept(metadata)


def test_a_question_alone_has_the_documented_defaults() -> None:
    asked = QueryRequest(query="refund")
    assert (asked.top_k, asked.mode, asked.rerank, asked.min_score) == (5, Mode.HYBRID, False, None)
    assert (asked.filters.metadata, asked.explain, asked.labels.given()) == ({}, False, {})


def test_the_text_of_a_question_is_kept_as_it_was_written() -> None:
    decomposed = "  re\N{COMBINING ACUTE ACCENT}sume\N{COMBINING ACUTE ACCENT}?\n"
    assert QueryRequest(query=decomposed).query == decomposed


@pytest.mark.parametrize("text", ["", " \t\n", "a\0b", "\ud800", "x" * 8_001])
def test_what_is_no_question_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        QueryRequest(query=text)


@given(value=scalars)
def test_a_value_equals_itself(value: Any) -> None:
    assert accepts({"a": value}, {"a": value})
    assert accepts({"a": [value, "another"]}, {"a": value})
    assert not accepts({"a": value}, {})


@given(one=scalars, other=scalars)
def test_values_are_equal_when_json_says_so(one: Any, other: Any) -> None:
    is_same_kind = isinstance(one, bool) == isinstance(other, bool)
    assert accepts({"a": one}, {"a": other}) == (is_same_kind and one == other)


def test_true_is_not_one_and_text_is_no_number() -> None:
    assert not accepts({"a": 1}, {"a": True})
    assert not accepts({"a": "1"}, {"a": 1})
    assert accepts({"a": 1}, {"a": 1.0})


def test_text_compares_whatever_its_composition() -> None:
    assert accepts({"a": "e\N{COMBINING ACUTE ACCENT}"}, {"a": "\N{LATIN SMALL LETTER E WITH ACUTE}"})


def test_every_key_must_match_and_of_a_list_one_member() -> None:
    metadata = {"team": "a", "tags": ["x", "y"], "owner": {"name": "z"}}
    assert accepts({"team": ["a", "b"], "tags": "y"}, metadata)
    assert not accepts({"team": "a", "tags": "z"}, metadata)
    assert not accepts({"owner": "z"}, metadata)


@pytest.mark.parametrize("value", [None, {"a": 1}, [1], float("nan")])
def test_only_scalars_compare(value: Any) -> None:
    assert comparable(value) is None
