from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eai.kernel.ids import BaseId
from eai.knowledge.bases.naming import alias_of, distinct_alias, read_reference

BASE = BaseId(UUID("0123abcd-0000-4000-8000-000000000000"))


@pytest.mark.parametrize(
    ("name", "alias"),
    [
        ("Support", "kb_support"),
        ("support", "kb_support"),
        ("Support Équipe N°2", "kb_support-equipe-n-2"),
        ("hr_policies", "kb_hr_policies"),
        ("a  --  b", "kb_a-b"),
        ("支持", "kb_0123abcd"),
        ("***", "kb_0123abcd"),
        ("x" * 200, "kb_" + "x" * 48),
        ("kb_support", "kb_kb_support"),
    ],
)
def test_an_alias_is_the_slug_of_the_name(name: str, alias: str) -> None:
    assert alias_of(name, BASE) == alias


def test_the_second_alias_carries_part_of_the_id() -> None:
    assert distinct_alias("Support", BASE) == "kb_support-0123abcd"


@given(st.text(max_size=300))
def test_every_alias_can_be_read_back(name: str) -> None:
    for alias in (alias_of(name, BASE), distinct_alias(name, BASE)):
        assert read_reference(alias) == alias


@given(st.uuids())
def test_every_id_can_be_read_back(identity: UUID) -> None:
    assert read_reference(str(identity)) == identity
    assert read_reference(str(identity).upper()) == identity


@pytest.mark.parametrize(
    "reference",
    [
        "",
        "kb_",
        "kb_-",
        "KB_support",
        "kb_Support",
        "kb_a b",
        "kb_a\0",
        "kb_../a",
        "support",
        "{0}",
        "a" * 32,
    ],
)
def test_anything_else_names_nothing(reference: str) -> None:
    assert read_reference(reference) is None


@given(st.text(max_size=50))
def test_reading_a_reference_never_fails(reference: str) -> None:
    read_reference(reference)
