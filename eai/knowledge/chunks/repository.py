"""Every query on chunks."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import Classification, level_at, rank_of
from eai.access.subject import Subject
from eai.kernel.ids import ChunkId, DocumentId, GenerationId, PointId, TenantId, VersionId
from eai.knowledge.models import Chunk, KnowledgeDocument
from eai.knowledge.ports import SpaceId
from eai.knowledge.visibility import readable_chunks


@dataclass(frozen=True, slots=True)
class ChunkRights:
    """A chunk's own rights, and where it stands."""

    point: PointId
    generation: GenerationId
    version: VersionId
    start: int
    end: int
    readers: frozenset[str] | None
    classification: Classification | None
    class_number: int
    language: str


@dataclass(frozen=True, slots=True)
class ChunkText:
    """What a chunk says, and in which language."""

    point: PointId
    language: str
    content: str


class ChunkRows:
    """The chunks of one tenant."""

    def __init__(self, session: AsyncSession, tenant: TenantId) -> None:
        self._session = session
        self._tenant = tenant

    async def insert(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add chunks."""
        if rows:
            await self._session.execute(insert(Chunk), [{"tenant_id": self._tenant, **row} for row in rows])

    async def rights(self, document: DocumentId) -> list[ChunkRights]:
        """What guards each chunk of a document, in every generation."""
        rows = await self._session.execute(
            select(
                Chunk.id,
                Chunk.generation,
                Chunk.version_id,
                Chunk.start_offset,
                Chunk.end_offset,
                Chunk.readers,
                Chunk.classification,
                Chunk.class_number,
                Chunk.language,
            )
            .where(*self._of(document))
            .order_by(Chunk.generation, Chunk.ordinal)
        )
        return [
            ChunkRights(
                point=PointId(point),
                generation=GenerationId(generation),
                version=VersionId(version),
                start=start,
                end=end,
                readers=None if readers is None else frozenset(readers),
                classification=level_at(level),
                class_number=number,
                language=language,
            )
            for point, generation, version, start, end, readers, level, number, language in rows
        ]

    async def contents(self, points: Collection[PointId]) -> Mapping[PointId, str]:
        """The text of these chunks."""
        rows = await self._session.execute(
            select(Chunk.id, Chunk.content).where(Chunk.tenant_id == self._tenant, Chunk.id.in_(points))
        )
        return {PointId(point): content for point, content in rows}

    async def set_rights(
        self,
        points: Collection[PointId],
        *,
        class_number: int,
        readers: Collection[str] | None,
        classification: Classification | None,
    ) -> None:
        """Give these chunks the same rights and class."""
        await self._session.execute(
            update(Chunk)
            .where(Chunk.tenant_id == self._tenant, Chunk.id.in_(points))
            .values(
                class_number=class_number,
                readers=None if readers is None else sorted(readers),
                classification=rank_of(classification),
            )
            .execution_options(synchronize_session=False)
        )

    async def texts(
        self, generation: GenerationId, document: DocumentId | None, after: PointId | None, limit: int
    ) -> list[ChunkText]:
        """The next chunks of a generation, or of one document in it, by point id."""
        statement = select(Chunk.id, Chunk.language, Chunk.content).where(
            Chunk.tenant_id == self._tenant, Chunk.generation == generation
        )
        if document is not None:
            statement = statement.where(Chunk.document_id == document)
        if after is not None:
            statement = statement.where(Chunk.id > after)
        rows = await self._session.execute(statement.order_by(Chunk.id).limit(limit))
        return [ChunkText(PointId(point), language, content) for point, language, content in rows]

    async def vectors_of_others(
        self, generation: GenerationId, space: SpaceId, document: DocumentId, most: int
    ) -> NDArray[np.float32]:
        """Vectors of passages of other documents that answer: the same ones for as long as those do.

        Which ones says nothing of what they are: ids are digests.
        """
        statement = (
            select(Chunk.embedding)
            .join(
                KnowledgeDocument,
                (KnowledgeDocument.tenant_id == Chunk.tenant_id)
                & (KnowledgeDocument.id == Chunk.document_id)
                & (KnowledgeDocument.serving_version_id == Chunk.version_id),
            )
            .where(Chunk.tenant_id == self._tenant, Chunk.generation == generation)
            .where(Chunk.document_id != document, KnowledgeDocument.deleting_since.is_(None))
            .order_by(Chunk.id)
            .limit(most)
        )
        found = [np.frombuffer(each, "<f4") for each in await self._session.scalars(statement)]
        return np.stack(found) if found else np.zeros((0, space.dimensions), np.float32)

    async def find_serving(
        self, document: DocumentId, generation: GenerationId, chunk: ChunkId
    ) -> Chunk | None:
        """The chunk, if the version it belongs to answers."""
        statement = (
            select(Chunk)
            .join(
                KnowledgeDocument,
                (KnowledgeDocument.tenant_id == Chunk.tenant_id)
                & (KnowledgeDocument.id == Chunk.document_id)
                & (KnowledgeDocument.serving_version_id == Chunk.version_id),
            )
            .where(*self._of(document), Chunk.generation == generation, Chunk.chunk_id == chunk)
        )
        return await self._session.scalar(statement)

    async def count_serving(
        self, documents: Collection[UUID], generation: GenerationId, reader: Subject | None
    ) -> Mapping[UUID, int]:
        """How many chunks of each document answer; for a `reader`, only those it may read."""
        counted: ColumnElement[bool] = Chunk.version_id == KnowledgeDocument.serving_version_id
        if reader is not None:
            counted = readable_chunks(reader)
        rows = await self._session.execute(
            select(Chunk.document_id, func.count())
            .join(
                KnowledgeDocument,
                (KnowledgeDocument.tenant_id == Chunk.tenant_id)
                & (KnowledgeDocument.id == Chunk.document_id),
            )
            .where(Chunk.tenant_id == self._tenant, Chunk.document_id.in_(documents))
            .where(Chunk.generation == generation, counted)
            .group_by(Chunk.document_id)
        )
        return dict(rows.all())

    async def number_anew(self, document: DocumentId, version: VersionId, generation: GenerationId) -> None:
        """Give a version's chunks in a generation the ordinals of their order in the text."""
        place = func.row_number().over(order_by=(Chunk.start_offset, Chunk.end_offset)) - 1
        mine = (*self._of(document), Chunk.version_id == version, Chunk.generation == generation)
        counted = select(Chunk.id, place.label("place")).where(*mine).subquery()
        await self._session.execute(
            update(Chunk)
            .where(*mine, Chunk.id == counted.c.id, Chunk.ordinal != counted.c.place)
            .values(ordinal=counted.c.place)
            .execution_options(synchronize_session=False)
        )

    async def delete_chunks(self, points: Collection[PointId]) -> None:
        """Remove the chunks of these points."""
        await self._delete(Chunk.tenant_id == self._tenant, Chunk.id.in_(points))

    async def delete_of_version(self, document: DocumentId, version: VersionId) -> int:
        """Remove the chunks of one version; tells how many."""
        return await self._delete(*self._of(document), Chunk.version_id == version)

    async def delete_of_document(self, document: DocumentId) -> int:
        """Remove all chunks of a document; tells how many."""
        return await self._delete(*self._of(document))

    async def delete_some(self, base: UUID, limit: int) -> int:
        """Remove up to `limit` chunks of a base; tells how many."""
        some = select(Chunk.id).where(Chunk.tenant_id == self._tenant, Chunk.base_id == base).limit(limit)
        return await self._delete(Chunk.tenant_id == self._tenant, Chunk.id.in_(some))

    async def _delete(self, *which: ColumnElement[bool]) -> int:
        result = await self._session.execute(
            delete(Chunk).where(*which).execution_options(synchronize_session=False)
        )
        return int(getattr(result, "rowcount", 0))

    def _of(self, document: DocumentId) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
        return Chunk.tenant_id == self._tenant, Chunk.document_id == document
