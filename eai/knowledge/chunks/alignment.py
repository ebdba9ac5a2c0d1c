"""Keeps the rights classes of a document's chunks true to its rows, and the statistics true to those."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import level_at
from eai.kernel.ids import BaseId, DocumentId, GenerationId, PointId, TenantId, VersionId
from eai.knowledge.chunks.repository import ChunkRights, ChunkRows
from eai.knowledge.chunks.rights_classes import ClassRights, class_numbers, class_rights
from eai.knowledge.chunks.spans import OwnRights
from eai.knowledge.lexical import Language, analyse_document
from eai.knowledge.models import KnowledgeDocument
from eai.knowledge.statistics.repository import StatisticRows
from eai.knowledge.statistics.tally import Tally

Tallies = Mapping[GenerationId, Tally]


class Filed(NamedTuple):
    """Chunks as they were before another class was given to them, and that class by point."""

    moved: Sequence[ChunkRights]
    targets: Mapping[PointId, tuple[ClassRights, int]]


def class_of(document: KnowledgeDocument, own: OwnRights) -> ClassRights:
    """The class of a chunk with these rights of its own, as the document's row is now."""
    return ClassRights(
        readers=None if document.readers is None else frozenset(document.readers),
        chunk_readers=own.readers,
        classification=level_at(document.classification),
        chunk_classification=own.classification,
        connector=document.source_connector,
    )


async def align_classes(
    session: AsyncSession,
    document: KnowledgeDocument,
    own_rights: Callable[[ChunkRights], OwnRights] | None = None,
) -> bool:
    """Give every chunk of the document the class that its rights have now; tells whether any moved.

    `own_rights` gives chunks of the serving version rights of their own; without it they keep them. The
    caller holds the document, and sees to it that the points follow.
    """
    filed = await file_chunks(session, document, own_rights)
    base = (TenantId(document.tenant_id), BaseId(document.base_id))
    serving = [chunk for chunk in filed.moved if chunk.version == document.serving_version_id]
    await _move_statistics(session, base, serving, filed.targets)
    return bool(filed.moved)


async def file_chunks(
    session: AsyncSession,
    document: KnowledgeDocument,
    own_rights: Callable[[ChunkRights], OwnRights] | None = None,
) -> Filed:
    """The same but for the statistics, which the caller has counted anew where classes cannot be believed."""
    tenant, base = TenantId(document.tenant_id), BaseId(document.base_id)
    rows = ChunkRows(session, tenant)
    chunks = await rows.rights(DocumentId(document.id))
    owns = {chunk.point: _own(document, chunk, own_rights) for chunk in chunks}
    wanted = {chunk.point: class_of(document, owns[chunk.point]) for chunk in chunks}
    numbers = await class_numbers(session, tenant, base, set(wanted.values()))
    moved = [
        chunk
        for chunk in chunks
        if numbers[wanted[chunk.point]] != chunk.class_number
        or owns[chunk.point] != OwnRights(chunk.readers, chunk.classification)
    ]
    groups: dict[tuple[int, OwnRights], list[PointId]] = defaultdict(list)
    for chunk in moved:
        groups[numbers[wanted[chunk.point]], owns[chunk.point]].append(chunk.point)
    for (number, own), points in groups.items():
        await rows.set_rights(
            points, class_number=number, readers=own.readers, classification=own.classification
        )
    targets = {chunk.point: (wanted[chunk.point], numbers[wanted[chunk.point]]) for chunk in moved}
    return Filed(moved, targets)


async def uncounted(
    session: AsyncSession, tenant: TenantId, base: BaseId, document: DocumentId, version: VersionId
) -> Tallies:
    """What the statistics lose when the chunks of a version stop answering."""
    chunks = [c for c in await ChunkRows(session, tenant).rights(document) if c.version == version]
    return await uncounted_chunks(session, tenant, base, chunks)


async def uncounted_chunks(
    session: AsyncSession, tenant: TenantId, base: BaseId, chunks: Sequence[ChunkRights]
) -> Tallies:
    """What the statistics lose when these chunks, which answer, do so no more."""
    classes = await class_rights(session, tenant, base, {chunk.class_number for chunk in chunks})
    counted = [chunk for chunk in chunks if classes[chunk.class_number].is_counted]
    terms = await _terms_of(session, tenant, counted)
    tallies: dict[GenerationId, Tally] = defaultdict(Tally)
    for chunk in counted:
        if chunk.point not in terms:
            continue  # of a generation that is being dropped: nobody waits for anybody there
        tallies[chunk.generation].remove(chunk.language, chunk.class_number, terms[chunk.point])
    return tallies


async def apply_tallies(session: AsyncSession, tenant: TenantId, tallies: Tallies) -> None:
    """Add each generation's tally to its statistics, in one order for all writers."""
    for generation in sorted(tallies):
        await StatisticRows(session, tenant, generation).apply(tallies[generation])


def _own(
    document: KnowledgeDocument, chunk: ChunkRights, own_rights: Callable[[ChunkRights], OwnRights] | None
) -> OwnRights:
    if own_rights is None or chunk.version != document.serving_version_id:
        return OwnRights(chunk.readers, chunk.classification)
    return own_rights(chunk)


async def _move_statistics(
    session: AsyncSession,
    base: tuple[TenantId, BaseId],
    moved: Sequence[ChunkRights],
    targets: Mapping[PointId, tuple[ClassRights, int]],
) -> None:
    tenant, _ = base
    classes = await class_rights(session, *base, {chunk.class_number for chunk in moved})
    touched = [c for c in moved if classes[c.class_number].is_counted or targets[c.point][0].is_counted]
    terms = await _terms_of(session, tenant, touched)
    tallies: dict[GenerationId, Tally] = defaultdict(Tally)
    for chunk in touched:
        if chunk.point not in terms:
            continue  # its generation is being dropped
        tally = tallies[chunk.generation]
        rights, number = targets[chunk.point]
        if classes[chunk.class_number].is_counted:
            tally.remove(chunk.language, chunk.class_number, terms[chunk.point])
        if rights.is_counted:
            tally.add(chunk.language, number, terms[chunk.point])
    await apply_tallies(session, tenant, tallies)


async def _terms_of(
    session: AsyncSession, tenant: TenantId, chunks: Sequence[ChunkRights]
) -> Mapping[PointId, Mapping[str, int]]:
    if not chunks:
        return {}
    contents = await ChunkRows(session, tenant).contents([chunk.point for chunk in chunks])
    languages = {chunk.point: Language(chunk.language) for chunk in chunks}
    return await asyncio.to_thread(
        lambda: {point: analyse_document(text, languages[point]) for point, text in contents.items()}
    )
