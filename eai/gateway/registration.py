"""The models of a tenant: its own, which only narrow what their endpoints allow, and the shipped ones."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import LEVELS, rank_of
from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.audit.actions import AuditAction
from eai.audit.entries import Resource
from eai.audit.service import Audit
from eai.gateway.bounds import faults_of, require_within
from eai.gateway.catalogue import REMOTE_MODELS, SHIPPED_MODELS
from eai.gateway.errors import ModelInUse, ModelNotFound
from eai.gateway.listed_models import ListedModels
from eai.gateway.models import EndpointRow, ModelRow
from eai.gateway.proposals import completed, require_own, stored_roles
from eai.gateway.registry import Capability, EndpointKind
from eai.gateway.registry_schemas import ModelOut, ModelPatch, NewModel
from eai.gateway.repository import BindingRows, BrokenReference, EndpointRows, ModelRows
from eai.gateway.templates import TEMPLATES
from eai.identity.errors import NameTaken, ScopeMissing
from eai.kernel.canonical import Canonical
from eai.kernel.errors import InvalidInput, PreconditionFailed
from eai.kernel.paging import Page, PageRequest

_OF_SHIPPED = frozenset({"endpoint", "enabled"})
_PLAIN_CHANGES = {
    "provider_model": "provider_model",
    "context_tokens": "context_tokens",
    "region": "region",
    "revision": "model_revision",
    "enabled": "is_enabled",
}
_MAY_BE_NULL = frozenset({"context_tokens", "region", "classification_ceiling"})
_BOUND_BY_ENDPOINT = frozenset({"endpoint_id", "provider_model", "classification_ceiling", "region"})
_DECIDES_VECTORS = ("endpoint_id", "provider_model", "dimensions", "roles", "model_revision")
"""What a base's vectors were made with: while it holds any, none of this changes."""


