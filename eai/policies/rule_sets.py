"""Tenants' policies as they are evaluated: read once for each version, and kept while they are in use."""

import asyncio
from collections import OrderedDict

from eai.kernel.ids import TenantId
from eai.platform.database import Database
from eai.policies.ports import PolicyEngine, Rules
from eai.policies.repository import PolicyRows

MOST_KEPT = 1_000


class RuleSets:
    """The set of a tenant at a version, which never changes: whoever asks names the version.

    None stands for a version at which the tenant had no policies.
    """

    def __init__(self, database: Database, engine: PolicyEngine, *, most_kept: int = MOST_KEPT) -> None:
        self._database = database
        self._engine = engine
        self._most_kept = most_kept
        self._kept: OrderedDict[tuple[TenantId, int], Rules | None] = OrderedDict()
        self._reading = asyncio.Lock()

    async def of(self, tenant: TenantId, version: int) -> Rules | None:
        """The set. Raises PolicyFailed when it cannot be read."""
        key = tenant, version
        if key not in self._kept:
            # Whoever waits for the same set finds it read.
            async with self._reading:
                if key not in self._kept:
                    self._keep(key, await self._read(tenant, version))
        self._kept.move_to_end(key)
        return self._kept[key]

    async def _read(self, tenant: TenantId, version: int) -> Rules | None:
        async with self._database.transaction(tenant) as session:
            texts = await PolicyRows(session, tenant).at(version)
        return await self._engine.narrowing(texts) if texts else None

    def _keep(self, key: tuple[TenantId, int], rules: Rules | None) -> None:
        self._kept[key] = rules
        while len(self._kept) > self._most_kept:
            self._kept.popitem(last=False)
