"""Provider endpoints: where calls may go, as operators of the platform approve it."""

from collections.abc import Iterable
from hashlib import sha256
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import LEVELS
from eai.access.subject import Subject
from eai.audit.actions import AuditAction
from eai.audit.entries import Resource
from eai.audit.service import Audit
from eai.gateway.endpoint_urls import checked_url, origin
from eai.gateway.errors import EndpointInUse
from eai.gateway.models import EndpointRow
from eai.gateway.proposals import require_key, way_of
from eai.gateway.provider_keys import ProviderKeys
from eai.gateway.registry import EndpointKind
from eai.gateway.registry_schemas import EndpointOut, EndpointPatch, NewEndpoint
from eai.gateway.repository import BrokenReference, EndpointRows
from eai.gateway.templates import TEMPLATES, ProviderTemplate
from eai.identity.errors import NameTaken
from eai.kernel.canonical import Canonical
from eai.kernel.errors import InvalidInput, NotFound
from eai.kernel.ids import PLATFORM_TENANT
from eai.kernel.paging import Page, PageRequest
from eai.platform.database import Database
from eai.platform.egress import Allowance
from eai.tenants.repository import list_tenant_ids

_NAMED_NULL_STAYS = ("region", "retention")


class ProviderEndpoints:
    """What an operator does with endpoints; the caller's scope was checked before. No call is made."""

    def __init__(self, database: Database, keys: ProviderKeys, audit: Audit, allowance: Allowance) -> None:
        self._database = database
        self._keys = keys
        self._audit = audit
        self._allowance = allowance

    async def create(
        self, session: AsyncSession, subject: Subject, endpoint: UUID, new: NewEndpoint
    ) -> EndpointOut:
        """Approve an endpoint; the same id again by the same operator is the same endpoint.

        Raises InvalidInput for a URL, a template or tenants that cannot be, and NameTaken.
        """
        kind, template = way_of(new)
        require_key(template, has_key=new.api_key is not None)
        url = checked_url(kind, _address(new.url, template), self._allowance)
        await self._require_tenants(new.tenants or ())
        row = await EndpointRows(session).insert(
            endpoint,
            name=new.name,
            kind=kind,
            template=new.template,
            url=url,
            region=new.region,
            retention=new.retention,
            classification_ceiling=new.classification_ceiling.rank,
            tenants=_stored(new.tenants),
            sealed_key=self._keys.seal(endpoint, new.api_key),
            created_by=subject.principal,
        )
        if row is None:
            return await _created_before(session, subject, endpoint)
        await self._record(session, subject, AuditAction.PROVIDER_ENDPOINT_CREATE, row, _facts(row))
        return _shown(row)

    async def meant(self, session: AsyncSession, reference: str) -> UUID:
        """The id of the endpoint that is called by its id or its name. Raises NotFound."""
        return await EndpointRows(session).meant(reference)

    async def get(self, session: AsyncSession, endpoint: UUID) -> EndpointOut:
        """One endpoint. Raises NotFound."""
        row = await EndpointRows(session).find(endpoint)
        if row is None:
            raise NotFound
        return _shown(row)

    async def page(self, session: AsyncSession, request: PageRequest) -> Page[EndpointOut]:
        """Every endpoint, by name."""
        found = await EndpointRows(session).page(request)
        rows = found[: request.limit]
        return Page([_shown(row) for row in rows], (rows[-1].name,) if len(found) > len(rows) else None)

    async def update(
        self,
        session: AsyncSession,
        subject: Subject,
        endpoint: UUID,
        patch: EndpointPatch,
        *,
        revision: int | None = None,
    ) -> EndpointOut:
        """Change what `patch` names; it binds every call from the next on.

        Raises NotFound, PreconditionFailed, and InvalidInput: also where a key would follow its endpoint to
        another host without being given again.
        """
        rows = EndpointRows(session)
        old = await rows.hold(endpoint, revision=revision)
        changes = self._changes(old, patch)
        await self._require_tenants(patch.tenants or ())
        row = await rows.change(endpoint, **changes)
        facts = {**_facts(row), "changed": sorted(patch.model_fields_set)}
        await self._record(session, subject, AuditAction.PROVIDER_ENDPOINT_UPDATE, row, facts)
        return _shown(row)

    async def delete(
        self, session: AsyncSession, subject: Subject, endpoint: UUID, *, revision: int | None = None
    ) -> None:
        """Remove an endpoint and its key.

        Raises NotFound, PreconditionFailed, and EndpointInUse while a model of any tenant is on it.
        """
        rows = EndpointRows(session)
        row = await rows.hold(endpoint, revision=revision)
        try:
            await rows.remove(endpoint)
        except BrokenReference:
            raise EndpointInUse(endpoint=row.name) from None
        await self._record(session, subject, AuditAction.PROVIDER_ENDPOINT_DELETE, row, {})

    def _changes(self, old: EndpointRow, patch: EndpointPatch) -> dict[str, Any]:
        named, template = patch.model_fields_set, TEMPLATES.get(old.template or "")
        changes: dict[str, Any] = {
            name: value for name in _NAMED_NULL_STAYS if (value := getattr(patch, name)) is not None
        }
        if patch.classification_ceiling is not None:
            changes["classification_ceiling"] = patch.classification_ceiling.rank
        if "tenants" in named:
            changes["tenants"] = _stored(patch.tenants)
        if "api_key" in named:
            require_key(template, has_key=patch.api_key is not None)
            changes["sealed_key"] = self._keys.seal(old.id, patch.api_key)
        if "url" in named:
            url = _address(patch.url, template)
            changes["url"] = checked_url(EndpointKind(old.kind), url, self._allowance)
            is_elsewhere = origin(changes["url"]) != origin(old.url)
            if is_elsewhere and old.sealed_key is not None and "api_key" not in named:
                raise InvalidInput.field("api_key", "key_of_another_host", "give the key of the new host")
        return changes

    async def _require_tenants(self, tenants: Iterable[UUID]) -> None:
        named = list(tenants)
        if not named:
            return
        known = {UUID(str(tenant)) for tenant in await list_tenant_ids(self._database)} - {PLATFORM_TENANT}
        unknown = [place for place, tenant in enumerate(named) if tenant not in known]
        if unknown:
            faults = (
                {"path": f"tenants.{p}", "code": "tenant_unknown", "message": "unknown"} for p in unknown
            )
            raise InvalidInput(*faults)

    async def _record(
        self,
        session: AsyncSession,
        subject: Subject,
        action: AuditAction,
        row: EndpointRow,
        facts: dict[str, Canonical],
    ) -> None:
        await self._audit.record(
            session,
            subject,
            action,
            resource=Resource("provider_endpoint", str(row.id)),
            facts={"name": row.name, **facts},
            private={"url": row.url or ""},
        )


