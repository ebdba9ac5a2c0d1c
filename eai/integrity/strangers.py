"""Points in generations that no row of any tenant knows."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from eai.access.rights_class import generation_key
from eai.integrity.findings import Found, Kind
from eai.integrity.projection import LOOKS, PAUSE_S
from eai.integrity.repository import ExaminationRows
from eai.kernel.ids import GenerationId, TenantId
from eai.knowledge.ports import SpaceId, Vectors
from eai.platform.database import Database
from eai.tenants.repository import list_tenant_ids


@dataclass(frozen=True, slots=True)
class Stranger:
    """A generation key in a space that has no business there."""

    space: SpaceId
    key: str


@dataclass(frozen=True)
class UnknownGenerations:
    """Every point of the store belongs to a generation that some tenant has in that space.

    A check of the instance as a whole: spaces are shared, and of a tenant that is gone nobody else asks.
    """

    database: Database
    vectors: Vectors
    name = str(Kind.GENERATION_UNKNOWN)

    async def find(self, tenant: TenantId) -> Iterable[Found]:
        """`tenant` is whose report it stands in. Raises VectorStoreUnavailable."""
        del tenant
        suspects = await self._strangers()
        for _ in range(1, LOOKS):
            if suspects:
                await asyncio.sleep(PAUSE_S)
                suspects &= await self._strangers()
        return [Found(Kind.GENERATION_UNKNOWN, f"{each.space.name}:{each.key}", each) for each in suspects]

    async def _strangers(self) -> set[Stranger]:
        # The store first: whoever writes points to it has committed before that he is about to.
        present = {
            Stranger(space, key)
            for space in await self.vectors.spaces()
            for key, count in (await self.vectors.generations(space)).items()
            if count
        }
        return present - await self._known() if present else set()

    async def _known(self) -> set[Stranger]:
        known: set[Stranger] = set()
        spaces = await self.vectors.spaces()
        for tenant in await list_tenant_ids(self.database):
            async with self.database.transaction(tenant) as session:
                rows = ExaminationRows(session, tenant)
                generations = await rows.generations()
                written = await rows.keys_being_written()
            known |= {Stranger(each.space, each.key) for each in generations}
            keys = [generation_key(tenant, GenerationId(each)) for each in written]
            known |= {Stranger(space, key) for space in spaces for key in keys}
        return known
