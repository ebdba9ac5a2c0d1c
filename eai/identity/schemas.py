"""Principals, groups and keys as clients write and read them."""

from datetime import UTC, datetime, timedelta
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, Field
from pydantic_core import PydanticKnownError

from eai.access.classification import Classification
from eai.access.scopes import Role, Scope
from eai.access.subject import PrincipalKind
from eai.tenants.names import Name
from eai.tenants.schemas import Schema, TenantOut

MAX_MEMBERS = 10_000
MAX_GROUPS = 1_000
DEFAULT_GRACE = timedelta(hours=24)
"""How long the old secret of a rotated key lives on, so that holders can be changed one by one."""
MAX_GRACE = timedelta(days=30)

# The last years of the calendar cannot be told in every time zone.
_LAST_EXPIRY = datetime(9998, 1, 1, tzinfo=UTC)


def _tellable(instant: datetime) -> datetime:
    if instant > _LAST_EXPIRY:
        raise PydanticKnownError("less_than_equal", {"le": _LAST_EXPIRY.isoformat()})
    return instant


Roles = Annotated[tuple[Role, ...], Field(max_length=len(Role))]
Scopes = Annotated[tuple[Scope, ...], Field(max_length=len(Scope))]
Groups = Annotated[tuple[UUID, ...], Field(max_length=MAX_GROUPS)]
Expiry = Annotated[AwareDatetime, AfterValidator(_tellable)]
Revision = Annotated[int, Field(exclude=True)]


class NewPrincipal(Schema):
    """A principal to be made."""

    kind: PrincipalKind
    name: Name
    clearance: Classification = Classification.INTERNAL
    roles: Roles = ()
    groups: Groups = ()


class PrincipalPatch(Schema):
    """What to change; what is not named, or null, stays. `suspended` stops every credential at once."""

    name: Name | None = None
    clearance: Classification | None = None
    roles: Roles | None = None
    groups: Groups | None = None
    suspended: Annotated[bool, Field(strict=True)] | None = None


class PrincipalOut(Schema):
    """A principal. `is_bootstrap` marks the tenant's first administrator."""

    id: UUID
    kind: PrincipalKind
    name: str
    clearance: Classification
    roles: tuple[Role, ...]
    groups: tuple[UUID, ...]
    is_bootstrap: bool
    suspended: bool
    suspended_at: datetime | None
    created_at: datetime
    updated_at: datetime
    revision: Revision


class NewGroup(Schema):
    """A group to be made, without members."""

    name: Name


class GroupMembers(Schema):
    """The whole list of members; whoever is not in it leaves."""

    members: Annotated[tuple[UUID, ...], Field(max_length=MAX_MEMBERS)]


class GroupOut(Schema):
    """A group."""

    id: UUID
    name: str
    members_count: int
    created_at: datetime
    updated_at: datetime
    revision: Revision


class GroupDetail(GroupOut):
    """A group and who is in it, by id."""

    members: tuple[UUID, ...]


class NewApiKey(Schema):
    """A key to be made. Without `scopes` and `clearance` it follows its principal's, live.

    Without `expires_at` it has no end. A key that has one makes only keys that end with it or before.
    """

    principal_id: UUID
    name: Name | None = None
    scopes: Scopes | None = None
    clearance: Classification | None = None
    expires_at: Expiry | None = None


class Rotation(Schema):
    """For how many seconds the old secret still opens; 86,400 (a day) unless said, 0 ends it now."""

    grace_seconds: Annotated[int, Field(ge=0, le=int(MAX_GRACE.total_seconds()), strict=True)] = int(
        DEFAULT_GRACE.total_seconds()
    )


class ApiKeyOut(Schema):
    """A key without its secret. `prefix` is the public beginning of the text that holders send."""

    id: UUID
    principal_id: UUID
    name: str | None
    prefix: str
    scopes: tuple[Scope, ...] | None
    clearance: Classification | None
    expires_at: datetime | None
    revoked_at: datetime | None
    old_secret_expires_at: datetime | None
    created_by: UUID | None
    created_at: datetime
    updated_at: datetime
    revision: Revision


class ApiKeyWithSecret(ApiKeyOut):
    """A key with `api_key`, the text to send. It is shown in this answer and never again."""

    api_key: str = Field(repr=False)


class TenantWithKey(TenantOut):
    """A new tenant, with the key of its bootstrap administrator, shown in this answer and never again."""

    admin_api_key: str = Field(repr=False)


class MyTenant(Schema):
    """The tenant that the credential belongs to."""

    id: UUID
    slug: str
    name: str


class MyPrincipal(Schema):
    """Who the credential stands for."""

    id: UUID
    kind: PrincipalKind
    name: str
    roles: tuple[Role, ...]


class MyGroup(Schema):
    """A group the principal is in."""

    id: UUID
    name: str


class Me(Schema):
    """What the credential that asks amounts to at this instant."""

    tenant: MyTenant
    principal: MyPrincipal
    groups: tuple[MyGroup, ...]
    scopes: tuple[Scope, ...]
    clearance: Classification
    api_key_id: UUID