async def _created_before(session: AsyncSession, subject: Subject, endpoint: UUID) -> EndpointOut:
    row = await EndpointRows(session).find(endpoint)
    if row is None or row.created_by != subject.principal:
        raise NameTaken
    return _shown(row)


def _address(url: str | None, template: ProviderTemplate | None) -> str | None:
    return url if url is not None or template is None else template.url


def _stored(tenants: Iterable[UUID] | None) -> list[UUID] | None:
    return None if tenants is None else sorted(set(tenants))


def _facts(row: EndpointRow) -> dict[str, Canonical]:
    """A list of a thousand ids would weigh on the chain for ever; its digest proves it as well."""
    facts: dict[str, Canonical] = {
        "kind": row.kind,
        **({} if row.template is None else {"template": row.template}),
        "region": row.region,
        "retention": row.retention,
        "classification_ceiling": str(LEVELS[row.classification_ceiling]),
        "has_api_key": row.sealed_key is not None,
    }
    if row.tenants is not None:
        facts["tenants_count"] = len(row.tenants)
        facts["tenants_digest"] = sha256(b"".join(tenant.bytes for tenant in row.tenants)).hexdigest()
    return facts


def _shown(row: EndpointRow) -> EndpointOut:
    return EndpointOut(
        id=row.id,
        name=row.name,
        kind=EndpointKind(row.kind),
        template=row.template,
        url=row.url,
        region=row.region,
        retention=row.retention,
        classification_ceiling=LEVELS[row.classification_ceiling],
        tenants=None if row.tenants is None else tuple(row.tenants),
        has_api_key=row.sealed_key is not None,
        created_at=row.created_at,
        updated_at=row.updated_at,
        revision=row.revision,
    )
