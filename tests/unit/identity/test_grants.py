from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eai.access.classification import Classification
from eai.access.scopes import BOOTSTRAP_ADMINISTRATOR_ROLES, Role, Scope, scopes_of
from eai.access.subject import PrincipalKind, Subject
from eai.identity.duties import conflicting_duties
from eai.identity.errors import ClearanceExceeded, ScopeExceedsOwn
from eai.identity.grants import (
    key_clearance,
    key_scopes,
    require_clearance_change,
    require_role_change,
)
from eai.kernel.ids import ApiKeyId, PrincipalId, TenantId

roles = st.lists(st.sampled_from(Role), max_size=4)
levels = st.sampled_from(Classification)


def administrator(*held: Role, clearance: Classification = Classification.CONFIDENTIAL) -> Subject:
    return Subject(
        tenant=TenantId(UUID(int=1)),
        principal=PrincipalId(UUID(int=2)),
        kind=PrincipalKind.USER,
        name="Ada",
        roles=held,
        groups=frozenset(),
        scopes=scopes_of(held),
        clearance=clearance,
        api_key=ApiKeyId(UUID(int=3)),
    )


def test_a_role_above_ones_own_scopes_cannot_be_granted() -> None:
    with pytest.raises(ScopeExceedsOwn) as refused:
        require_role_change(administrator(Role.TENANT_ADMIN), [], [Role.AUDITOR])
    assert refused.value.details == {"scopes": ["audit:read"]}


def test_a_role_that_somebody_holds_already_may_stay() -> None:
    require_role_change(administrator(Role.TENANT_ADMIN), [Role.AUDITOR], [Role.AUDITOR, Role.INGESTOR])


def test_nobody_in_a_tenant_makes_a_platform_operator() -> None:
    with pytest.raises(ScopeExceedsOwn):
        require_role_change(administrator(*BOOTSTRAP_ADMINISTRATOR_ROLES), [], [Role.PLATFORM_OPERATOR])


@given(roles, roles, roles)
def test_what_is_granted_is_always_within_ones_own(
    held: list[Role], old: list[Role], new: list[Role]
) -> None:
    subject = administrator(*held)
    added = scopes_of(set(new) - set(old))
    try:
        require_role_change(subject, old, new)
    except ScopeExceedsOwn:
        assert not added <= subject.scopes
    else:
        assert added <= subject.scopes


@given(levels, levels, levels)
def test_a_clearance_rises_at_most_to_ones_own(
    own: Classification, old: Classification, new: Classification
) -> None:
    try:
        require_clearance_change(administrator(clearance=own), old, new)
    except ClearanceExceeded:
        assert new.exceeds(old)
        assert new.exceeds(own)
    else:
        assert not new.exceeds(old) or not new.exceeds(own)


def test_a_key_follows_its_principal_or_is_narrower() -> None:
    assert key_scopes([Role.MEMBER], None) == {Scope.RAG_QUERY, Scope.KB_READ}
    assert key_scopes([Role.MEMBER], [Scope.RAG_QUERY]) == {Scope.RAG_QUERY}
    assert key_scopes([Role.MEMBER], []) == frozenset()
    assert key_clearance(Classification.INTERNAL, None) == Classification.INTERNAL
    assert key_clearance(Classification.INTERNAL, Classification.PUBLIC) == Classification.PUBLIC


def test_a_key_that_names_more_than_its_principal_holds_is_refused() -> None:
    with pytest.raises(ScopeExceedsOwn):
        key_scopes([Role.MEMBER], [Scope.RAG_QUERY, Scope.KB_WRITE])
    with pytest.raises(ClearanceExceeded):
        key_clearance(Classification.INTERNAL, Classification.SECRET)


def test_duties_that_should_be_apart_are_named() -> None:
    assert conflicting_duties([Role.MEMBER, Role.AUDITOR]) == ()
    assert conflicting_duties([Role.AUDITOR, Role.TENANT_ADMIN]) == ((Role.AUDITOR, Role.TENANT_ADMIN),)
    assert conflicting_duties([Role.KB_MANAGER, Role.DATA_STEWARD]) == ((Role.DATA_STEWARD, Role.KB_MANAGER),)
    assert len(conflicting_duties(BOOTSTRAP_ADMINISTRATOR_ROLES)) == 5
