"""The sources that a tenant's security officers register."""

from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import LEVELS, Classification
from eai.access.subject import PrincipalKind, Subject
from eai.audit.actions import AuditAction
from eai.audit.entries import Resource
from eai.audit.service import Audit
from eai.connectors.models import SourceConnector
from eai.connectors.references import read_service, service
from eai.connectors.repository import DIRECT, ConnectorRows
from eai.connectors.schemas import ConnectorOut, ConnectorPatch, NewConnector
from eai.identity.errors import NameTaken, PrincipalUnknown
from eai.identity.models import Principal
from eai.identity.repository import PrincipalRows
from eai.kernel.canonical import Canonical
from eai.kernel.errors import NotFound
from eai.kernel.ids import TenantId
from eai.kernel.paging import Page, PageRequest
from eai.platform.listing import next_key

_TOLD_AS = {"is_enabled": "enabled", "principal_id": "principal"}


class SourceConnectors:
    """What a security officer does with connectors; the caller's scope was checked before.

    None is ever removed: documents name it, and what it brought must not become anybody else's.
    """

    def __init__(self, audit: Audit) -> None:
        self._audit = audit

    async def create(
        self, session: AsyncSession, subject: Subject, connector: UUID, new: NewConnector
    ) -> ConnectorOut:
        """Register a source; the same id again by the same officer is the same source.

        Raises NameTaken, and PrincipalUnknown unless `principal` is a service of the tenant.
        """
        if new.name.lower() == DIRECT:
            raise NameTaken
        row = await ConnectorRows(session, subject.tenant).insert(
            connector,
            name=new.name,
            kind=new.kind,
            allowed_classifications=_ranks(new.allowed_classifications),
            principal_id=await _service_of(session, subject.tenant, new.principal),
            is_enabled=new.enabled,
            created_by=subject.principal,
        )
        if row is None:
            return await _created_before(session, subject, connector)
        await self._record(session, subject, AuditAction.SOURCE_CONNECTOR_CREATE, row)
        return _shown(row)

    async def get(self, session: AsyncSession, subject: Subject, reference: str) -> ConnectorOut:
        """The connector of this id or name. Raises NotFound."""
        return _shown(await _meant(session, subject.tenant, reference))

    async def page(self, session: AsyncSession, subject: Subject, request: PageRequest) -> Page[ConnectorOut]:
        """The tenant's connectors, the oldest first."""
        found = await ConnectorRows(session, subject.tenant).page(request)
        return Page([_shown(row) for row in found[: request.limit]], next_key(found, request))

    async def update(
        self,
        session: AsyncSession,
        subject: Subject,
        reference: str,
        patch: ConnectorPatch,
        *,
        revision: int | None = None,
    ) -> ConnectorOut:
        """Change what `patch` names; it binds every query and every document from the commit on.

        Raises NotFound, PreconditionFailed, and PrincipalUnknown unless `principal` is a service of the
        tenant.
        """
        rows = ConnectorRows(session, subject.tenant)
        old = await rows.hold((await _meant(session, subject.tenant, reference)).id, revision=revision)
        changes = await _changes(session, subject.tenant, patch)
        differing = {name: value for name, value in changes.items() if value != getattr(old, name)}
        if not differing:
            return _shown(old)
        row = await rows.change(old.id, **differing)
        changed = sorted(_TOLD_AS.get(name, name) for name in differing)
        await self._record(session, subject, AuditAction.SOURCE_CONNECTOR_UPDATE, row, changed=changed)
        return _shown(row)

    async def _record(
        self,
        session: AsyncSession,
        subject: Subject,
        action: AuditAction,
        row: SourceConnector,
        **facts: Canonical,
    ) -> None:
        told = _shown(row).model_dump(mode="json", exclude={"id", "created_at", "updated_at", "revision"})
        resource = Resource("source_connector", str(row.id))
        await self._audit.record(session, subject, action, resource=resource, facts={**told, **facts})


async def _meant(session: AsyncSession, tenant: TenantId, reference: str) -> SourceConnector:
    row = await ConnectorRows(session, tenant).meant(reference)
    if row is None:
        raise NotFound
    return row


async def _created_before(session: AsyncSession, subject: Subject, connector: UUID) -> ConnectorOut:
    row = await ConnectorRows(session, subject.tenant).find(connector)
    if row is None or row.created_by != subject.principal:
        raise NameTaken
    return _shown(row)


async def _service_of(session: AsyncSession, tenant: TenantId, reference: str | None) -> UUID | None:
    """The id of the service that `reference` names. Raises PrincipalUnknown, also for one of another kind."""
    if reference is None:
        return None
    named = read_service(reference)
    is_service = Principal.kind == PrincipalKind.SERVICE.value
    if named is None or await PrincipalRows(session, tenant).find(named, is_service) is None:
        raise PrincipalUnknown.at("principal")
    return named


async def _changes(session: AsyncSession, tenant: TenantId, patch: ConnectorPatch) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if patch.kind is not None:
        changes["kind"] = patch.kind
    if patch.enabled is not None:
        changes["is_enabled"] = patch.enabled
    if "allowed_classifications" in patch.model_fields_set:
        changes["allowed_classifications"] = _ranks(patch.allowed_classifications)
    if "principal" in patch.model_fields_set:
        changes["principal_id"] = await _service_of(session, tenant, patch.principal)
    return changes


def _ranks(levels: list[Classification] | None) -> list[int] | None:
    return None if levels is None else [level.rank for level in levels]


def _shown(row: SourceConnector) -> ConnectorOut:
    ranks = row.allowed_classifications
    return ConnectorOut(
        id=row.id,
        name=row.name,
        kind=row.kind,
        allowed_classifications=None if ranks is None else [LEVELS[rank] for rank in ranks],
        principal=None if row.principal_id is None else service(row.principal_id),
        enabled=row.is_enabled,
        created_at=row.created_at,
        updated_at=row.updated_at,
        revision=row.revision,
    )
