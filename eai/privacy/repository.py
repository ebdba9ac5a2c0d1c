"""Every query on erasures, and on the texts they look through."""

from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import and_, case, delete, exists, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import LEVELS, Classification
from eai.kernel.errors import BadRequest, NotFound
from eai.kernel.ids import DocumentId, TenantId
from eai.kernel.paging import PageRequest
from eai.knowledge.models import Chunk, DocumentVersion, KnowledgeBase, KnowledgeDocument
from eai.platform.listing import part
from eai.privacy.models import Erasure, FoundDocument
from eai.quarantine.models import Hold


class VersionText(NamedTuple):
    """A version with what it was made of and says."""

    id: UUID
    number: int
    status: str
    content_type: str
    source: bytes | None
    content: str | None
    intended: Mapping[str, Any]
    chunk_rights: Sequence[Mapping[str, Any]]
    language: str | None


class DocumentTexts(NamedTuple):
    """A document with every text that is stored of it, oldest first."""

    row: KnowledgeDocument
    level: int
    versions: Sequence[VersionText]


class ErasureRows:
    """The erasures of one tenant."""

    def __init__(self, session: AsyncSession, tenant: TenantId) -> None:
        self._session = session
        self._tenant = tenant

    async def insert(self, id_: UUID, values: Mapping[str, Any]) -> bool:
        """Add an erasure; false when its id is taken."""
        statement = insert(Erasure).values(tenant_id=self._tenant, id=id_, **values)
        added = await self._session.scalars(statement.on_conflict_do_nothing().returning(Erasure.id))
        return added.one_or_none() is not None

    async def get(self, id_: UUID, clearance: Classification | None = None) -> Erasure:
        """An erasure that did not look higher than `clearance`. Raises NotFound."""
        statement = select(Erasure).where(Erasure.tenant_id == self._tenant, Erasure.id == id_)
        if clearance is not None:
            statement = statement.where(Erasure.clearance <= clearance.rank)
        row = await self._session.scalar(statement.execution_options(populate_existing=True))
        if row is None:
            raise NotFound
        return row

    async def page(self, page: PageRequest, clearance: Classification) -> Sequence[Erasure]:
        """Erasures, the oldest first; one more than asked for when more follow."""
        mine = select(Erasure).where(Erasure.tenant_id == self._tenant, Erasure.clearance <= clearance.rank)
        return (await self._session.scalars(part(mine, Erasure, page))).all()

    async def change(self, id_: UUID, values: Mapping[str, Any]) -> None:
        """Note how far an erasure is."""
        await self._session.execute(
            update(Erasure)
            .where(Erasure.tenant_id == self._tenant, Erasure.id == id_)
            .values(**values)
            .execution_options(synchronize_session=False)
        )

    async def complete(self, id_: UUID, *, details_erased: bool | None) -> None:
        """Note that an erasure has come to its end, and forget what it looked for."""
        ended = {"state": "completed", "identifiers": None, "completed_at": func.now()}
        await self.change(id_, {**ended, "details_erased": details_erased})

    async def count(self, id_: UUID, unread: int) -> None:
        """Note that one more document was searched."""
        searched = Erasure.documents_searched + 1
        await self.change(
            id_, {"documents_searched": searched, "texts_unread": Erasure.texts_unread + unread}
        )

    async def add_found(self, id_: UUID, values: Mapping[str, Any]) -> None:
        """Note a document in which the person was found."""
        await self._session.execute(
            insert(FoundDocument).values(tenant_id=self._tenant, erasure_id=id_, **values)
        )

    async def settle(self, id_: UUID, document: DocumentId, outcome: str, code: str | None = None) -> None:
        """Note what became of a document."""
        await self._session.execute(
            update(FoundDocument)
            .where(
                FoundDocument.tenant_id == self._tenant,
                FoundDocument.erasure_id == id_,
                FoundDocument.document_id == document,
            )
            .values(outcome=outcome, code=code)
            .execution_options(synchronize_session=False)
        )

    async def found(self, id_: UUID, page: PageRequest) -> Sequence[FoundDocument]:
        """The documents found, by id; one more than asked for when more follow."""
        statement = select(FoundDocument).where(
            FoundDocument.tenant_id == self._tenant, FoundDocument.erasure_id == id_
        )
        if page.after is not None:
            statement = statement.where(FoundDocument.document_id > _document(page.after))
        ordered = statement.order_by(FoundDocument.document_id).limit(page.limit + 1)
        return (await self._session.scalars(ordered)).all()

    async def with_outcome(self, id_: UUID, outcome: str) -> Sequence[FoundDocument]:
        """The documents of an erasure that stand so."""
        statement = select(FoundDocument).where(
            FoundDocument.tenant_id == self._tenant,
            FoundDocument.erasure_id == id_,
            FoundDocument.outcome == outcome,
        )
        return (await self._session.scalars(statement.order_by(FoundDocument.document_id))).all()

    async def outcomes(self, ids: Sequence[UUID]) -> Mapping[UUID, Counter[str]]:
        """How many documents of each erasure came to what."""
        statement = (
            select(FoundDocument.erasure_id, FoundDocument.outcome, func.count())
            .where(FoundDocument.tenant_id == self._tenant, FoundDocument.erasure_id.in_(ids))
            .group_by(FoundDocument.erasure_id, FoundDocument.outcome)
        )
        counted: dict[UUID, Counter[str]] = {id_: Counter() for id_ in ids}
        for erasure, outcome, count in await self._session.execute(statement):
            counted[erasure][outcome] = count
        return counted


