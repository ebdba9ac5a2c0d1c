import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eai.api.errors import MalformedJson
from eai.api.json_body import parse_json
from eai.kernel.errors import InvalidInput

_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
)
_VALUES = st.recursive(_SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text("abc"), inner))


@given(_VALUES)
def test_ordinary_json_is_read_as_it_was_written(value: Any) -> None:
    assert parse_json(json.dumps(value).encode()) == value
    assert parse_json(json.dumps(value, ensure_ascii=False).encode()) == value


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"{", "syntax"),
        (b"", "syntax"),
        (b"{'a': 1}", "syntax"),
        (b'{"a": 1} x', "syntax"),
        (b"\xef\xbb\xbf{}", "syntax"),
        (b'{"a": "\xff"}', "encoding"),
        (b'{"a": 1, "a": 2}', "duplicate_key"),
        (b'[{"b": {"a": 1, "\\u0061": 2}}]', "duplicate_key"),
        (b'{"a": NaN}', "not_a_number"),
        (b'{"a": -Infinity}', "not_a_number"),
        (b'{"a": 1e999}', "number_out_of_range"),
        (b'{"a": 9223372036854775808}', "number_out_of_range"),
        (b'{"a": ' + b"9" * 100_000 + b"}", "number_out_of_range"),
        (b"[" * 20_000, "too_deep"),
        (b'{"a":' * 20_000, "too_deep"),
        (b"[" * 100_000, "too_many_values"),
        (b"[" * 65 + b"]" * 65, "too_deep"),
        (b"[" + b"1," * 60_000 + b"1]", "too_many_values"),
        (b"[" + b"[]," * 60_000 + b"1]", "too_many_values"),
        (b'["' + b'","' * 60_000 + b'"]', "too_many_values"),
        (b"{" + b",".join(b'"%d":1' % n for n in range(60_000)) + b"}", "too_many_values"),
    ],
)
def test_json_with_two_meanings_or_a_cost_is_refused(body: bytes, reason: str) -> None:
    with pytest.raises(MalformedJson) as caught:
        parse_json(body)
    assert caught.value.details == {"reason": reason}


def test_64_levels_are_read() -> None:
    value = parse_json(b"[" * 64 + b"1" + b"]" * 64)
    for _ in range(64):
        (value,) = value
    assert value == 1


def test_the_longest_list_of_ids_and_any_text_are_read() -> None:
    ids = [f"00000000-0000-4000-8000-{number:012}" for number in range(10_000)]
    assert parse_json(json.dumps({"members": ids}).encode())["members"] == ids
    text = 'Commas, [brackets] and {braces}, "quoted" \\ too. ' * 20_000
    assert parse_json(json.dumps({"content": text}).encode())["content"] == text


@pytest.mark.parametrize("body", [b'"' + b"a" * 5_000_000, b'"\\' * 2_000_000, b'["' + b"," * 5_000_000])
def test_a_string_without_an_end_is_looked_at_once(body: bytes) -> None:
    with pytest.raises(MalformedJson):
        parse_json(body)


def test_a_wide_body_is_not_a_deep_one() -> None:
    assert len(parse_json(b"[" + b"[]," * 999 + b"[]]")) == 1000


def test_text_that_cannot_be_stored_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_json(b'{"title": "a\\u0000b", "readers": ["ok", "\\ud800"]}')
    faults = caught.value.details["fields"]
    assert [(fault["path"], fault["code"]) for fault in faults] == [
        ("title", "string_nul"),
        ("readers.1", "string_surrogate"),
    ]


def test_of_many_faults_some_are_told() -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_json(b'["' + b'\\u0000","' * 10_000 + b'"]')
    faults = caught.value.details["fields"]
    assert isinstance(faults, list)
    assert len(faults) == 50


def test_a_long_name_is_not_repeated_for_each_fault_beneath_it() -> None:
    deep = b'{"' + b"k" * 100_000 + b'":'
    with pytest.raises(InvalidInput) as caught:
        parse_json(deep * 30 + b'["' + b'\\u0000","' * 4_000 + b'"]' + b"}" * 30)
    faults = caught.value.details["fields"]
    assert isinstance(faults, list)
    assert {fault["path"] for fault in faults} == {".".join(["k" * 100] * 5)[:500]}


def test_escaped_pairs_are_whole_characters() -> None:
    assert parse_json(b'{"a": "\\ud83d\\ude00 \\u00e9"}') == {"a": "😀 é"}
