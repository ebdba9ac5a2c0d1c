"""Reads what is served of a document, for whoever cuts it anew, and which points that leaves over."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Select, select, text
from sqlalchemy.ext.asyncio import AsyncSession

from eai.ingestion.pieces import Served
from eai.ingestion.repository import NO_RIGHTS, generation_at
from eai.kernel.ids import BaseId, DocumentId, GenerationId, PointId, TenantId, VersionId
from eai.knowledge.bases.access import handle_of
from eai.knowledge.bases.handle import BaseHandle, BuildingGeneration, StoredGeneration
from eai.knowledge.bases.repository import BaseRows
from eai.knowledge.chunks.repository import ChunkRows
from eai.knowledge.chunks.spans import Strictest, spans_from_rows
from eai.knowledge.documents.levels import found_level
from eai.knowledge.documents.repository import DocumentRows
from eai.knowledge.documents.version_rows import VersionRows
from eai.knowledge.lexical import Language
from eai.knowledge.models import Chunk, Generation, KnowledgeBase, KnowledgeDocument
from eai.platform.jobs import JobRun


async def load_served(session: AsyncSession, run: JobRun, *, with_text: bool = True) -> Served | None:
    """What the job's document says, and who may read its parts; None where that version does not answer."""
    version, document = (
        VersionId(UUID(run.parameters["version"])),
        DocumentId(UUID(run.parameters["document"])),
    )
    rows = BaseRows(session, run.tenant)
    base = await rows.find(run.parameters["base"])
    if base is None:
        return None
    is_live = KnowledgeDocument.deleting_since.is_(None)
    row = await DocumentRows(session, run.tenant, BaseId(base.id)).find(document, is_live)
    versions = VersionRows(session, run.tenant, document)
    stored = await versions.find(version)
    if row is None or stored is None or row.serving_version_id != version:
        return None
    handle = handle_of(base, NO_RIGHTS, await rows.average_length(base))
    building = await rows.building(handle.id)
    text, _ = await versions.text_of(version) if with_text else ("", {})
    chunks = await ChunkRows(session, run.tenant).rights(document)
    return Served(
        base=handle,
        targets=[_searched(handle), *([building] if building else [])],
        document=row,
        version=version,
        strictest=Strictest(spans_from_rows(stored.chunk_rights), found_level(row)),
        chunks=[chunk for chunk in chunks if chunk.version == version],
        text=text,
    )


def _searched(base: BaseHandle) -> BuildingGeneration:
    """The generation that is searched, with how its passages are made."""
    generation = base.generation
    return BuildingGeneration(
        base.tenant,
        generation.id,
        generation.space,
        generation.average_length,
        base.embedding_model,
        base.chunk_size,
        base.chunk_overlap,
    )


async def generations_written(
    session: AsyncSession, run: JobRun, base: BaseId, progress: Mapping[str, Any]
) -> list[StoredGeneration]:
    """Everywhere that attempts at the job may have written points: also where the base is gone by now."""
    known = [progress[place] for place in ("placement", "beside") if progress.get(place)]
    found = [generation_at(run.tenant, each) for each in known]
    found += await BaseRows(session, run.tenant).generations(base)
    return list({generation.id: generation for generation in found}.values())


@dataclass(frozen=True, slots=True)
class Projected:
    """What decides where the point of a chunk that answers is, and what it carries."""

    generation: GenerationId
    class_number: int
    average_length: float


@dataclass(frozen=True, slots=True)
class Matter:
    """What the point of such a chunk is made of."""

    at: Projected
    version: VersionId
    language: Language
    content: str
    embedding: bytes


async def stored_points(session: AsyncSession, tenant: TenantId, points: Collection[PointId]) -> set[PointId]:
    """Those of the points that have a row."""
    rows = await session.scalars(select(Chunk.id).where(Chunk.tenant_id == tenant, Chunk.id.in_(points)))
    return set(map(PointId, rows))


async def projected(
    session: AsyncSession, tenant: TenantId, points: Collection[PointId]
) -> dict[PointId, Projected]:
    """Those of the points that the store is to have: of text that answers, where nothing is being dropped."""
    rows = await session.execute(_answering(tenant, points, Chunk.id, *_PROJECTED))
    return {PointId(id_): Projected(GenerationId(own), *more) for id_, own, *more in rows}


async def matter_of(
    session: AsyncSession, tenant: TenantId, points: Collection[PointId]
) -> dict[PointId, Matter]:
    """The same with what they are made of."""
    columns = (Chunk.version_id, Chunk.language, Chunk.content, Chunk.embedding)
    rows = await session.execute(_answering(tenant, points, Chunk.id, *_PROJECTED, *columns))
    return {
        PointId(id_): Matter(
            Projected(GenerationId(own), number, average),
            VersionId(version),
            Language(language),
            said,
            vector,
        )
        for id_, own, number, average, version, language, said, vector in rows
    }


def _answering(tenant: TenantId, points: Collection[PointId], *columns: Any) -> Select[Any]:
    document, generation, base = KnowledgeDocument, Generation, KnowledgeBase
    return (
        select(*columns)
        .join(document, (document.tenant_id == Chunk.tenant_id) & (document.id == Chunk.document_id))
        .join(generation, (generation.tenant_id == Chunk.tenant_id) & (generation.id == Chunk.generation))
        .join(base, (base.tenant_id == Chunk.tenant_id) & (base.id == Chunk.base_id))
        .where(Chunk.tenant_id == tenant, Chunk.id.in_(points))
        .where(document.serving_version_id == Chunk.version_id, document.deleting_since.is_(None))
        .where(base.deleting_since.is_(None), generation.state != "dropping")
    )


_PROJECTED = (Chunk.generation, Chunk.class_number, Generation.average_length)


async def touched_points(session: AsyncSession, run: JobRun) -> set[PointId]:
    """The points that the job has cut or written, or has to look after for others that cut this version.

    Those leave theirs to whoever is to cut it next, which is there by then: a transaction that waits long
    may have begun before it was, hence the hour.
    """
    known = await session.scalars(
        _TOUCHED,
        {
            "tenant": run.tenant,
            "job": run.job,
            "name": run.name,
            "document": run.parameters["document"],
            "version": run.parameters["version"],
        },
    )
    found = [run.parameters.get("touched", ()), *known]
    return {PointId(UUID(point)) for points in found for point in points}


_TOUCHED = text("""
    SELECT other.progress -> 'touched' FROM eai.jobs AS own
      JOIN eai.jobs AS other ON other.tenant_id = own.tenant_id
       AND other.updated_at > own.created_at - interval '1 hour'
     WHERE own.tenant_id = :tenant AND own.id = :job
       AND other.name = :name AND other.progress ? 'touched'
       AND other.parameters ->> 'document' = :document AND other.parameters ->> 'version' = :version""")
