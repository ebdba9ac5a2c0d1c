from hypothesis import given
from hypothesis import strategies as st

from eai.access.scopes import BOOTSTRAP_ADMINISTRATOR_ROLES, ROLE_SCOPES, Role, Scope, scopes_of

DESIGN = {
    "member": "rag:query kb:read",
    "developer": "rag:query kb:read gateway:invoke",
    "kb_manager": "rag:query kb:read rag:ingest kb:write",
    "ingestor": "rag:ingest kb:read",
    "data_steward": "kb:read steward:review privacy:admin",
    "auditor": "audit:read finops:read",
    "security_officer": "policy:admin models:admin audit:read",
    "tenant_admin": "tenant:admin kb:admin kb:read kb:write rag:ingest finops:read finops:write",
    "platform_operator": "platform:admin",
}


def test_every_role_opens_what_the_design_says() -> None:
    assert {str(role): set(map(str, scopes)) for role, scopes in ROLE_SCOPES.items()} == {
        role: set(scopes.split()) for role, scopes in DESIGN.items()
    }


def test_the_bootstrap_administrator_holds_every_scope_but_the_platforms() -> None:
    assert scopes_of(BOOTSTRAP_ADMINISTRATOR_ROLES) == set(Scope) - {Scope.PLATFORM_ADMIN}


def test_an_operator_has_no_scope_on_content() -> None:
    assert scopes_of([Role.PLATFORM_OPERATOR]) == {Scope.PLATFORM_ADMIN}
    others = [role for role in Role if role is not Role.PLATFORM_OPERATOR]
    assert Scope.PLATFORM_ADMIN not in scopes_of(others)


def test_no_role_opens_nothing() -> None:
    assert scopes_of([]) == frozenset()


@given(st.lists(st.sampled_from(Role)), st.lists(st.sampled_from(Role)))
def test_more_roles_never_open_less(some: list[Role], more: list[Role]) -> None:
    assert scopes_of(some + more) == scopes_of(some) | scopes_of(more)
