"""Gives tenants new keys while everybody works, and lets the former ones go."""

from uuid import uuid4

from eai.audit.actions import AuditAction
from eai.audit.entries import SYSTEM, Resource
from eai.audit.service import Audit
from eai.kernel.ids import JobId, TenantId
from eai.platform.database import Database
from eai.platform.jobs import JobRun, Jobs
from eai.platform.key_rows import TenantKeyRows, tenants_with_due_keys
from eai.platform.keys import Keyring
from eai.tenants.repository import list_tenant_ids

REWRAP_KEYS = "tenants.rewrap_keys"
FORMER_KEPT_S = 25 * 3600
"""Longer than anything lives that is sealed under a tenant's key, which is a day; erasures seal anew."""


class KeyRewrapping:
    """One per process."""

    def __init__(self, database: Database, keyring: Keyring, jobs: Jobs, audit: Audit) -> None:
        self._database = database
        self._keyring = keyring
        self._jobs = jobs
        self._audit = audit

    async def request(self, only: TenantId | None = None) -> int:
        """Queue a job for every tenant, the platform's own among them, or for one; tells for how many."""
        tenants = [each for each in await list_tenant_ids(self._database) if only in {None, each}]
        for tenant in tenants:
            async with self._database.transaction(tenant) as session:
                await self._jobs.create(session, tenant, JobId(uuid4()), REWRAP_KEYS, {})
        return len(tenants)

    async def run(self, run: JobRun) -> None:
        """Give each purpose of the tenant a key of the next epoch. Raises Fenced.

        Nothing has to wait: processes learn of it within a minute, and what was sealed meanwhile under the
        former key opens until nothing of it is left.
        """
        async with self._database.transaction(run.tenant) as session:
            epochs = await self._keyring.succeed(session, run.tenant, kept_s=FORMER_KEPT_S)
            await self._jobs.complete(session, run)
            await self._audit.record(
                session,
                SYSTEM,
                AuditAction.TENANT_KEYS_REWRAP,
                tenant=run.tenant,
                resource=Resource("tenant", str(run.tenant)),
                facts={"epochs": dict(epochs)},
            )
        self._keyring.forget(run.tenant)

    async def remove_due(self) -> None:
        """Remove the former keys whose time is over; any worker may, as often as it likes."""
        for tenant in await tenants_with_due_keys(self._database):
            async with self._database.transaction(tenant) as session:
                await TenantKeyRows(session, tenant).remove_due()
