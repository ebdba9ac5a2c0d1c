"""The caller, as a value in every signature."""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from eai.access.classification import Classification
from eai.access.scopes import Role, Scope
from eai.kernel.ids import PLATFORM_TENANT, ApiKeyId, GroupId, PrincipalId, TenantId

EVERYONE = "tenant:*"


class PrincipalKind(StrEnum):
    """What kind of actor a principal is."""

    USER = "user"
    SERVICE = "service"
    AGENT = "agent"


@dataclass(frozen=True)
class Subject:
    """An authenticated principal with what its credential leaves of its rights.

    `scopes` and `clearance` are already the narrower of principal and key. Groups, roles and
    clearance were read live when the credential was checked; a query re-reads them in its re-check.
    `presents_old_secret`: its key was rotated since; such a credential opens what it did until its
    grace is over, but changes no key.
    """

    tenant: TenantId
    principal: PrincipalId
    kind: PrincipalKind
    name: str
    roles: tuple[Role, ...]
    groups: frozenset[GroupId]
    scopes: frozenset[Scope]
    clearance: Classification
    api_key: ApiKeyId
    is_bootstrap: bool = False
    presents_old_secret: bool = False

    @property
    def is_platform(self) -> bool:
        """Whether this is a platform operator, who has no tenant content."""
        return self.tenant == PLATFORM_TENANT

    @cached_property
    def references(self) -> frozenset[str]:
        """Every name under which an ACL entry or a readers list can mean this subject."""
        groups = (f"group:{group}" for group in self.groups)
        return frozenset({f"{self.kind}:{self.principal}", EVERYONE, *groups})
