"""Every query on deletion receipts."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import func, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from eai.kernel.ids import TenantId
from eai.knowledge.models import DeletionReceipt


class ReceiptRows:
    """The receipts of one tenant."""

    def __init__(self, session: AsyncSession, tenant: TenantId) -> None:
        self._session = session
        self._tenant = tenant

    async def open(self, values: Mapping[str, Any]) -> None:
        """Begin a receipt."""
        await self._session.execute(
            insert(DeletionReceipt).values(tenant_id=self._tenant, status="deleting", **values)
        )

    async def find(self, receipt: UUID) -> DeletionReceipt | None:
        """The receipt of the object of this id."""
        return await self._session.get(DeletionReceipt, (self._tenant, receipt), populate_existing=True)

    async def expect(self, receipt: UUID, vectors: int) -> None:
        """Note how many vectors there are to remove, before any is: a retry finds fewer."""
        await self._change(
            receipt, {"vectors_removed": func.greatest(DeletionReceipt.vectors_removed, vectors)}
        )

    async def add(self, receipt: UUID, *, documents: int = 0, chunks: int = 0) -> None:
        """Add what was removed in this transaction."""
        await self._change(
            receipt,
            {
                "documents_removed": DeletionReceipt.documents_removed + documents,
                "chunks_removed": DeletionReceipt.chunks_removed + chunks,
            },
        )

    async def close(self, receipt: UUID, remaining: int) -> None:
        """State that it is done, and what the engine counted then."""
        values = {"status": "deleted", "vectors_remaining": remaining, "completed_at": func.now()}
        await self._change(receipt, values)

    async def _change(self, receipt: UUID, values: Mapping[str, Any]) -> None:
        await self._session.execute(
            update(DeletionReceipt)
            .where(DeletionReceipt.tenant_id == self._tenant, DeletionReceipt.id == receipt)
            .values(**values)
            .execution_options(synchronize_session=False)
        )
