"""Versions on their way to the next generation: as they are stored, cut, weighed and made into points."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import LEVELS, Classification, highest, level_at
from eai.access.rights_class import generation_key, rights_key
from eai.ingestion.splitting import split
from eai.kernel.ids import DocumentId, VersionId, chunk_id, point_id
from eai.knowledge.bases.handle import BaseHandle, BuildingGeneration
from eai.knowledge.chunks.alignment import class_of
from eai.knowledge.chunks.rights_classes import ClassRights, class_numbers
from eai.knowledge.chunks.spans import Strictest
from eai.knowledge.documents.drafts import PreparedChunk, SpanRights
from eai.knowledge.documents.levels import found_level
from eai.knowledge.lexical import Language, analyse_document, document_weights
from eai.knowledge.models import KnowledgeDocument
from eai.knowledge.ports import Point
from eai.reindex.coverage_rows import CoverageRows, Missing, RightsNow
from eai.reindex.task import Present, Task

Cut = tuple[int, int, str]
"""Start, end and text of a passage."""

_NO_VECTOR = np.empty(0, np.float32)


@dataclass(frozen=True, slots=True)
class Source:
    """A version as it is stored: its passages, or its text where that is cut anew."""

    document: KnowledgeDocument
    version: VersionId
    spans: Sequence[SpanRights]
    language: Language
    passages: Sequence[Cut] | None
    text: str


@dataclass(frozen=True, slots=True)
class Draft:
    """A version on its way to the next generation, with the classes that its parts had when it was read."""

    document: DocumentId
    version: VersionId
    level: Classification
    chunks: Sequence[PreparedChunk]
    classes: Sequence[ClassRights]


async def sources_of(
    session: AsyncSession, task: Task, base: BaseHandle, batch: Sequence[Missing]
) -> Sequence[Source]:
    """What is stored of the missing ones."""
    coverage = CoverageRows(session, base.tenant, base.id)
    documents = await coverage.find_documents([each.document for each in batch])
    spans = await coverage.span_rights([each.version for each in batch])
    stored = {} if task.recuts else await coverage.stored_chunks(task.source, batch)
    passages = {v: cuts for v, cuts in stored.items() if v in spans and respect(cuts, spans[v].spans)}
    # Of a damaged document the searched generation may have nothing: its text is cut again. So is one whose
    # rights have come to change within a passage since.
    texts = await coverage.texts([each for each in batch if each.version not in passages])
    return [
        Source(
            document=documents[each.document],
            version=each.version,
            spans=spans[each.version].spans,
            language=spans[each.version].language,
            passages=passages.get(each.version),
            text=texts.get(each.version, ""),
        )
        for each in batch
        # One that was replaced between two statements is found missing again.
        if each.document in documents and each.version in spans
    ]


def drafts_of(sources: Sequence[Source], now: Present) -> Sequence[Draft]:
    """Of each that says anything; a damaged one may not."""
    return [_draft(source, cuts, now) for source in sources if (cuts := _cuts(source, now))]


def _cuts(source: Source, now: Present) -> Sequence[Cut]:
    if source.passages is not None:
        return source.passages
    edges = Strictest(source.spans).edges
    target = now.target
    spans = split(source.text, size=target.chunk_size, overlap=target.chunk_overlap, edges=edges)
    return [(start, end, source.text[start:end]) for start, end in spans]


def respect(cuts: Sequence[Cut], spans: Sequence[SpanRights]) -> bool:
    """Whether no passage has two kinds of rights."""
    strictest = Strictest(spans)
    return not any(strictest.divides(start, end) for start, end, _ in cuts)


def cuts_of(draft: Draft) -> Sequence[Cut]:
    """Where the draft's chunks begin and end."""
    return [(chunk.start, chunk.end, chunk.content) for chunk in draft.chunks]


def _draft(source: Source, cuts: Sequence[Cut], now: Present) -> Draft:
    document = DocumentId(source.document.id)
    strictest = Strictest(source.spans, found_level(source.document))
    chunks, classes, levels = [], [], []
    own_level = level_at(source.document.classification)
    for ordinal, (start, end, text) in enumerate(cuts):
        own = strictest.between(start, end)
        levels.append(now.base.level_of(own_level, own.classification))
        classes.append(class_of(source.document, own))
        chunks.append(
            PreparedChunk(
                chunk=chunk_id(document, source.version, start, end),
                ordinal=ordinal,
                start=start,
                end=end,
                content=text,
                readers=own.readers,
                classification=own.classification,
                class_number=0,
                language=source.language,
                terms=analyse_document(text, source.language),
                embedding=_NO_VECTOR,
            )
        )
    return Draft(document, source.version, highest(*levels), chunks, classes)


async def numbered(session: AsyncSession, base: BaseHandle, drafts: Sequence[Draft]) -> Sequence[Draft]:
    """The drafts with the numbers of their chunks' classes."""
    wanted = {rights for draft in drafts for rights in draft.classes}
    numbers = await class_numbers(session, base.tenant, base.id, wanted)
    return [
        replace(
            draft,
            chunks=[
                replace(chunk, class_number=numbers[rights])
                for chunk, rights in zip(draft.chunks, draft.classes, strict=True)
            ],
        )
        for draft in drafts
    ]


def with_rights(
    draft: Draft, spans: Sequence[SpanRights], floor: Classification | None
) -> Sequence[PreparedChunk]:
    """The draft's chunks with the rights of these spans, none below `floor`."""
    strictest = Strictest(spans, floor)
    owns = [strictest.between(chunk.start, chunk.end) for chunk in draft.chunks]
    return [
        replace(chunk, readers=own.readers, classification=own.classification)
        for chunk, own in zip(draft.chunks, owns, strict=True)
    ]


def level_of(draft: Draft, now: RightsNow) -> Classification:
    """The highest level of anything that the draft says, as of now."""
    parts = with_rights(draft, now.spans, None) if now.spans else ()
    own = level_at(now.document) or LEVELS[now.base]
    return highest(own, level_at(now.found), *(chunk.classification for chunk in parts))


def points_of(target: BuildingGeneration, draft: Draft) -> Sequence[Point]:
    """What the vector store gets of a draft that has its vectors."""
    generation = generation_key(target.tenant, target.id)
    return [
        Point(
            id=point_id(chunk.chunk, target.id),
            dense=chunk.embedding,
            sparse=document_weights(chunk.terms, target.average_length),
            rights_key=rights_key(target.tenant, target.id, chunk.class_number),
            generation_key=generation,
            document=draft.document,
            version=draft.version,
        )
        for chunk in draft.chunks
    ]
