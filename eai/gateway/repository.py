"""Every query on endpoints and models."""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from psycopg.errors import ForeignKeyViolation
from sqlalchemy import delete, func, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from eai.gateway.models import BindingRow, EndpointRow, ModelRow
from eai.identity.repository import Rows
from eai.kernel.errors import NotFound, PreconditionFailed
from eai.kernel.ids import TenantId
from eai.kernel.paging import PageRequest
from eai.knowledge.models import Generation

_FRESH = {"populate_existing": True}

Json = Mapping[str, Any]

_NAME = re.compile(r"[A-Za-z0-9._:-]{1,128}")
"""What a name may consist of; nothing else is looked up, since PostgreSQL cannot hold every text."""

_ID = re.compile(r"[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}")


class BrokenReference(Exception):
    """A row points at what is not there, or would be left pointing at nothing."""


@asynccontextmanager
async def _unbroken(session: AsyncSession) -> AsyncIterator[None]:
    """Raises BrokenReference and undoes what broke it; what was done before stays."""
    try:
        async with session.begin_nested():
            yield
    except IntegrityError as error:
        if isinstance(error.orig, ForeignKeyViolation):
            raise BrokenReference from error
        raise


class EndpointRows:
    """Endpoints, as far as the bound tenant sees them. Only operators may change any."""

    def __init__(self, session: AsyncSession) -> None:
        self._session = session

    async def insert(self, endpoint: UUID, **values: Any) -> EndpointRow | None:
        """Add one; None when its id or its name is taken."""
        statement = insert(EndpointRow).values(id=endpoint, **values).on_conflict_do_nothing()
        return await self._session.scalar(statement.returning(EndpointRow))

    async def find(self, endpoint: UUID) -> EndpointRow | None:
        """The endpoint of this id."""
        return await self._session.scalar(select(EndpointRow).where(EndpointRow.id == endpoint))

    async def named(self, name: str) -> EndpointRow | None:
        """The endpoint of this name."""
        if not _NAME.fullmatch(name):
            return None
        return await self._session.scalar(select(EndpointRow).where(EndpointRow.name == name))

    async def meant(self, reference: str) -> UUID:
        """The id of the endpoint that goes by this id or name. Raises NotFound.

        What spells an id is never a name: a removal that is sent twice must not reach a namesake.
        """
        if _ID.fullmatch(reference):
            return UUID(reference)
        row = await self.named(reference)
        if row is None:
            raise NotFound
        return row.id

    async def hold(self, endpoint: UUID, *, revision: int | None) -> EndpointRow:
        """The endpoint until the transaction ends. Raises NotFound and PreconditionFailed."""
        statement = select(EndpointRow).where(EndpointRow.id == endpoint).with_for_update(key_share=True)
        row = await self._session.scalar(statement, execution_options=_FRESH)
        if row is None:
            raise NotFound
        if revision not in {None, row.revision}:
            raise PreconditionFailed
        return row

    async def change(self, endpoint: UUID, **values: Any) -> EndpointRow:
        """Set `values` and count the revision up."""
        statement = (
            update(EndpointRow)
            .where(EndpointRow.id == endpoint)
            .values(revision=EndpointRow.revision + 1, updated_at=func.now(), **values)
            .returning(EndpointRow)
        )
        return (await self._session.scalars(statement, execution_options=_FRESH)).one()

    async def remove(self, endpoint: UUID) -> None:
        """Delete it. Raises BrokenReference while a model of any tenant is on it."""
        async with _unbroken(self._session):
            await self._session.execute(delete(EndpointRow).where(EndpointRow.id == endpoint))

    async def page(self, request: PageRequest) -> Sequence[EndpointRow]:
        """A page by name and, when more follow, one of the next."""
        after = request.after[0] if request.after else ""
        name = EndpointRow.name.collate("C")
        statement = select(EndpointRow).where(name > after).order_by(name).limit(request.limit + 1)
        return (await self._session.scalars(statement)).all()


