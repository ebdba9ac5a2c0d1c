"""Every query on tenants."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import Select, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from eai.kernel.errors import NotFound
from eai.kernel.ids import TenantId
from eai.platform.database import Database
from eai.tenants.models import Tenant
from eai.tenants.schemas import NewTenant

_FRESH = {"populate_existing": True}


class TenantRows:
    """The one row of `eai.tenants` that a bound session can see."""

    def __init__(self, session: AsyncSession, tenant: TenantId) -> None:
        self._session = session
        self._tenant = tenant

    async def find(self) -> Tenant | None:
        """The tenant, if it exists."""
        return await self._session.scalar(self._mine())

    async def get(self) -> Tenant:
        """The tenant. Raises NotFound."""
        row = await self.find()
        if row is None:
            raise NotFound
        return row

    async def hold(self) -> Tenant:
        """The tenant, held until the transaction ends: rules that count its rows take turns here.

        The lock lets rows that refer to the tenant be inserted meanwhile.
        """
        statement = self._mine().with_for_update(key_share=True)
        return (await self._session.scalars(statement, execution_options=_FRESH)).one()

    async def change(self, **values: Any) -> Tenant:
        """Set `values` and count the revision up."""
        statement = (
            update(Tenant)
            .where(Tenant.tenant_id == self._tenant)
            .values(revision=Tenant.revision + 1, updated_at=func.now(), **values)
            .returning(Tenant)
        )
        return (await self._session.scalars(statement, execution_options=_FRESH)).one()

    async def insert(self, new: NewTenant) -> bool:
        """Add the tenant; false when its id or its slug is taken."""
        statement = insert(Tenant).values(tenant_id=self._tenant, slug=new.slug, name=new.name)
        inserted = await self._session.scalars(statement.on_conflict_do_nothing().returning(Tenant.tenant_id))
        return inserted.one_or_none() is not None

    def _mine(self) -> Select[Tenant]:
        return select(Tenant).where(Tenant.tenant_id == self._tenant)


async def list_tenant_ids(database: Database) -> Sequence[TenantId]:
    """Every tenant, the oldest first: a named cross-tenant step that tells ids and nothing else."""
    rows: list[tuple[UUID]] = await database.statement("SELECT eai.list_tenant_ids()", {}, is_repeatable=True)
    return [TenantId(tenant) for (tenant,) in rows]