class TextRows:
    """The texts of one tenant's documents."""

    def __init__(self, session: AsyncSession, tenant: TenantId) -> None:
        self._session = session
        self._tenant = tenant

    async def next(self, after: UUID, clearance: int) -> DocumentTexts | None:
        """The next live document up to that level, in the order of ids."""
        return await self._one(KnowledgeDocument.id > after, _level() <= clearance)

    async def find(self, document: DocumentId) -> DocumentTexts | None:
        """The live document as it is now."""
        return await self._one(KnowledgeDocument.id == document)

    async def has_other_chunks(self, document: DocumentId, version: UUID) -> bool:
        """Whether passages of other versions are still stored."""
        others = exists().where(
            Chunk.tenant_id == self._tenant, Chunk.document_id == document, Chunk.version_id != version
        )
        return await self._session.scalar(select(others)) is True

    async def forget_before(self, document: DocumentId, number: int) -> None:
        """Empty the versions before that one, which have no passages; that they were there stays."""
        former = (
            DocumentVersion.tenant_id == self._tenant,
            DocumentVersion.document_id == document,
            DocumentVersion.number < number,
        )
        # What was found in a held text quotes it.
        ids = select(DocumentVersion.id).where(*former)
        await self._session.execute(
            delete(Hold).where(Hold.tenant_id == self._tenant, Hold.version_id.in_(ids))
        )
        empty: dict[str, Any] = {
            "source": None,
            "content": "",
            "content_hash": sha256(b"").digest(),
            "intended": {},
        }
        await self._session.execute(
            update(DocumentVersion)
            .where(*former)
            .values(**empty)
            .execution_options(synchronize_session=False)
        )

    async def _one(self, *conditions: Any) -> DocumentTexts | None:
        statement = (
            select(KnowledgeDocument, _level())
            .join(
                KnowledgeBase,
                (KnowledgeBase.tenant_id == KnowledgeDocument.tenant_id)
                & (KnowledgeBase.id == KnowledgeDocument.base_id),
            )
            .where(
                KnowledgeDocument.tenant_id == self._tenant,
                KnowledgeDocument.deleting_since.is_(None),
                KnowledgeBase.deleting_since.is_(None),
                *conditions,
            )
            .order_by(KnowledgeDocument.id)
            .limit(1)
            .execution_options(populate_existing=True)
        )
        found = (await self._session.execute(statement)).one_or_none()
        return None if found is None else DocumentTexts(found[0], found[1], await self._versions(found[0].id))

    async def _versions(self, document: UUID) -> list[VersionText]:
        statement = (
            select(
                DocumentVersion.id,
                DocumentVersion.number,
                DocumentVersion.status,
                DocumentVersion.content_type,
                DocumentVersion.source,
                DocumentVersion.content,
                DocumentVersion.intended,
                DocumentVersion.chunk_rights,
                DocumentVersion.language,
            )
            .where(DocumentVersion.tenant_id == self._tenant, DocumentVersion.document_id == document)
            .order_by(DocumentVersion.number)
        )
        return [VersionText(*row) for row in await self._session.execute(statement)]


def _level() -> Any:
    """The highest level of anything that is stored of a document, which is searched whole or not at all."""
    own = func.coalesce(KnowledgeDocument.classification, KnowledgeBase.classification)
    return func.greatest(own, _of_versions(), _of_holds())


def _of_versions() -> Any:
    """The highest level of a part of any version, or that a version was to bring which does not answer."""
    parts = case(
        *(
            (DocumentVersion.chunk_rights.contains([{"classification": level.value}]), level.rank)
            for level in reversed(LEVELS)
        )
    )
    # What the version that answers has brought is the document's own by now, and may have been lowered since.
    is_to_come = DocumentVersion.id.is_distinct_from(KnowledgeDocument.serving_version_id)
    named = and_(is_to_come, DocumentVersion.intended.has_key("classification"))
    wanted = func.coalesce(
        DocumentVersion.intended["classification"].as_integer(), KnowledgeBase.classification
    )
    return (
        select(func.max(func.greatest(parts, case((named, wanted)))))
        .where(
            DocumentVersion.tenant_id == KnowledgeDocument.tenant_id,
            DocumentVersion.document_id == KnowledgeDocument.id,
        )
        .correlate(KnowledgeDocument, KnowledgeBase)
        .scalar_subquery()
    )


def _of_holds() -> Any:
    """The highest level that a text of the document had when it was held."""
    return (
        select(func.max(Hold.classification))
        .where(Hold.tenant_id == KnowledgeDocument.tenant_id, Hold.document_id == KnowledgeDocument.id)
        .correlate(KnowledgeDocument)
        .scalar_subquery()
    )


def _document(after: Sequence[str]) -> UUID:
    try:
        return UUID(after[0])
    except (ValueError, IndexError) as error:
        raise BadRequest from error
