"""Every query on the rows of rights classes."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from eai.kernel.ids import BaseId, TenantId
from eai.knowledge.models import KnowledgeBase, RightsClass


class ClassRows:
    """The rights classes of one base."""

    def __init__(self, session: AsyncSession, tenant: TenantId, base: BaseId) -> None:
        self._session = session
        self._tenant = tenant
        self._base = base
        self._mine = (RightsClass.tenant_id == tenant, RightsClass.base_id == base)

    async def numbers(self, digests: Collection[bytes]) -> Mapping[bytes, int]:
        """The numbers of those classes that exist, by digest."""
        known = select(RightsClass.digest, RightsClass.number).where(RightsClass.digest.in_(digests))
        return dict((await self._session.execute(known.where(*self._mine))).all())

    async def find(self, numbers: Collection[int]) -> Sequence[RightsClass]:
        """The classes of these numbers."""
        statement = select(RightsClass).where(*self._mine, RightsClass.number.in_(numbers))
        return (await self._session.scalars(statement)).all()

    async def hold_base(self) -> None:
        """Hold the base's row until the transaction ends: whoever makes a class takes turns here."""
        held = select(KnowledgeBase.id).where(
            KnowledgeBase.tenant_id == self._tenant, KnowledgeBase.id == self._base
        )
        await self._session.execute(held.with_for_update(key_share=True))

    async def highest_number(self) -> int:
        """The last number given out; 0 before the first."""
        highest = await self._session.scalar(select(func.max(RightsClass.number)).where(*self._mine))
        return highest or 0

    async def insert(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add classes. `rows` must not be empty."""
        owned = [{"tenant_id": self._tenant, "base_id": self._base, **row} for row in rows]
        await self._session.execute(insert(RightsClass), owned)
