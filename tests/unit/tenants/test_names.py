import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from eai.tenants.names import Name, Slug

names = TypeAdapter(Name)
slugs = TypeAdapter(Slug)


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("Équipe Données", "Équipe Données"),
        ("E\u0301quipe", "Équipe"),
        ("  padded\u00a0", "padded"),
        ("日本語 한국어", "日本語 한국어"),
        ("👩‍🚀 crew", "👩‍🚀 crew"),
        ("'; DROP TABLE eai.principals; --", "'; DROP TABLE eai.principals; --"),
        ("x" * 200, "x" * 200),
    ],
)
def test_a_name_is_kept_as_people_read_it(written: str, kept: str) -> None:
    assert names.validate_python(written) == kept


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("", "string_too_short"),
        (" \u2003 ", "string_too_short"),
        ("x" * 201, "string_too_long"),
        ("x" * 100_000, "string_too_long"),
        ("a\x00b", "control_characters"),
        ("line\nbreak", "control_characters"),
        ("\x1b[31mred", "control_characters"),
        ("para\u2029graph", "control_characters"),
        ("right\u202eto left", "control_characters"),
        ("tag\U000e0041", "control_characters"),
        ("half \ud800", "control_characters"),
        (7, "string_type"),
    ],
)
def test_a_name_that_deceives_or_overflows_is_refused(written: object, code: str) -> None:
    with pytest.raises(ValidationError) as refused:
        names.validate_python(written)
    assert [error["type"] for error in refused.value.errors()] == [code]


@given(st.text(max_size=300))
def test_an_accepted_name_is_stable_and_holds_no_control_character(text: str) -> None:
    try:
        name = names.validate_python(text)
    except ValidationError:
        return
    assert names.validate_python(name) == name
    assert unicodedata.is_normalized("NFC", name)
    assert not any(unicodedata.category(character).startswith("Cc") for character in name)


@pytest.mark.parametrize("slug", ["a", "acme", "acme-2", "7", "x" * 63])
def test_a_slug_is_plain(slug: str) -> None:
    assert slugs.validate_python(slug) == slug


@pytest.mark.parametrize(
    "slug", ["", "-a", "a-", "Acme", "a_b", "a b", "é", "a\n", "x" * 64, "٣", "a/../b", "'--"]
)
def test_any_other_slug_is_refused(slug: str) -> None:
    with pytest.raises(ValidationError):
        slugs.validate_python(slug)
