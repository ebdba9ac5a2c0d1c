"""Every query that follows a document."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import orjson
from sqlalchemy import ColumnElement, func, select, text, true
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import defer

from eai.access.subject import Subject
from eai.kernel.errors import BadRequest
from eai.kernel.ids import DocumentId, PrincipalId, TenantId
from eai.kernel.paging import PageRequest
from eai.knowledge.bases.handle import BaseHandle
from eai.knowledge.models import (
    Chunk,
    DocumentRetrievals,
    DocumentVersion,
    Generation,
    KnowledgeDocument,
)
from eai.knowledge.visibility import readable_chunks, readable_documents

SCANNED = 20_000
"""How many questions one page of answers looks through at most: some tens of milliseconds."""


class Passage(NamedTuple):
    """A passage in however many generations."""

    chunk: UUID
    version: int
    ordinal: int
    start: int
    end: int
    generations: Sequence[UUID]


class Placed(NamedTuple):
    """How many passages of a version a generation holds, of those that were to be counted."""

    generation: Generation
    chunks: int


class Answer(NamedTuple):
    """A question of the audit that was answered with passages of the document."""

    seq: int
    occurred_at: datetime
    said: Mapping[str, Any]


class Scanned(NamedTuple):
    """Answers among the questions up to `upto`; None: there are no more questions."""

    answers: list[Answer]
    upto: int | None


class LineageRows:
    """What is stored of one document."""

    def __init__(self, session: AsyncSession, tenant: TenantId, document: DocumentId) -> None:
        self._session = session
        self._tenant = tenant
        self._document = document

    async def find(self, base: UUID) -> KnowledgeDocument | None:
        """The document, if it is in this base; live or not."""
        return await self._session.scalar(
            select(KnowledgeDocument).where(
                KnowledgeDocument.tenant_id == self._tenant,
                KnowledgeDocument.id == self._document,
                KnowledgeDocument.base_id == base,
            )
        )

    async def versions(self, page: PageRequest) -> Sequence[DocumentVersion]:
        """Versions without their texts, newest first; one more than asked for when more follow."""
        statement = select(DocumentVersion).where(*self._of(DocumentVersion))
        if page.after is not None:
            (before,) = _numbers(page.after, 1)
            statement = statement.where(DocumentVersion.number < before)
        heavy = (defer(DocumentVersion.source), defer(DocumentVersion.content))
        ordered = statement.options(*heavy).order_by(DocumentVersion.number.desc()).limit(page.limit + 1)
        return (await self._session.scalars(ordered)).all()

    async def count_versions(self) -> int:
        """How many there are."""
        statement = select(func.count()).select_from(DocumentVersion).where(*self._of(DocumentVersion))
        return (await self._session.scalars(statement)).one()

    async def number_of(self, version: UUID | None) -> int | None:
        """The number of a version."""
        statement = select(DocumentVersion.number).where(*self._of(DocumentVersion))
        return await self._session.scalar(statement.where(DocumentVersion.id == version))

    async def retrievals(self) -> tuple[int, datetime | None]:
        """How many answers cited the document, and when the last one did."""
        row = await self._session.get(DocumentRetrievals, (self._tenant, self._document))
        return (0, None) if row is None else (row.retrieval_count, row.last_retrieved_at)

    async def placed(
        self, versions: Sequence[UUID], *readable: ColumnElement[bool]
    ) -> Mapping[UUID, list[Placed]]:
        """In which generations these versions have passages, and how many of them are `readable`."""
        statement = (
            select(Chunk.version_id, Generation, func.count().filter(true(), *readable))
            .join(
                Generation,
                (Generation.tenant_id == Chunk.tenant_id) & (Generation.id == Chunk.generation),
            )
            .join(
                KnowledgeDocument,
                (KnowledgeDocument.tenant_id == Chunk.tenant_id)
                & (KnowledgeDocument.id == Chunk.document_id),
            )
            .where(*self._of(Chunk), Chunk.version_id.in_(versions))
            .group_by(Chunk.version_id, *Generation.__table__.columns)
            .order_by(Generation.created_at, Generation.id)
        )
        placed: dict[UUID, list[Placed]] = defaultdict(list)
        for version, generation, chunks in await self._session.execute(statement):
            placed[version].append(Placed(generation, chunks))
        return placed

    async def passages(
        self, page: PageRequest, version: int | None, *readable: ColumnElement[bool]
    ) -> list[Passage]:
        """Passages by version, the newest first, and place; one more than asked for when more follow."""
        number, start = DocumentVersion.number, Chunk.start_offset
        statement = (
            select(
                Chunk.chunk_id,
                number,
                func.min(Chunk.ordinal),
                start,
                Chunk.end_offset,
                func.array_agg(Chunk.generation),
            )
            .join(
                DocumentVersion,
                (DocumentVersion.tenant_id == Chunk.tenant_id) & (DocumentVersion.id == Chunk.version_id),
            )
            .join(
                KnowledgeDocument,
                (KnowledgeDocument.tenant_id == Chunk.tenant_id)
                & (KnowledgeDocument.id == Chunk.document_id),
            )
            .where(*self._of(Chunk), *readable)
            .group_by(Chunk.chunk_id, number, start, Chunk.end_offset)
        )
        if version is not None:
            statement = statement.where(number == version)
        if page.after is not None:
            last = _numbers(page.after, 3)
            after = func.row(-number, start, Chunk.end_offset) > func.row(-last[0], last[1], last[2])
            statement = statement.where(after)
        ordered = statement.order_by(number.desc(), start, Chunk.end_offset).limit(page.limit + 1)
        return [Passage(*row) for row in await self._session.execute(ordered)]

    async def answers(self, after: int, limit: int, asked_by: PrincipalId | None) -> Scanned:
        """Answers that cited the document, the oldest first, among the next SCANNED questions."""
        parameters = {"tenant": self._tenant, "after": after, "most": SCANNED}
        upto, seen = (await self._session.execute(_REACH, parameters)).one()
        if not seen:
            return Scanned([], None)
        needle = f'"{self._document}"'.encode()
        parameters |= {"upto": upto, "needle": needle, "limit": limit, "asked_by": asked_by}
        rows = (await self._session.execute(_CITING, parameters)).all()
        answers = [Answer(row.seq, row.occurred_at, orjson.loads(row.body)) for row in rows]
        if len(answers) == limit:
            return Scanned(answers, answers[-1].seq)
        return Scanned(answers, upto if seen == SCANNED else None)

    def _of(self, model: type[DocumentVersion] | type[Chunk]) -> tuple[ColumnElement[bool], ...]:
        return model.tenant_id == self._tenant, model.document_id == self._document


def readable_by(subject: Subject, base: BaseHandle) -> tuple[ColumnElement[bool], ...]:
    """The passages that a question of `subject` could be answered with."""
    return readable_documents(subject, base.rights, base.classification), readable_chunks(subject)


def _numbers(after: Sequence[str], count: int) -> list[int]:
    try:
        numbers = [int(each) for each in after]
    except ValueError as error:
        raise BadRequest from error
    if len(numbers) != count:
        raise BadRequest
    return numbers


# Walks the index of actions: how many bodies are then looked through is known beforehand.
_REACH = text("""
    SELECT max(seq), count(*) FROM (
           SELECT seq FROM eai.audit_events
            WHERE tenant_id = :tenant AND action = 'knowledge.query' AND seq > :after
            ORDER BY seq LIMIT :most) AS questions""")
_CITING = text("""
    SELECT seq, occurred_at, body FROM eai.audit_events
     WHERE tenant_id = :tenant AND action = 'knowledge.query' AND seq > :after AND seq <= :upto
       AND decision = 'allow' AND position(CAST(:needle AS bytea) IN body) > 0
       AND (CAST(:asked_by AS uuid) IS NULL OR actor_principal = CAST(:asked_by AS uuid))
     ORDER BY seq LIMIT :limit""")
