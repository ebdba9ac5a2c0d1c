"""Every query on documents and their versions."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, delete, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from eai.kernel.ids import BaseId, DocumentId, TenantId, VersionId
from eai.knowledge.documents.version_rows import newest_id
from eai.knowledge.models import DocumentRetrievals, DocumentVersion, KnowledgeDocument


class DocumentRows:
    """The documents of one base."""

    def __init__(self, session: AsyncSession, tenant: TenantId, base: BaseId) -> None:
        self._session = session
        self._tenant = tenant
        self._base = base

    async def lock(self, document: DocumentId) -> KnowledgeDocument | None:
        """The live document, held until the transaction ends."""
        live = self._mine(document).where(KnowledgeDocument.deleting_since.is_(None))
        return await self._locked(live)

    async def lock_any(self, document: DocumentId) -> KnowledgeDocument | None:
        """The document, deleting or not, held until the transaction ends."""
        return await self._locked(self._mine(document))

    async def find(self, document: DocumentId, visible: ColumnElement[bool]) -> KnowledgeDocument | None:
        """The document, where `visible` holds."""
        statement = self._mine(document).where(visible)
        return await self._session.scalar(statement.execution_options(populate_existing=True))

    async def find_external(self, connector: str, external_id: str) -> KnowledgeDocument | None:
        """The live document that a source knows under `external_id`."""
        statement = select(KnowledgeDocument).where(
            *self._of_base(),
            KnowledgeDocument.deleting_since.is_(None),
            KnowledgeDocument.source_connector == connector,
            KnowledgeDocument.external_id == external_id,
        )
        return await self._session.scalar(statement)

    async def copies(
        self, connector: str, source_hash: bytes, content_type: str, readable: ColumnElement[bool]
    ) -> Sequence[tuple[KnowledgeDocument, VersionId]]:
        """Documents without external id of which the last text reads these bytes alike, oldest first.

        The last one that has not failed: a text that is still on its way counts, not the one it replaces. One
        that failed is in nobody's way, and stays where it is: it may be another's, who can mend what is wrong
        and queue it again; and what is removed is removed under a receipt, by whoever asks for that.
        """
        statement = (
            select(KnowledgeDocument, DocumentVersion.id)
            .join(
                DocumentVersion,
                (DocumentVersion.tenant_id == KnowledgeDocument.tenant_id)
                & (DocumentVersion.document_id == KnowledgeDocument.id),
            )
            .where(*self._of_base(), readable, DocumentVersion.id == newest_id(is_sound=True))
            .where(DocumentVersion.source_hash == source_hash)
            .where(DocumentVersion.content_type == content_type)
            .where(KnowledgeDocument.source_connector == connector, KnowledgeDocument.external_id.is_(None))
            .order_by(KnowledgeDocument.created_at, KnowledgeDocument.id)
        )
        return [(document, VersionId(v)) for document, v in (await self._session.execute(statement))]

    async def lock_content(self, connector: str, source_hash: bytes) -> None:
        """Make others who bring the same text into this base and source wait for this transaction."""
        await self._take_turns(f"{self._tenant}:{self._base}:{connector}:{source_hash.hex()}")

    async def lock_external(self, connector: str, external_id: str) -> None:
        """Make others who bring what a source calls so into this base wait for this transaction."""
        await self._take_turns(f"external:{self._tenant}:{self._base}:{connector}:{external_id}")

    async def insert(self, values: Mapping[str, Any]) -> bool:
        """Add a document; false when its id, or its external id, is taken."""
        statement = insert(KnowledgeDocument).values(tenant_id=self._tenant, base_id=self._base, **values)
        added = await self._session.scalars(
            statement.on_conflict_do_nothing().returning(KnowledgeDocument.id)
        )
        return added.one_or_none() is not None

    async def update(self, document: DocumentId, values: Mapping[str, Any]) -> None:
        """Change a document's row and raise its revision."""
        await self._session.execute(
            update(KnowledgeDocument)
            .where(KnowledgeDocument.tenant_id == self._tenant, KnowledgeDocument.id == document)
            .values(revision=KnowledgeDocument.revision + 1, **values)
            .execution_options(synchronize_session=False)
        )

    async def delete(self, document: DocumentId) -> None:
        """Remove a document's rows, but for its chunks, which must be gone."""
        counted = (DocumentRetrievals.tenant_id == self._tenant, DocumentRetrievals.document_id == document)
        await self._session.execute(delete(DocumentRetrievals).where(*counted))
        mine = (KnowledgeDocument.tenant_id == self._tenant, KnowledgeDocument.id == document)
        await self._session.execute(delete(KnowledgeDocument).where(*mine))

    async def is_worked_on(self, document: DocumentId, names: Collection[str]) -> bool:
        """Whether a job of one of these names, for this document, waits or has begun."""
        values = {"tenant": self._tenant, "document": str(document), "names": list(names)}
        return bool(await self._session.scalar(_IS_WORKED_ON, values))

    async def some_ids(self, limit: int) -> Sequence[DocumentId]:
        """Some documents of the base, deleting or not."""
        # In the order in which others who hold several documents of a base take them.
        statement = (
            select(KnowledgeDocument.id).where(*self._of_base()).order_by(KnowledgeDocument.id).limit(limit)
        )
        return [DocumentId(found) for found in await self._session.scalars(statement)]

    def _mine(self, document: DocumentId) -> Select[KnowledgeDocument]:
        return select(KnowledgeDocument).where(*self._of_base(), KnowledgeDocument.id == document)

    def _of_base(self) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
        return KnowledgeDocument.tenant_id == self._tenant, KnowledgeDocument.base_id == self._base

    async def _take_turns(self, lock: str) -> None:
        await self._session.execute(
            text("SELECT pg_advisory_xact_lock(hashtextextended(:lock, 0))"), {"lock": lock}
        )

    async def _locked(self, statement: Select[KnowledgeDocument]) -> KnowledgeDocument | None:
        held = statement.with_for_update().execution_options(populate_existing=True)
        return await self._session.scalar(held)


_IS_WORKED_ON = text("""
    SELECT EXISTS (SELECT FROM eai.jobs
                    WHERE tenant_id = :tenant AND state IN ('queued', 'running') AND name = ANY (:names)
                      AND document = :document)""")
