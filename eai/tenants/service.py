"""Tenants as the platform's operators see them."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncSession

from eai.kernel.errors import NotFound
from eai.kernel.ids import PLATFORM_TENANT, TenantId
from eai.kernel.paging import Page, PageRequest
from eai.platform.database import Database
from eai.tenants.errors import SlugTaken
from eai.tenants.models import Tenant
from eai.tenants.repository import TenantRows, list_tenant_ids
from eai.tenants.schemas import NewTenant, TenantOut


class Tenants:
    """Finds tenants one by one, each under its own binding."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, session: AsyncSession, tenant: TenantId, new: NewTenant) -> bool:
        """Add a tenant in a session bound to it; false when this very tenant is there already.

        Raises SlugTaken when another one goes by the slug.
        """
        rows = TenantRows(session, tenant)
        if await rows.insert(new):
            return True
        if await rows.find() is None:
            raise SlugTaken(slug=new.slug)
        return False

    async def get(self, session: AsyncSession, tenant: TenantId) -> TenantOut:
        """The tenant that `session` is bound to. Raises NotFound."""
        return _shown(await TenantRows(session, tenant).get())

    async def one(self, tenant: TenantId) -> TenantOut:
        """Any tenant but the platform's own, under a binding of its own. Raises NotFound."""
        if tenant == PLATFORM_TENANT:
            raise NotFound
        async with self._database.transaction(tenant) as session:
            return await self.get(session, tenant)

    async def page(self, request: PageRequest) -> Page[TenantOut]:
        """Every tenant but the platform's own, the oldest first; the key is the tenant's id."""
        ids = [tenant for tenant in await list_tenant_ids(self._database) if tenant != PLATFORM_TENANT]
        rest = _after(ids, request.after)
        shown = [await self.one(tenant) for tenant in rest[: request.limit]]
        has_more = len(rest) > request.limit
        return Page(shown, (str(shown[-1].id),) if has_more else None)


def _after(ids: Sequence[TenantId], key: tuple[str, ...] | None) -> Sequence[TenantId]:
    if key is None:
        return ids
    names = [str(tenant) for tenant in ids]
    return ids[names.index(key[0]) + 1 :] if key[0] in names else ()


def _shown(row: Tenant) -> TenantOut:
    return TenantOut(
        id=row.tenant_id, name=row.name, slug=row.slug, created_at=row.created_at, updated_at=row.updated_at
    )
