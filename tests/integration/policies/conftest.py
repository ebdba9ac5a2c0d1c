from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from eai.access.subject import Subject
from eai.integrations.cedar import CedarEngine
from eai.kernel.ids import TenantId
from eai.platform.database import Database
from eai.policies.ports import OutsidePolicies
from eai.policies.repository import PolicyRows
from eai.policies.rule_sets import RuleSets
from eai.policies.schemas import PolicyOut, PolicyText
from eai.policies.service import Policies
from eai.policies.tenant_policies import TenantPolicies
from tests.factories.identity import Identity
from tests.factories.policies import question


@dataclass(frozen=True)
class Officers:
    """Policies over one database, changed and asked in transactions of their own."""

    database: Database
    identity: Identity
    engine: CedarEngine
    tenant_policies: TenantPolicies

    async def officer(self) -> Subject:
        """Whoever keeps the policies of a new tenant."""
        return (await self.identity.administrator()).subject

    async def put(self, by: Subject, name: str, cedar: str, revision: int | None = None) -> PolicyOut:
        async with self.database.transaction(by.tenant) as session:
            wanted = PolicyText(cedar=cedar)
            return await self.tenant_policies.put(session, by, name, wanted, revision=revision)

    async def delete(self, by: Subject, name: str, revision: int | None = None) -> None:
        async with self.database.transaction(by.tenant) as session:
            await self.tenant_policies.delete(session, by, name, revision=revision)

    async def at(self, tenant: TenantId, version: int) -> dict[str, str]:
        async with self.database.transaction(tenant) as session:
            return dict(await PolicyRows(session, tenant).at(version))

    def deciding(self, outside: OutsidePolicies | None = None) -> Policies:
        """A process that has read nothing yet."""
        return Policies(self.engine, RuleSets(self.database, self.engine), outside)

    async def require(self, tenant: TenantId, version: int, **changes: Any) -> None:
        """What a process that knows nothing yet says about a call."""
        await self.deciding().require(question(tenant=tenant, version=version, **changes))


@pytest.fixture(scope="session")
async def officers(database: Database) -> AsyncIterator[Officers]:
    identity, engine = Identity.over(database), CedarEngine()
    yield Officers(database, identity, engine, TenantPolicies(identity.audit, engine))
    await identity.audit.close()
