"""Lets a prepared version answer: the one transaction after which queries find it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID, uuid4

import numpy as np
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import Classification, highest, rank_of
from eai.kernel.ids import DocumentId, JobId, VersionId, point_id
from eai.knowledge.bases.handle import BaseHandle, BuildingGeneration, StoredGeneration
from eai.knowledge.bases.repository import BaseRows
from eai.knowledge.chunks.alignment import Tallies, apply_tallies, class_of, uncounted
from eai.knowledge.chunks.repository import ChunkRows
from eai.knowledge.chunks.rights_classes import ClassRights, class_numbers
from eai.knowledge.chunks.spans import OwnRights, spans_to_rows
from eai.knowledge.documents.drafts import PreparedChunk, SpanRights, StoredVersion
from eai.knowledge.documents.kept import refuse_to_serve
from eai.knowledge.documents.levels import found_level
from eai.knowledge.documents.repository import DocumentRows
from eai.knowledge.documents.version_rows import ON_ITS_WAY, IncomingVersion, VersionRows
from eai.knowledge.models import KnowledgeDocument
from eai.knowledge.statistics.drift import Used, reweigh_if_drifted, reweigh_if_stale
from eai.knowledge.statistics.tally import Tally
from eai.platform.jobs import Jobs

MOVE_RIGHTS = "knowledge.move_rights"
RETIRE_VERSION = "knowledge.retire_version"


class VersionOutdated(Exception):
    """The version may not answer any more: deleted, overtaken by a newer one, or its source changed.

    Whoever prepared it removes the points it wrote and drops the rest.
    """


class GenerationMoved(Exception):
    """Chunks were prepared for a generation that takes none any more, or not for what is searched now.

    Whoever prepared them removes the points and prepares them anew.
    """


@dataclass(frozen=True, slots=True)
class ExtractedText:
    """What a version says: the text that chunk offsets count in.

    `dlp` and `dlp_spans` are what was found in it and where, `level` and `field_level` what the text and what
    is shown with it are raised to. `spans` None: the parts are those that came with the text; else the text
    was redacted, and they count in what it is now.
    """

    content: str
    content_hash: bytes
    language: str
    dlp: Mapping[str, Any] = field(default_factory=dict)
    dlp_spans: Mapping[str, Any] = field(default_factory=dict)
    level: Classification | None = None
    field_level: Classification | None = None
    spans: Sequence[SpanRights] | None = None

    @property
    def row(self) -> dict[str, Any]:
        """The text as the row of its version has it."""
        return {
            "content": self.content,
            "content_hash": self.content_hash,
            "language": self.language,
            "dlp": dict(self.dlp),
            "dlp_spans": dict(self.dlp_spans),
        }


@dataclass(frozen=True, slots=True)
class Placement:
    """A version's chunks as they were prepared for one generation, whose points are written."""

    generation: StoredGeneration
    chunks: Sequence[PreparedChunk]


@dataclass(frozen=True, slots=True)
class Part:
    """What one document adds to a generation."""

    document: KnowledgeDocument
    version: VersionId
    chunks: Sequence[PreparedChunk]


@dataclass(frozen=True, slots=True)
class Beside(Placement):
    """The same for the generation that a reindex was building when it began."""

    generation: BuildingGeneration


async def serve_version(  # noqa: PLR0917 - one call site, in reading order
    session: AsyncSession,
    jobs: Jobs,
    base: BaseHandle,
    stored: StoredVersion,
    source_hash: bytes,
    text: ExtractedText,
    chunks: Sequence[PreparedChunk],
    beside: Beside | None = None,
) -> VersionId | None:
    """Store text and chunks, let the version answer, and queue what follows; returns the one before.

    The document fields that the version brought take effect. The chunks of the version before lose
    their statistics now, their points and rows by a job. Points whose class is no longer right are
    moved by a job. A version that answers already is left as it is. `chunks` must not be empty; `beside`
    is what goes to the generation that a reindex is building. Raises VersionOutdated, GenerationMoved, and
    UnderLegalHold where what is held would be written over. Call it last before audit and `Jobs.complete`.
    """
    rows = DocumentRows(session, base.tenant, base.id)
    document = await rows.lock(stored.document)
    if document is None:
        raise VersionOutdated
    if document.serving_version_id == stored.version:
        return None
    await refuse_to_serve(session, base, document, stored.version, is_redacted=text.spans is not None)
    searched = await _searched(session, base, beside)
    versions = VersionRows(session, base.tenant, stored.document)
    version = await _check_current(versions, searched, stored, source_hash)
    answering = document.serving_version_id
    before = None if answering is None else VersionId(answering)
    levels = _levels(document, version, text)
    await rows.update(stored.document, {"serving_version_id": stored.version, **version.intended, **levels})
    await session.refresh(document)
    floor = found_level(document)
    placements = [
        Placement(each.generation, [_not_below(floor, chunk) for chunk in each.chunks])
        for each in (Placement(base.generation, chunks), *([beside] if beside else []))
    ]
    added = [
        sole
        for each in placements
        for sole in await add_chunks(
            session, base, each.generation, [Part(document, stored.version, each.chunks)]
        )
    ]
    await versions.update(
        stored.version,
        {
            "status": "ready",
            "error": None,
            **text.row,
            **_in_place_of_source(text),
        },
    )
    lost = await uncounted(session, base.tenant, base.id, stored.document, before) if before else {}
    await apply_tallies(session, base.tenant, _with_new(lost, placements, added))
    used: list[Used] = [base.generation, *([beside.generation] if beside else [])]
    for generation in used:
        reweigh = reweigh_if_drifted if generation.id == searched.id else reweigh_if_stale
        await reweigh(session, jobs, base.id, generation, [stored.document])
    if before is not None:
        await queue(session, jobs, RETIRE_VERSION, base, stored.document, version=before)
    if any(each.is_moved for each in added):
        await queue(session, jobs, MOVE_RIGHTS, base, stored.document)
    return before


