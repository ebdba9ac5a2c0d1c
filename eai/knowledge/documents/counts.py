"""Counts of retrievals whose document is gone: an answer on its way when it was deleted brings them back."""

import time

from sqlalchemy import delete, exists, select

from eai.kernel.ids import TenantId
from eai.knowledge.models import DocumentRetrievals, KnowledgeDocument
from eai.platform.database import Database
from eai.tenants.repository import list_tenant_ids

INTERVAL_S = 3600.0
BATCH = 1_000


class RetrievalCounts:
    """Forgets what nobody can be shown any more. Running it in several processes is harmless."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._due_at = 0.0

    async def forget_due(self) -> None:
        """Clear up after every tenant, once an hour: each time all counts of a tenant are looked at."""
        if time.monotonic() < self._due_at:
            return
        for tenant in await list_tenant_ids(self._database):
            await self.forget(tenant)
        self._due_at = time.monotonic() + INTERVAL_S

    async def forget(self, tenant: TenantId) -> None:
        """Remove a thousand such counts of `tenant` at most."""
        document = (
            KnowledgeDocument.tenant_id == DocumentRetrievals.tenant_id,
            KnowledgeDocument.id == DocumentRetrievals.document_id,
        )
        gone = (
            select(DocumentRetrievals.document_id)
            .where(DocumentRetrievals.tenant_id == tenant, ~exists().where(*document))
            .limit(BATCH)
        )
        mine = (DocumentRetrievals.tenant_id == tenant, DocumentRetrievals.document_id.in_(gone))
        async with self._database.transaction(tenant) as session:
            await session.execute(delete(DocumentRetrievals).where(*mine))
