"""Whose the vector store is: only the database whose rows it is made of may mend it.

A database is known by its server's system identifier and its own number there: a dump that is loaded is
another database, without anybody having to say so. See ADR 0015.
"""

from dataclasses import dataclass

from eai.integrity.errors import VectorStoreNotOurs
from eai.integrity.findings import REMOVED, Found, Kind
from eai.integrity.projection import Projection
from eai.integrity.strangers import UnknownGenerations
from eai.kernel.ids import PLATFORM_TENANT, TenantId
from eai.knowledge.ports import Vectors
from eai.platform.database import Database
from eai.tenants.repository import list_tenant_ids


@dataclass(frozen=True)
class StoreOwnership:
    """One per process. Every method raises VectorStoreUnavailable and DatabaseUnavailable."""

    database: Database
    vectors: Vectors

    async def is_ours(self) -> bool:
        """Whether this database took the store."""
        return await self.vectors.owner() == await self.database.identity()

    async def is_anothers(self) -> bool:
        """Whether another database took the store."""
        return await self.vectors.owner() not in {None, await self.database.identity()}

    async def take_empty(self) -> bool:
        """Take a store that nobody took and that holds nothing; whether it is ours now."""
        if await self.vectors.owner() is None and not await self._holds_anything():
            await self.vectors.take(await self.database.identity())
        return await self.is_ours()

    async def take_own(self) -> bool:
        """Take a store that nobody took and in which every point is one of ours; whether it is ours now.

        So an instance that is older than this rule finds its own index again. Every point is looked at.
        """
        if await self.vectors.owner() is None and not await self._holds_others():
            await self.vectors.take(await self.database.identity())
        return await self.is_ours()

    async def adopt(self) -> None:
        """Take the store from whoever had it: somebody said that this database replaces the other."""
        await self.vectors.take(await self.database.identity())

    async def require(self) -> None:
        """Raise VectorStoreNotOurs unless it is ours, or may be taken."""
        if not await self.take_own():
            raise VectorStoreNotOurs

    async def _holds_anything(self) -> bool:
        return any([await self.vectors.generations(space) for space in await self.vectors.spaces()])

    async def _holds_others(self) -> bool:
        if not await self._holds_anything():
            return False
        if await UnknownGenerations(self.database, self.vectors).find(PLATFORM_TENANT):
            return True
        projection = Projection(self.database, self.vectors)
        for tenant in await list_tenant_ids(self.database):
            if any(found.kind in REMOVED for found in await projection.find(tenant)):
                return True
        return False


@dataclass(frozen=True)
class StoreOwner:
    """No other database took the store. A check of the instance as a whole."""

    ownership: StoreOwnership
    name = str(Kind.STORE_NOT_OURS)

    async def find(self, tenant: TenantId) -> list[Found]:
        """`tenant` is whose report it stands in. Raises VectorStoreUnavailable."""
        if not await self.ownership.is_anothers():
            return []
        return [Found(Kind.STORE_NOT_OURS, str(tenant))]