class ModelRegistry:
    """What administrators of models do with them; the caller's scope was checked before."""

    def __init__(self, audit: Audit, listed: ListedModels) -> None:
        self._audit = audit
        self._listed = listed

    async def get(self, session: AsyncSession, subject: Subject, name: str) -> ModelOut:
        """The model of this name, as the caller may use it. Raises ModelNotFound."""
        found = await self._listed.one(session, subject.tenant, name)
        if found is None:
            raise ModelNotFound(model=name)
        return found

    async def page(self, session: AsyncSession, subject: Subject, request: PageRequest) -> Page[ModelOut]:
        """Every model that can be named here, by name."""
        return await self._listed.page(session, subject.tenant, request)

    async def create(self, session: AsyncSession, subject: Subject, model: UUID, new: NewModel) -> ModelOut:
        """Register a model; the same id again by the same creator is the same model.

        Raises NameTaken, also for the name of a shipped model, and InvalidInput for an endpoint that does
        not serve the tenant, for bounds wider than the endpoint's, for what the capability does not have, and
        for another provider's model on an endpoint from a template.
        """
        if self._is_shipped(new.name):
            raise NameTaken
        endpoint = await _serving(session, new.endpoint)
        new = completed(new, endpoint.template)
        faults = faults_of(new.capability, new.dimensions, new.roles)
        if faults:
            raise InvalidInput(*faults)
        require_within(endpoint, new.classification_ceiling, new.region)
        try:
            row = await ModelRows(session, subject.tenant).add(model, **_row_of(new, endpoint, subject))
        except BrokenReference:
            raise _endpoint_unknown() from None
        if row is None:
            return await self._created_before(session, subject, model)
        await self._record(session, subject, AuditAction.MODEL_CREATE, row, _facts(row))
        return await self.get(session, subject, row.name)

    async def update(
        self,
        session: AsyncSession,
        subject: Subject,
        name: str,
        patch: ModelPatch,
        *,
        revision: int | None = None,
    ) -> ModelOut:
        """Change what `patch` names: a tenant its own model, an operator where a shipped one goes.

        Raises ModelNotFound, ScopeMissing for a shipped model, PreconditionFailed, InvalidInput as `create`,
        and ModelInUse for what decides the vectors of a model that a base uses.
        """
        if self._is_shipped(name):
            return await self._bind(session, subject, name, patch, revision)
        rows = ModelRows(session, subject.tenant)
        found = await rows.named(name)
        if found is None:
            raise ModelNotFound(model=name)
        old = await rows.hold(found, revision=revision)
        changes = await _changes(session, old, patch)
        decisive = [key for key in _DECIDES_VECTORS if key in changes and changes[key] != getattr(old, key)]
        if decisive and await rows.is_in_use(name):
            raise ModelInUse(model=name)
        try:
            row = await rows.alter(found, **changes)
        except BrokenReference:
            raise _endpoint_unknown() from None
        facts = {**_facts(row), "changed": sorted(patch.model_fields_set)}
        await self._record(session, subject, AuditAction.MODEL_UPDATE, row, facts)
        return await self.get(session, subject, name)

    async def exists(self, session: AsyncSession, subject: Subject, name: str) -> bool:
        """Whether the caller's tenant can name this model."""
        return self._is_shipped(name) or await ModelRows(session, subject.tenant).named(name) is not None

    async def _bind(
        self, session: AsyncSession, subject: Subject, name: str, patch: ModelPatch, revision: int | None
    ) -> ModelOut:
        if not subject.is_platform:
            raise ScopeMissing([Scope.PLATFORM_ADMIN])
        if not self._listed.is_remote(name):
            raise InvalidInput.field("endpoint", "model_is_local", "runs inside the process")
        _require_only_binding(patch)
        rows = BindingRows(session)
        old = await rows.hold(name)
        shown = await self.get(session, subject, name)
        if revision not in {None, shown.row_revision}:
            raise PreconditionFailed
        target = None if patch.endpoint is None else await _serving(session, patch.endpoint)
        if target is not None:
            require_own(target.template, REMOTE_MODELS[name].provider_model)
        endpoint = target.id if target is not None else old.endpoint_id if old is not None else None
        if endpoint is None:
            raise InvalidInput.field("endpoint", "missing", "is required until the model has one")
        is_enabled = patch.enabled if patch.enabled is not None else old is None or old.is_enabled
        try:
            row = await rows.put(name, endpoint, is_enabled=is_enabled)
        except BrokenReference:
            raise _endpoint_unknown() from None
        facts: dict[str, Canonical] = {"endpoint": str(row.endpoint_id), "enabled": row.is_enabled}
        await self._audit.record(
            session, subject, AuditAction.MODEL_UPDATE, resource=Resource("model", name), facts=facts
        )
        return await self.get(session, subject, name)

    async def _created_before(self, session: AsyncSession, subject: Subject, model: UUID) -> ModelOut:
        row = await ModelRows(session, subject.tenant).find(model)
        if row is None or row.created_by != subject.principal:
            raise NameTaken
        return await self.get(session, subject, row.name)

    async def _record(
        self,
        session: AsyncSession,
        subject: Subject,
        action: AuditAction,
        row: ModelRow,
        facts: Mapping[str, Canonical],
    ) -> None:
        resource = Resource("model", row.name)
        await self._audit.record(session, subject, action, resource=resource, facts=facts)

    def _is_shipped(self, name: str) -> bool:
        return name in SHIPPED_MODELS or self._listed.is_shipped(name)


async def _serving(session: AsyncSession, name: str) -> EndpointRow:
    """The endpoint of this name, if it serves the bound tenant and models can be on it."""
    endpoint = await EndpointRows(session).named(name)
    if endpoint is None:
        raise _endpoint_unknown()
    if endpoint.kind == EndpointKind.LOCAL:
        raise InvalidInput.field(
            "endpoint", "endpoint_is_local", "models of this process are shipped with it"
        )
    return endpoint


def _endpoint_unknown() -> InvalidInput:
    return InvalidInput.field("endpoint", "endpoint_unknown", "names no endpoint that serves this tenant")


def _require_only_binding(patch: ModelPatch) -> None:
    others = sorted(patch.model_fields_set - _OF_SHIPPED)
    if others:
        raise InvalidInput(
            *({"path": name, "code": "model_is_shipped", "message": "is fixed"} for name in others)
        )


