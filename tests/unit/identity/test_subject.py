from typing import Any

import pytest

from eai.access.classification import Classification
from eai.access.scopes import Role, Scope
from eai.access.subject import PrincipalKind
from eai.identity.authentication import subject_from_row

ROW: dict[str, Any] = {
    "tenant": "10000000-0000-4000-8000-000000000001",
    "api_key": "10000000-0000-4000-8000-000000000002",
    "principal": "10000000-0000-4000-8000-000000000003",
    "kind": "user",
    "name": "Alice",
    "roles": ["developer"],
    "clearance": 2,
    "is_bootstrap": False,
    "key_scopes": None,
    "key_clearance": None,
    "groups": ["10000000-0000-4000-8000-000000000004"],
}


def test_a_key_that_narrows_nothing_has_its_principals_rights() -> None:
    subject = subject_from_row(ROW)
    assert str(subject.tenant) == "10000000-0000-4000-8000-000000000001"
    assert str(subject.api_key) == "10000000-0000-4000-8000-000000000002"
    assert subject.kind is PrincipalKind.USER
    assert subject.roles == (Role.DEVELOPER,)
    assert subject.scopes == {Scope.RAG_QUERY, Scope.KB_READ, Scope.GATEWAY_INVOKE}
    assert subject.clearance is Classification.CONFIDENTIAL
    assert subject.references == {
        "user:10000000-0000-4000-8000-000000000003",
        "group:10000000-0000-4000-8000-000000000004",
        "tenant:*",
    }


def test_an_old_secret_is_told_where_one_was_seen() -> None:
    assert not subject_from_row(ROW).presents_old_secret
    assert not subject_from_row(ROW | {"is_old_secret": False}).presents_old_secret
    assert subject_from_row(ROW | {"is_old_secret": True}).presents_old_secret


@pytest.mark.parametrize(
    ("key_scopes", "expected"),
    [
        ([], set()),
        (["rag:query"], {Scope.RAG_QUERY}),
        (["rag:query", "tenant:admin"], {Scope.RAG_QUERY}),
        (["platform:admin", "kb:admin"], set()),
        (["rag:query", "from:the:future"], {Scope.RAG_QUERY}),
    ],
)
def test_a_keys_scopes_only_narrow(key_scopes: list[str], expected: set[Scope]) -> None:
    assert subject_from_row(ROW | {"key_scopes": key_scopes}).scopes == expected


@pytest.mark.parametrize(
    ("principal", "key", "expected"),
    [(2, 0, "public"), (2, 2, "confidential"), (1, 4, "internal"), (4, None, "secret")],
)
def test_a_keys_clearance_only_narrows(principal: int, key: int | None, expected: str) -> None:
    subject = subject_from_row(ROW | {"clearance": principal, "key_clearance": key})
    assert subject.clearance == expected


def test_a_role_of_a_later_version_opens_nothing() -> None:
    subject = subject_from_row(ROW | {"roles": ["member", "archangel"]})
    assert subject.roles == (Role.MEMBER,)
    assert subject.scopes == {Scope.RAG_QUERY, Scope.KB_READ}