class BindingRows:
    """Which endpoint serves which shipped model."""

    def __init__(self, session: AsyncSession) -> None:
        self._session = session

    async def hold(self, name: str) -> BindingRow | None:
        """The binding until the transaction ends; None where there is none yet."""
        statement = select(BindingRow).where(BindingRow.name == name).with_for_update()
        return await self._session.scalar(statement, execution_options=_FRESH)

    async def put(self, name: str, endpoint: UUID, *, is_enabled: bool) -> BindingRow:
        """Bind it. Raises BrokenReference when the endpoint is gone meanwhile."""
        values = {"endpoint_id": endpoint, "is_enabled": is_enabled}
        statement = (
            insert(BindingRow)
            .values(name=name, **values)
            .on_conflict_do_update(
                index_elements=[BindingRow.name],
                set_={**values, "revision": BindingRow.revision + 1, "updated_at": func.now()},
            )
            .returning(BindingRow)
        )
        async with _unbroken(self._session):
            return (await self._session.scalars(statement, execution_options=_FRESH)).one()


class ModelRows(Rows[ModelRow]):
    """A tenant's own models."""

    model = ModelRow

    async def add(self, model: UUID, **values: Any) -> ModelRow | None:
        """Like `insert`. Raises BrokenReference when the endpoint is gone meanwhile."""
        async with _unbroken(self.session):
            return await self.insert(model, **values)

    async def alter(self, model: UUID, **values: Any) -> ModelRow:
        """Like `change`. Raises BrokenReference when the endpoint is gone meanwhile."""
        async with _unbroken(self.session):
            return await self.change(model, **values)

    async def named(self, name: str) -> UUID | None:
        """The id of the model of this name."""
        if not _NAME.fullmatch(name):
            return None
        statement = select(ModelRow.id).where(ModelRow.tenant_id == self.tenant, ModelRow.name == name)
        return await self.session.scalar(statement)

    async def keep(self, name: str) -> None:
        """What decides this model's vectors stays until the transaction ends: a base is about to use it."""
        if not _NAME.fullmatch(name):
            return
        statement = (
            select(ModelRow.id)
            .where(ModelRow.tenant_id == self.tenant, ModelRow.name == name)
            .with_for_update(read=True)
        )
        await self.session.execute(statement)

    async def is_in_use(self, name: str) -> bool:
        """Whether a base of the tenant holds vectors of the model, searched or not."""
        users = select(Generation.id).where(
            Generation.tenant_id == self.tenant, Generation.embedding_model == name
        )
        return await self.session.scalar(select(users.exists())) is True


class RegistryRows:
    """Models as they are registered, each with its endpoint, for `assembled_models`; and their dates."""

    def __init__(self, session: AsyncSession, tenant: TenantId) -> None:
        self._session = session
        self._tenant = tenant

    async def own(self, name: str) -> Json | None:
        """The tenant's own model of this name."""
        if not _NAME.fullmatch(name):
            return None
        found: Json | None = await self._session.scalar(_OWN_MODEL, {"tenant": self._tenant, "name": name})
        return found

    async def own_after(self, after: str, most: int) -> Sequence[Json]:
        """The tenant's own models whose names follow `after`, by name, at most so many."""
        parameters = {"tenant": self._tenant, "after": after, "most": most}
        return (await self._session.scalars(_OWN_MODELS, parameters)).all()

    async def bindings(self) -> Mapping[str, Json]:
        """The shipped models that are bound, by name."""
        found = await self._session.scalars(_BINDINGS)
        return {facts["binding"]["name"]: facts for facts in found}


_OWN_MODEL = text("""
    SELECT jsonb_build_object('model', to_jsonb(m), 'binding', NULL, 'endpoint', to_jsonb(e) - 'sealed_key')
      FROM eai.models m LEFT JOIN eai.provider_endpoints e ON e.id = m.endpoint_id
     WHERE m.tenant_id = :tenant AND m.name = :name""")
_OWN_MODELS = text("""
    SELECT jsonb_build_object('model', to_jsonb(m), 'binding', NULL, 'endpoint', to_jsonb(e) - 'sealed_key')
      FROM eai.models m LEFT JOIN eai.provider_endpoints e ON e.id = m.endpoint_id
     WHERE m.tenant_id = :tenant AND m.name COLLATE "C" > :after
     ORDER BY m.name COLLATE "C" LIMIT :most""")
_BINDINGS = text("""
    SELECT jsonb_build_object('model', NULL, 'binding', to_jsonb(b), 'endpoint', to_jsonb(e) - 'sealed_key')
      FROM eai.platform_models b LEFT JOIN eai.provider_endpoints e ON e.id = b.endpoint_id""")
