"""Bases and documents over a real database and a real engine, without the ingestion pipeline."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4

import numpy as np
from sqlalchemy import text

from eai.access.acl import Entry, Permission
from eai.access.classification import LEVELS
from eai.access.rights_class import generation_key, rights_key
from eai.dlp.scanner import PatternScanner
from eai.finops.holdings import KnowledgeQuotas
from eai.ingestion.fields import FieldExamination
from eai.kernel.ids import BaseId, DocumentId, JobId, TenantId, VersionId, chunk_id, point_id
from eai.knowledge.bases.access import authorise
from eai.knowledge.bases.deletion import BaseDeletions
from eai.knowledge.bases.entries import AccessLists
from eai.knowledge.bases.handle import BaseHandle
from eai.knowledge.bases.schemas import BaseOut, NewBase
from eai.knowledge.bases.service import Bases
from eai.knowledge.chunks.rights_classes import rights_class_number
from eai.knowledge.chunks.spans import Strictest
from eai.knowledge.documents.deletion import Deletions
from eai.knowledge.documents.drafts import (
    DocumentDraft,
    PreparedChunk,
    SpanRights,
    StoredVersion,
    VersionDraft,
)
from eai.knowledge.documents.intake import create_document_with_version
from eai.knowledge.documents.repository import DocumentRows
from eai.knowledge.documents.schemas import DocumentAcl, DocumentOut
from eai.knowledge.documents.service import Documents
from eai.knowledge.documents.serving import ExtractedText, serve_version
from eai.knowledge.jobs import job_handlers
from eai.knowledge.lexical import Language, analyse_document, document_weights
from eai.knowledge.models import KnowledgeDocument
from eai.knowledge.ports import Point, SearchFilter, SearchRequest, Selector, Vectors
from eai.platform.database import Database
from eai.platform.jobs import JobRun, Jobs
from eai.platform.worker import Worker
from eai.quarantine.service import Quarantine
from tests.factories.identity import Identity, Person
from tests.fakes.models import CatalogueOfTests

EAST = np.array([1, 0, 0], np.float32)


@dataclass(frozen=True)
class Draft:
    """A document on its way: stored and its points written, not served yet."""

    base: BaseHandle
    stored: StoredVersion
    source_hash: bytes
    text: ExtractedText
    chunks: tuple[PreparedChunk, ...]


@dataclass(frozen=True)
class Knowledge:
    """Every service of knowledge over one database and one engine."""

    database: Database
    identity: Identity
    vectors: Vectors
    jobs: Jobs
    bases: Bases
    access_lists: AccessLists
    base_deletions: BaseDeletions
    documents: Documents
    deletions: Deletions
    worker: Worker = field(repr=False)

    @classmethod
    def over(cls, database: Database, vectors: Vectors, identity: Identity) -> "Knowledge":
        jobs, audit = Jobs(database), identity.audit
        return cls(
            database=database,
            identity=identity,
            vectors=vectors,
            jobs=jobs,
            bases=Bases(audit, CatalogueOfTests(), KnowledgeQuotas()),
            access_lists=AccessLists(audit),
            base_deletions=BaseDeletions(database, vectors, jobs, audit),
            documents=Documents(audit, jobs, FieldExamination(PatternScanner(), Quarantine(database))),
            deletions=Deletions(database, vectors, jobs, audit),
            worker=Worker(database, jobs, job_handlers(database, vectors, jobs, audit)),
        )

    async def base(
        self, by: Person, *entries: tuple[str, str] | tuple[str, str, str], **fields: Any
    ) -> BaseOut:
        """A new base; `entries` are added to the creator's own."""
        new = NewBase(**{"name": f"base {uuid4().hex[:8]}", **fields})
        async with self.database.transaction(by.subject.tenant) as session:
            made = await self.bases.create(session, by.subject, BaseId(uuid4()), new)
        if entries:
            await self.set_entries(by, made, *entries)
        return made

    async def set_entries(
        self, by: Person, base: BaseOut, *entries: tuple[str, str] | tuple[str, str, str]
    ) -> None:
        """`by` manages; `entries` are (reference, permission[, effect])."""
        own = Entry(me(by), Permission.MANAGE)
        listed = [own, *(Entry(e[0], Permission(e[1]), *e[2:]) for e in entries)]  # type: ignore[arg-type]
        async with self.database.transaction(by.subject.tenant) as session:
            await self.access_lists.replace(session, by.subject, str(base.id), listed, None)

    async def handle(self, by: Person, base: BaseOut) -> BaseHandle:
        """The base as `by` holds it."""
        async with self.database.transaction(by.subject.tenant) as session:
            return await authorise(session, by.subject, str(base.id))

    async def draft(
        self,
        by: Person,
        base: BaseOut,
        *passages: str,
        spans: Sequence[SpanRights] = (),
        version: StoredVersion | None = None,
        language: Language = Language.ENGLISH,
        **fields: Any,
    ) -> Draft:
        """A document, or another `version` already stored, up to where its points are written."""
        handle = await self.handle(by, base)
        content = "\n".join(passages)
        source_hash = sha256(content.encode()).digest()
        new = DocumentDraft(id=DocumentId(uuid4()), **{"title": "A document", **fields})
        if version is None:
            async with self.database.transaction(by.subject.tenant) as session:
                stored = await create_document_with_version(
                    session,
                    by.subject,
                    handle,
                    new,
                    VersionDraft(
                        VersionId(uuid4()), "text/plain", source_hash, content.encode(), tuple(spans)
                    ),
                )
        else:
            stored = version
        chunks = await self._prepare(handle, stored, passages, spans, language)
        await self.vectors.ensure_space(handle.generation.space)
        await self.vectors.upsert(handle.generation.space, [_point(handle, stored, c) for c in chunks])
        text_ = ExtractedText(content, source_hash, language.value)
        return Draft(handle, stored, source_hash, text_, tuple(chunks))

    async def serve(self, draft: Draft) -> VersionId | None:
        """Let the draft answer."""
        async with self.database.transaction(draft.base.tenant) as session:
            return await serve_version(
                session,
                self.jobs,
                draft.base,
                draft.stored,
                draft.source_hash,
                draft.text,
                draft.chunks,
            )

    async def document(self, by: Person, base: BaseOut, *passages: str, **fields: Any) -> DocumentId:
        """A document that answers."""
        draft = await self.draft(by, base, *(passages or ("Refunds are paid within a week.",)), **fields)
        await self.serve(draft)
        return draft.stored.document

    async def show(self, by: Person, base: BaseOut, document: DocumentId) -> DocumentOut:
        """The document as `by` sees it."""
        async with self.database.transaction(by.subject.tenant) as session:
            return await self.documents.get(session, by.subject, str(base.id), str(document))

    async def set_acl(self, by: Person, base: BaseOut, document: DocumentId, **acl: Any) -> DocumentOut:
        """Change a document's rights."""
        async with self.database.transaction(by.subject.tenant) as session:
            return await self.documents.set_acl(
                session, by.subject, str(base.id), str(document), DocumentAcl(**acl), revision=None
            )

    async def work(self, tenant: TenantId) -> list[str]:
        """Run every queued job of the tenant, and those they queue; tells their names."""
        names: list[str] = []
        while queued := await self.queued(tenant):
            for name, job in queued:
                await self.worker.run_one(tenant, job)
                names.append(name)
        return names

    async def queued(self, tenant: TenantId) -> list[tuple[str, JobId]]:
        """The tenant's waiting jobs, oldest first, but for those that are of other slices."""
        rows = await self.rows(
            tenant,
            "SELECT name, id FROM eai.jobs WHERE state = 'queued' AND name LIKE 'knowledge.%' "
            "ORDER BY created_at, id",
        )
        return [(name, JobId(job)) for name, job in rows]

    async def claim(self, tenant: TenantId, job: JobId) -> JobRun:
        """The next attempt at a job."""
        async with self.database.transaction(tenant) as session:
            run = await self.jobs.claim(session, tenant, job)
        assert run is not None
        return run

    async def rows(self, tenant: TenantId, statement: str, **parameters: Any) -> list[Any]:
        """What raw SQL finds, bound to the tenant."""
        async with self.database.transaction(tenant) as session:
            result = await session.execute(text(statement), parameters)
            return list(result.all()) if result.returns_rows else []

    async def count(self, base: BaseHandle, document: DocumentId | None = None) -> int:
        """Points that the engine holds."""
        return await self.vectors.count(base.generation.space, base.generation.selector(document))

    async def found(self, base: BaseHandle, class_number: int) -> set[UUID]:
        """Points that a search under this rights class finds."""
        key = rights_key(base.tenant, base.generation.id, class_number)
        scope = SearchFilter(generation_key(base.tenant, base.generation.id), (key,))
        hits = await self.vectors.search(base.generation.space, SearchRequest(scope, 100, dense=EAST))
        return {hit.id for hit in hits.dense}

    async def row(self, base: BaseHandle, document: DocumentId) -> KnowledgeDocument | None:
        """The document's row, deleting or not."""
        async with self.database.transaction(base.tenant) as session:
            return await DocumentRows(session, base.tenant, base.id).lock_any(document)

    async def _prepare(
        self,
        handle: BaseHandle,
        stored: StoredVersion,
        passages: Sequence[str],
        spans: Sequence[SpanRights],
        language: Language,
    ) -> list[PreparedChunk]:
        row = await self.row(handle, stored.document)
        assert row is not None
        chunks, start = [], 0
        for ordinal, passage in enumerate(passages):
            own = Strictest(spans).between(start, start + len(passage))
            async with self.database.transaction(handle.tenant) as session:
                number = await rights_class_number(
                    session,
                    handle.tenant,
                    handle.id,
                    row.readers,
                    own.readers,
                    None if row.classification is None else LEVELS[row.classification],
                    own.classification,
                    row.source_connector,
                )
            chunks.append(
                PreparedChunk(
                    chunk=chunk_id(stored.document, stored.version, start, start + len(passage)),
                    ordinal=ordinal,
                    start=start,
                    end=start + len(passage),
                    content=passage,
                    readers=own.readers,
                    classification=own.classification,
                    class_number=number,
                    language=language.value,
                    terms=analyse_document(passage, language),
                    embedding=EAST,
                )
            )
            start += len(passage) + 1
        return chunks


def me(person: Person) -> str:
    """How access lists name somebody."""
    return f"{person.subject.kind}:{person.subject.principal}"


def points_of(draft: Draft) -> Selector:
    """The points of a draft's version."""
    return draft.base.generation.selector(draft.stored.document, draft.stored.version)


def _point(base: BaseHandle, stored: StoredVersion, chunk: PreparedChunk) -> Point:
    return Point(
        id=point_id(chunk.chunk, base.generation.id),
        dense=chunk.embedding,
        sparse=document_weights(chunk.terms, base.generation.average_length),
        rights_key=rights_key(base.tenant, base.generation.id, chunk.class_number),
        generation_key=generation_key(base.tenant, base.generation.id),
        document=stored.document,
        version=stored.version,
    )
