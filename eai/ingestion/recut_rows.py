"""Reads what is served of a document, for whoever cuts it anew, and what its index holds besides."""

from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from eai.ingestion.pieces import Served
from eai.ingestion.repository import NO_RIGHTS, generation_at
from eai.kernel.ids import BaseId, DocumentId, PointId, VersionId
from eai.knowledge.bases.access import handle_of
from eai.knowledge.bases.handle import BaseHandle, BuildingGeneration, StoredGeneration
from eai.knowledge.bases.repository import BaseRows
from eai.knowledge.chunks.repository import ChunkRows
from eai.knowledge.chunks.spans import Strictest, spans_from_rows
from eai.knowledge.documents.levels import found_level
from eai.knowledge.documents.repository import DocumentRows
from eai.knowledge.documents.version_rows import VersionRows
from eai.knowledge.models import KnowledgeDocument
from eai.knowledge.ports import Vectors
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


async def strays(
    vectors: Vectors,
    generation: StoredGeneration,
    document: DocumentId,
    version: VersionId,
    kept: Collection[PointId],
) -> tuple[PointId, ...]:
    """The points of a version that are none of `kept`."""
    found: list[PointId] = []
    begin: str | None = None
    while True:
        page = await vectors.scan(generation.space, generation.selector(document, version), begin=begin)
        found += [point.id for point in page.points if point.id not in kept]
        if page.next is None:
            return tuple(found)
        begin = page.next
