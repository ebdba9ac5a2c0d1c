"""Lets a prepared version answer: the one transaction after which queries find it."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import numpy as np
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import rank_of
from eai.kernel.ids import DocumentId, GenerationId, JobId, VersionId, point_id
from eai.knowledge.bases.handle import BaseHandle
from eai.knowledge.chunks.alignment import Tallies, apply_tallies, class_of, uncounted
from eai.knowledge.chunks.repository import ChunkRows
from eai.knowledge.chunks.rights_classes import ClassRights, class_numbers
from eai.knowledge.chunks.spans import OwnRights
from eai.knowledge.documents.drafts import PreparedChunk, StoredVersion
from eai.knowledge.documents.repository import DocumentRows
from eai.knowledge.documents.version_rows import IncomingVersion, VersionRows
from eai.knowledge.models import KnowledgeDocument
from eai.knowledge.statistics.drift import reweigh_if_drifted
from eai.knowledge.statistics.tally import Tally
from eai.platform.jobs import Jobs

MOVE_RIGHTS = "knowledge.move_rights"
RETIRE_VERSION = "knowledge.retire_version"


class VersionOutdated(Exception):
    """The version may not answer any more: deleted, overtaken by a newer one, or its source changed.

    Whoever prepared it removes the points it wrote and drops the rest.
    """


@dataclass(frozen=True, slots=True)
class ExtractedText:
    """What a version says: the text that chunk offsets count in."""

    content: str
    content_hash: bytes
    language: str


async def serve_version(  # noqa: PLR0917 - one call site, in reading order
    session: AsyncSession,
    jobs: Jobs,
    base: BaseHandle,
    stored: StoredVersion,
    source_hash: bytes,
    text: ExtractedText,
    chunks: Sequence[PreparedChunk],
) -> VersionId | None:
    """Store text and chunks, let the version answer, and queue what follows; returns the one before.

    The document fields that the version brought take effect. The chunks of the version before lose
    their statistics now, their points and rows by a job. Points whose class is no longer right are
    moved by a job. A version that answers already is left as it is. `chunks` must not be empty. Raises
    VersionOutdated. Call it last before audit and `Jobs.complete`.
    """
    rows = DocumentRows(session, base.tenant, base.id)
    document = await rows.lock(stored.document)
    if document is None:
        raise VersionOutdated
    if document.serving_version_id == stored.version:
        return None
    versions = VersionRows(session, base.tenant, stored.document)
    version = await _check_current(versions, base, stored, source_hash)
    answering = document.serving_version_id
    before = None if answering is None else VersionId(answering)
    await rows.update(stored.document, {"serving_version_id": stored.version, **version.intended})
    if version.intended:
        await session.refresh(document)
    classes = await _classes(session, base, document, chunks)
    await ChunkRows(session, base.tenant).insert(_chunk_rows(base, stored, chunks, classes))
    await versions.update(
        stored.version,
        {
            "status": "ready",
            "error": None,
            "content": text.content,
            "content_hash": text.content_hash,
            "language": text.language,
        },
    )
    lost = await uncounted(session, base.tenant, base.id, stored.document, before) if before else {}
    await apply_tallies(session, base.tenant, _with_new(lost, base.generation.id, chunks, classes))
    await reweigh_if_drifted(session, jobs, base.id, base.generation, stored.document)
    if before is not None:
        await queue(session, jobs, RETIRE_VERSION, base, stored.document, version=before)
    if any(chunk.class_number != number for chunk, (_, number) in zip(chunks, classes, strict=True)):
        await queue(session, jobs, MOVE_RIGHTS, base, stored.document)
    return before


async def queue(
    session: AsyncSession,
    jobs: Jobs,
    name: str,
    base: BaseHandle,
    document: DocumentId,
    **more: UUID,
) -> None:
    """Queue a job on a document's points; it starts when the transaction commits."""
    ids = {"base": base.id, "document": document, **more}
    parameters = {key: str(value) for key, value in ids.items()}
    await jobs.create(session, base.tenant, JobId(uuid4()), name, parameters)


async def _check_current(
    rows: VersionRows, base: BaseHandle, stored: StoredVersion, source_hash: bytes
) -> IncomingVersion:
    # A statement of its own, after the lock: what the wait for it made visible must be seen.
    version = await rows.incoming(stored.version)
    if version is None or version.generation != base.generation.id:
        raise VersionOutdated
    if version.source_hash != source_hash or version.status not in {"pending", "processing"}:
        raise VersionOutdated
    if version.serving_number is not None and version.serving_number > stored.number:
        raise VersionOutdated
    return version


async def _classes(
    session: AsyncSession, base: BaseHandle, document: KnowledgeDocument, chunks: Sequence[PreparedChunk]
) -> list[tuple[ClassRights, int]]:
    wanted = [class_of(document, OwnRights(chunk.readers, chunk.classification)) for chunk in chunks]
    numbers = await class_numbers(session, base.tenant, base.id, set(wanted))
    return [(rights, numbers[rights]) for rights in wanted]


def _with_new(
    lost: Tallies,
    generation: GenerationId,
    chunks: Sequence[PreparedChunk],
    classes: Sequence[tuple[ClassRights, int]],
) -> Tallies:
    tallies = defaultdict(Tally, lost)
    for chunk, (rights, number) in zip(chunks, classes, strict=True):
        if rights.is_counted:
            tallies[generation].add(chunk.language, number, chunk.terms)
    return tallies


def _chunk_rows(
    base: BaseHandle,
    stored: StoredVersion,
    chunks: Sequence[PreparedChunk],
    classes: Sequence[tuple[ClassRights, int]],
) -> list[dict[str, Any]]:
    generation, dimensions = base.generation.id, base.generation.space.dimensions
    return [
        {
            "id": point_id(chunk.chunk, generation),
            "chunk_id": chunk.chunk,
            "base_id": base.id,
            "generation": generation,
            "document_id": stored.document,
            "version_id": stored.version,
            "ordinal": chunk.ordinal,
            "start_offset": chunk.start,
            "end_offset": chunk.end,
            "content": chunk.content,
            "readers": None if chunk.readers is None else sorted(chunk.readers),
            "classification": rank_of(chunk.classification),
            "class_number": number,
            "language": chunk.language,
            "token_count": chunk.token_count,
            "dimensions": dimensions,
            "embedding": np.asarray(chunk.embedding, dtype="<f4").tobytes(),
        }
        for chunk, (_, number) in zip(chunks, classes, strict=True)
    ]
