"""Every query on tenants' policies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID, uuid4

from sqlalchemy import Select, delete, func, select
from sqlalchemy.dialects.postgresql import distinct_on, insert
from sqlalchemy.ext.asyncio import AsyncSession

from eai.kernel.errors import NotFound
from eai.kernel.ids import TenantId
from eai.kernel.paging import PageRequest
from eai.platform.listing import part
from eai.policies.models import PolicyCounter, PolicyVersion, TenantPolicy

_FRESH = {"populate_existing": True}


@dataclass(frozen=True, slots=True)
class Extent:
    """How many policies there are, and their characters together."""

    policies: int
    characters: int


class PolicyRows:
    """The policies of the tenant that `session` is bound to."""

    def __init__(self, session: AsyncSession, tenant: TenantId) -> None:
        self._session = session
        self._tenant = tenant

    async def find(self, name: str) -> TenantPolicy | None:
        """The policy of this name that is in force."""
        statement = self._mine().where(TenantPolicy.name == name)
        return await self._session.scalar(statement, execution_options=_FRESH)

    async def get(self, name: str) -> TenantPolicy:
        """The policy of this name that is in force. Raises NotFound."""
        row = await self.find(name)
        if row is None:
            raise NotFound
        return row

    async def page(self, request: PageRequest) -> Sequence[TenantPolicy]:
        """The policies of a page and, when more follow, one of the next."""
        return (await self._session.scalars(part(self._mine(), TenantPolicy, request))).all()

    async def extent_beside(self, name: str) -> Extent:
        """What there is besides the policy of this name."""
        counts = select(func.count(), func.coalesce(func.sum(func.char_length(TenantPolicy.cedar)), 0)).where(
            TenantPolicy.tenant_id == self._tenant, TenantPolicy.name != name
        )
        policies, characters = (await self._session.execute(counts)).one()
        return Extent(policies, int(characters))

    async def put(self, name: str, cedar: str, by: UUID) -> TenantPolicy:
        """Put `cedar` in force under `name`, as a new version."""
        version = await self._next(name, cedar, by)
        statement = insert(TenantPolicy).values(
            tenant_id=self._tenant, id=uuid4(), name=name, cedar=cedar, version=version, created_by=by
        )
        changes = {
            "cedar": cedar,
            "version": version,
            "revision": TenantPolicy.revision + 1,
            "updated_at": func.now(),
        }
        key = [TenantPolicy.tenant_id, TenantPolicy.name]
        upsert = statement.on_conflict_do_update(index_elements=key, set_=changes).returning(TenantPolicy)
        return (await self._session.scalars(upsert, execution_options=_FRESH)).one()

    async def remove(self, name: str, by: UUID) -> int:
        """Take the policy of this name out of force; the version since when."""
        version = await self._next(name, None, by)
        await self._session.execute(
            delete(TenantPolicy).where(TenantPolicy.tenant_id == self._tenant, TenantPolicy.name == name)
        )
        return version

    async def at(self, version: int) -> Mapping[str, str]:
        """Every text that was in force at `version`, by name."""
        newest = (
            select(PolicyVersion.name, PolicyVersion.cedar)
            .ext(distinct_on(PolicyVersion.name))
            .where(PolicyVersion.tenant_id == self._tenant, PolicyVersion.version <= version)
            .order_by(PolicyVersion.name, PolicyVersion.version.desc())
        )
        rows = (await self._session.execute(newest)).all()
        return {name: cedar for name, cedar in rows if cedar is not None}

    async def _next(self, name: str, cedar: str | None, by: UUID) -> int:
        counted = (
            insert(PolicyCounter)
            .values(tenant_id=self._tenant, version=1)
            .on_conflict_do_update(
                index_elements=[PolicyCounter.tenant_id], set_={"version": PolicyCounter.version + 1}
            )
            .returning(PolicyCounter.version)
        )
        version = int((await self._session.scalars(counted)).one())
        await self._session.execute(
            insert(PolicyVersion).values(
                tenant_id=self._tenant, version=version, name=name, cedar=cedar, changed_by=by
            )
        )
        return version

    def _mine(self) -> Select[TenantPolicy]:
        return select(TenantPolicy).where(TenantPolicy.tenant_id == self._tenant)