def _levels(
    document: KnowledgeDocument, version: IncomingVersion, text: ExtractedText
) -> dict[str, int | None]:
    """What DLP found weighs from now on. Fields may have changed since they were looked at with the text."""
    known = version.intended.get("field_level", document.field_level)
    levels = [rank for rank in (known, rank_of(text.field_level)) if rank is not None]
    return {"text_level": rank_of(text.level), "field_level": max(levels, default=None)}


def _not_below(floor: Classification | None, chunk: PreparedChunk) -> PreparedChunk:
    return chunk if floor is None else replace(chunk, classification=highest(floor, chunk.classification))


def _in_place_of_source(text: ExtractedText) -> dict[str, Any]:
    """Of a redacted text the source goes: what was taken out is in it."""
    if text.spans is None:
        return {}
    return {"source": text.content.encode(), "chunk_rights": spans_to_rows(text.spans)}


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


@dataclass(frozen=True, slots=True)
class Added:
    """What adding chunks to a generation adds to its statistics; whether a point carries another class."""

    tally: Tally
    is_moved: bool


async def add_chunks(
    session: AsyncSession, base: BaseHandle, generation: StoredGeneration, parts: Sequence[Part]
) -> list[Added]:
    """Store chunks with the classes that their rights have now. The caller holds the documents.

    However many documents they are of: one statement finds the classes, and one adds the chunks.
    """
    rights = [[_class_of(part, chunk) for chunk in part.chunks] for part in parts]
    wanted = {each for of_part in rights for each in of_part}
    numbers = await class_numbers(session, base.tenant, base.id, wanted)
    rows = [
        _chunk_row(base, generation, part, chunk, numbers[own])
        for part, owns in zip(parts, rights, strict=True)
        for chunk, own in zip(part.chunks, owns, strict=True)
    ]
    await ChunkRows(session, base.tenant).insert(rows)
    return [_added(part.chunks, owns, numbers) for part, owns in zip(parts, rights, strict=True)]


def _added(
    chunks: Sequence[PreparedChunk], owns: Sequence[ClassRights], numbers: Mapping[ClassRights, int]
) -> Added:
    tally, is_moved = Tally(), False
    for chunk, own in zip(chunks, owns, strict=True):
        is_moved |= chunk.class_number != numbers[own]
        if own.is_counted:
            tally.add(chunk.language, numbers[own], chunk.terms)
    return Added(tally, is_moved)


async def _searched(session: AsyncSession, base: BaseHandle, beside: Beside | None) -> StoredGeneration:
    """Of what this was prepared for, what is searched now, held so. Raises GenerationMoved.

    A reindex that has ended meanwhile has made what was built what is searched. What was searched before is
    kept to go back to, and takes chunks as long as it is: nothing has to be prepared anew.
    """
    rows = BaseRows(session, base.tenant)
    await rows.hold_still(base.id)
    if beside is None:
        return base.generation
    state = await rows.held_state(beside.generation.id)
    if state == "building":
        return base.generation
    if state == "serving" and await rows.held_state(base.generation.id) in {"retired", "building"}:
        return beside.generation
    raise GenerationMoved


async def _check_current(
    rows: VersionRows, searched: StoredGeneration, stored: StoredVersion, source_hash: bytes
) -> IncomingVersion:
    # A statement of its own, after the lock: what the wait for it made visible must be seen.
    version = await rows.incoming(stored.version)
    if version is None:
        raise VersionOutdated
    if version.generation != searched.id:
        raise GenerationMoved
    if version.source_hash != source_hash or version.status not in ON_ITS_WAY:
        raise VersionOutdated
    if version.serving_number is not None and version.serving_number > stored.number:
        raise VersionOutdated
    return version


def _class_of(part: Part, chunk: PreparedChunk) -> ClassRights:
    return class_of(part.document, OwnRights(chunk.readers, chunk.classification))


def _with_new(lost: Tallies, placements: Sequence[Placement], added: Sequence[Added]) -> Tallies:
    tallies = defaultdict(Tally, lost)
    for placement, each in zip(placements, added, strict=True):
        tallies[placement.generation.id].include(each.tally)
    return tallies


def _chunk_row(
    base: BaseHandle, generation: StoredGeneration, part: Part, chunk: PreparedChunk, number: int
) -> dict[str, Any]:
    return {
        "id": point_id(chunk.chunk, generation.id),
        "chunk_id": chunk.chunk,
        "base_id": base.id,
        "generation": generation.id,
        "document_id": part.document.id,
        "version_id": part.version,
        "ordinal": chunk.ordinal,
        "start_offset": chunk.start,
        "end_offset": chunk.end,
        "content": chunk.content,
        "readers": None if chunk.readers is None else sorted(chunk.readers),
        "classification": rank_of(chunk.classification),
        "class_number": number,
        "language": chunk.language,
        "token_count": chunk.token_count,
        "dimensions": generation.space.dimensions,
        "embedding": np.asarray(chunk.embedding, dtype="<f4").tobytes(),
    }