def _row_of(new: NewModel, endpoint: EndpointRow, subject: Subject) -> dict[str, Any]:
    return {
        "name": new.name,
        "endpoint_id": endpoint.id,
        "provider_model": new.provider_model or new.name,
        "capability": new.capability,
        "dimensions": None if new.dimensions is None else list(new.dimensions),
        "context_tokens": new.context_tokens,
        "price_input_micros": new.price.input_micros,
        "price_output_micros": new.price.output_micros,
        "classification_ceiling": rank_of(new.classification_ceiling),
        "region": new.region,
        "roles": {} if new.roles is None else new.roles.model_dump(exclude_none=True),
        "fusion": None if new.fusion is None else new.fusion.model_dump(),
        "model_revision": new.revision,
        "is_enabled": new.enabled,
        "created_by": subject.principal,
    }


async def _changes(session: AsyncSession, old: ModelRow, patch: ModelPatch) -> dict[str, Any]:
    named = {
        name for name in patch.model_fields_set if name in _MAY_BE_NULL or getattr(patch, name) is not None
    }
    changes = {column: getattr(patch, name) for name, column in _PLAIN_CHANGES.items() if name in named}
    faults = faults_of(
        Capability(old.capability), patch.dimensions or tuple(old.dimensions or ()), patch.roles
    )
    if faults:
        raise InvalidInput(*faults)
    if patch.dimensions is not None:
        changes["dimensions"] = list(patch.dimensions)
    if patch.price is not None:
        changes["price_input_micros"] = patch.price.input_micros
        changes["price_output_micros"] = patch.price.output_micros
    if patch.fusion is not None:
        changes["fusion"] = patch.fusion.model_dump()
    if "classification_ceiling" in named:
        changes["classification_ceiling"] = rank_of(patch.classification_ceiling)
    if patch.endpoint is not None:
        changes["endpoint_id"] = (await _serving(session, patch.endpoint)).id
    if patch.roles is not None or changes.keys() & _BOUND_BY_ENDPOINT:
        endpoint = await EndpointRows(session).find(changes.get("endpoint_id", old.endpoint_id))
        if endpoint is None:
            raise _endpoint_unknown()
        _require_still_within(endpoint, old, changes)
        changes |= _changed_roles(endpoint, old, changes, patch)
    return changes


def _changed_roles(
    endpoint: EndpointRow, old: ModelRow, changes: Mapping[str, Any], patch: ModelPatch
) -> dict[str, Any]:
    """The sides of a search as `patch` says them; another model of a template's has the template's again."""
    template = TEMPLATES.get(endpoint.template or "")
    provider_model = changes.get("provider_model", old.provider_model)
    is_open = template is not None and old.capability == Capability.EMBEDDINGS
    is_another = is_open and provider_model != old.provider_model
    if patch.roles is None and not is_another:
        return {}
    registered = None if patch.roles is None else patch.roles.model_dump(exclude_none=True)
    return {"roles": stored_roles(template if is_open else None, provider_model, registered)}


def _require_still_within(endpoint: EndpointRow, old: ModelRow, changes: Mapping[str, Any]) -> None:
    require_own(endpoint.template, changes.get("provider_model", old.provider_model))
    ceiling = changes.get("classification_ceiling", old.classification_ceiling)
    require_within(endpoint, None if ceiling is None else LEVELS[ceiling], changes.get("region", old.region))


def _facts(row: ModelRow) -> dict[str, Canonical]:
    facts: dict[str, Canonical] = {
        "endpoint": str(row.endpoint_id),
        "provider_model": row.provider_model,
        "capability": row.capability,
        "revision": row.model_revision,
        "enabled": row.is_enabled,
    }
    if row.dimensions is not None:
        facts["dimensions"] = list(row.dimensions)
    if row.classification_ceiling is not None:
        facts["classification_ceiling"] = str(LEVELS[row.classification_ceiling])
    if row.region is not None:
        facts["region"] = row.region
    return facts
