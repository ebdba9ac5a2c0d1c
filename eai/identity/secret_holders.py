"""Who ever held a secret of a principal, and may so have acted in its name."""

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import ARRAY, CTE, ColumnElement, Select, Uuid, exists, func, literal, not_, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from eai.identity.models import Principal, SecretHolder
from eai.kernel.ids import TenantId


class SecretHolders:
    """One tenant's record of holders: it outlives keys and principals, and nothing is taken out of it."""

    def __init__(self, session: AsyncSession, tenant: TenantId) -> None:
        self._session = session
        self._tenant = tenant

    async def add(self, principal: UUID, holder: UUID | None) -> None:
        """Put on record that `holder` has been told a secret of `principal`, or could have one made.

        None is whoever started the installation, who is no principal; and nobody is behind themselves.
        """
        if holder is None or holder == principal:
            return
        row = {"tenant_id": self._tenant, "principal_id": principal, "holder_id": holder}
        await self._session.execute(insert(SecretHolder).values(row).on_conflict_do_nothing())

    async def is_behind(self, who: UUID, principals: Collection[UUID]) -> bool:
        """Whether `who` is one of the principals, or held a secret of one over any number of others.

        So is everybody where one of them is gone and nothing tells who held its secrets.
        """
        judged = select(func.unnest(literal(list(principals), ARRAY(Uuid))).label("id"))
        behind = self._behind(judged)
        is_reached = exists().where(behind.c.id == who)
        return await self._session.scalar(select(or_(is_reached, self._has_lost(judged)))) is True

    def _behind(self, judged: Select[tuple[UUID]]) -> CTE:
        """The judged with all that ever held a secret of them, directly or not."""
        behind = judged.cte("behind", recursive=True)
        holders = select(SecretHolder.holder_id).where(
            SecretHolder.tenant_id == self._tenant, SecretHolder.principal_id == behind.c.id
        )
        # A union that keeps no duplicates does not follow anybody twice, so a circle has an end.
        return behind.union(holders)

    def _has_lost(self, judged: Select[tuple[UUID]]) -> ColumnElement[bool]:
        """Whether one of the judged is neither there nor on record."""
        each = judged.subquery("judged").c.id
        is_there = exists().where(Principal.tenant_id == self._tenant, Principal.id == each)
        is_on_record = exists().where(
            SecretHolder.tenant_id == self._tenant, SecretHolder.principal_id == each
        )
        return select(each).where(not_(or_(is_there, is_on_record))).exists()
