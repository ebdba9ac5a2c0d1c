"""Scopes open operations; roles are named sets of scopes."""

from collections.abc import Iterable
from enum import StrEnum


class Scope(StrEnum):
    """What a credential may attempt. The object's own rights decide whether it succeeds."""

    RAG_QUERY = "rag:query"
    RAG_INGEST = "rag:ingest"
    KB_READ = "kb:read"
    KB_WRITE = "kb:write"
    KB_ADMIN = "kb:admin"
    GATEWAY_INVOKE = "gateway:invoke"
    STEWARD_REVIEW = "steward:review"
    PRIVACY_ADMIN = "privacy:admin"
    AUDIT_READ = "audit:read"
    FINOPS_READ = "finops:read"
    FINOPS_WRITE = "finops:write"
    POLICY_ADMIN = "policy:admin"
    MODELS_ADMIN = "models:admin"
    TENANT_ADMIN = "tenant:admin"
    PLATFORM_ADMIN = "platform:admin"


class Role(StrEnum):
    """A job that a principal does for its tenant."""

    MEMBER = "member"
    DEVELOPER = "developer"
    KB_MANAGER = "kb_manager"
    INGESTOR = "ingestor"
    DATA_STEWARD = "data_steward"
    AUDITOR = "auditor"
    SECURITY_OFFICER = "security_officer"
    TENANT_ADMIN = "tenant_admin"
    PLATFORM_OPERATOR = "platform_operator"


_MEMBER = frozenset({Scope.RAG_QUERY, Scope.KB_READ})

ROLE_SCOPES: dict[Role, frozenset[Scope]] = {
    Role.MEMBER: _MEMBER,
    Role.DEVELOPER: _MEMBER | {Scope.GATEWAY_INVOKE},
    Role.KB_MANAGER: _MEMBER | {Scope.RAG_INGEST, Scope.KB_WRITE},
    Role.INGESTOR: frozenset({Scope.RAG_INGEST, Scope.KB_READ}),
    Role.DATA_STEWARD: frozenset({Scope.KB_READ, Scope.STEWARD_REVIEW, Scope.PRIVACY_ADMIN}),
    Role.AUDITOR: frozenset({Scope.AUDIT_READ, Scope.FINOPS_READ}),
    Role.SECURITY_OFFICER: frozenset({Scope.POLICY_ADMIN, Scope.MODELS_ADMIN, Scope.AUDIT_READ}),
    Role.TENANT_ADMIN: frozenset(
        {
            Scope.TENANT_ADMIN,
            Scope.KB_ADMIN,
            Scope.KB_READ,
            Scope.KB_WRITE,
            Scope.RAG_INGEST,
            Scope.FINOPS_READ,
            Scope.FINOPS_WRITE,
        }
    ),
    Role.PLATFORM_OPERATOR: frozenset({Scope.PLATFORM_ADMIN}),
}

BOOTSTRAP_ADMINISTRATOR_ROLES = (
    Role.TENANT_ADMIN,
    Role.KB_MANAGER,
    Role.DEVELOPER,
    Role.DATA_STEWARD,
    Role.SECURITY_OFFICER,
    Role.AUDITOR,
)


def scopes_of(roles: Iterable[Role]) -> frozenset[Scope]:
    """Everything that these roles open together."""
    return frozenset().union(*(ROLE_SCOPES[role] for role in roles))
