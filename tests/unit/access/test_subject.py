from dataclasses import FrozenInstanceError, replace
from uuid import UUID

import pytest

from eai.access.classification import Classification
from eai.access.subject import PrincipalKind, Subject
from eai.kernel.ids import PLATFORM_TENANT, ApiKeyId
from tests.unit.access.strategies import ALICE, GROUPS, TENANT

SUBJECT = Subject(
    tenant=TENANT,
    principal=ALICE,
    kind=PrincipalKind.AGENT,
    name="Alice",
    roles=(),
    groups=frozenset(GROUPS[:2]),
    scopes=frozenset(),
    clearance=Classification.INTERNAL,
    api_key=ApiKeyId(UUID(int=30)),
)


def test_references_name_the_principal_its_groups_and_everyone() -> None:
    assert SUBJECT.references == {
        "agent:00000000-0000-0000-0000-00000000000a",
        "tenant:*",
        "group:00000000-0000-0000-0000-000000000014",
        "group:00000000-0000-0000-0000-000000000015",
    }


def test_a_principal_is_not_meant_by_a_reference_of_another_kind() -> None:
    assert f"user:{ALICE}" not in SUBJECT.references


def test_only_the_reserved_tenant_is_the_platforms() -> None:
    assert not SUBJECT.is_platform
    assert replace(SUBJECT, tenant=PLATFORM_TENANT).is_platform


def test_a_subject_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        SUBJECT.clearance = Classification.SECRET  # type: ignore[misc]
