"""The stages of ingestion, in the order they run. Each keeps no state between runs.

Stages that compute are plain functions, which the pipeline runs in threads; stages that wait are
asynchronous only, and their `run` exists because Haystack wants one.
"""

import asyncio
from dataclasses import replace

from haystack import component

from eai.access.classification import Classification
from eai.access.rights_class import generation_key, rights_key
from eai.audit.service import Audit
from eai.dlp.ports import Scanner
from eai.gateway.calls import EmbeddingCall, Operation
from eai.gateway.ports import EmbeddingRole
from eai.gateway.service import Gateway
from eai.ingestion.confinement import extract_confined
from eai.ingestion.examination import candidate_of, held_back
from eai.ingestion.passages import (
    Checkpoint,
    EmbeddedPassages,
    Examined,
    Extract,
    Indexed,
    Manuscript,
    Passage,
    Passages,
)
from eai.ingestion.splitting import split
from eai.kernel.ids import chunk_id, point_id
from eai.knowledge.chunks.repository import ChunkRows
from eai.knowledge.chunks.spans import Strictest
from eai.knowledge.lexical import (
    analyse_document,
    document_weights,
    language_of,
)
from eai.knowledge.ports import Point, Selector, Vectors, VectorStoreUnavailable
from eai.platform.database import Database
from eai.platform.pipelines import AsynchronousOnly
from eai.quarantine.judgement import Judgement
from eai.quarantine.neighbourhood import MOST_KNOWN, Span
from eai.quarantine.ports import Specimen
from eai.quarantine.service import Quarantine

POINTS_PER_WRITE = 64


@component
class ExtractText:
    """Read the submitted bytes as text and settle the language."""

    @component.output_types(extract=Extract)
    def run(self, manuscript: Manuscript) -> dict[str, Extract]:
        raise AsynchronousOnly

    @component.output_types(extract=Extract)
    async def run_async(self, manuscript: Manuscript) -> dict[str, Extract]:
        """Raises ContentUnreadable and ContentEmpty."""
        text = await extract_confined(manuscript.source, manuscript.content_type)
        language = await asyncio.to_thread(language_of, text, manuscript.language)
        return {"extract": Extract(text, language)}


@component
class SplitText:
    """Cut the text into passages, none of which has two kinds of rights, and find the terms of each."""

    @component.output_types(passages=Passages)
    def run(self, manuscript: Manuscript, extract: Extract) -> dict[str, Passages]:
        """At least one passage: an extract holds something to read."""
        spans = split(
            extract.text,
            size=manuscript.chunk_size,
            overlap=manuscript.chunk_overlap,
            edges=Strictest(manuscript.spans).edges,
        )
        items = tuple(
            Passage(start, end, text, analyse_document(text, extract.language))
            for start, end in spans
            for text in (extract.text[start:end],)
        )
        return {"passages": Passages(extract, items)}


@component
class EmbedPassages:
    """Have the gateway turn passages into vectors, at the document's level, and put the call on record."""

    def __init__(self, gateway: Gateway, audit: Audit) -> None:
        self._gateway = gateway
        self._audit = audit

    @component.output_types(embedded=EmbeddedPassages)
    def run(
        self, manuscript: Manuscript, passages: Passages, before_batch: Checkpoint
    ) -> dict[str, EmbeddedPassages]:
        raise AsynchronousOnly

    @component.output_types(embedded=EmbeddedPassages)
    async def run_async(
        self, manuscript: Manuscript, passages: Passages, before_batch: Checkpoint
    ) -> dict[str, EmbeddedPassages]:
        """Raises whatever refuses the call, and what `before_batch` raises; nothing has been written then."""
        batches = self._gateway.batches(len(passages.items))

        async def before(done: int) -> Classification:
            return await before_batch("embedding", done, batches)

        call = EmbeddingCall(
            caller=manuscript.submitter,
            model=manuscript.embedding_model,
            inputs=[passage.text for passage in passages.items],
            role=EmbeddingRole.DOCUMENT,
            dimensions=manuscript.space.dimensions,
            operation=Operation.INGEST,
            level=manuscript.level,
            base=manuscript.base,
            labels=manuscript.labels,
            before_batch=before,
            searched_by=None if manuscript.screening is None else manuscript.screening.rules,
        )
        answer = await self._gateway.embed(call)
        # Before anything is done with the vectors: what follows may fail, and the model was asked.
        await self._audit.flush(answer.evidence)
        if batches > 1:
            await before_batch("writing", batches, batches)
        return {"embedded": EmbeddedPassages(passages, answer.vectors, batches)}


@component
class ComparePassages:
    """Let passages pass that are to their base as its others are, before anything of them is written.

    A text that a steward has let pass is not compared, and neither is one in a base of few passages.
    """

    def __init__(self, database: Database, scanner: Scanner, quarantine: Quarantine) -> None:
        self._database = database
        self._scanner = scanner
        self._quarantine = quarantine

    @component.output_types(embedded=EmbeddedPassages)
    def run(
        self, manuscript: Manuscript, examined: Examined, embedded: EmbeddedPassages
    ) -> dict[str, EmbeddedPassages]:
        raise AsynchronousOnly

    @component.output_types(embedded=EmbeddedPassages)
    async def run_async(
        self, manuscript: Manuscript, examined: Examined, embedded: EmbeddedPassages
    ) -> dict[str, EmbeddedPassages]:
        """Raises HeldBack, and ExaminationFailed where nobody can say what the passages are."""
        if not manuscript.is_compared or examined.judgement.was_let_pass:
            return {"embedded": embedded}
        judgement = await self._judge(manuscript, examined, embedded)
        if judgement.is_held:
            screened = examined.screening
            raise await held_back(
                self._scanner,
                manuscript,
                examined.extract,
                screened.findings,
                screened.rules,
                judgement,
                manuscript.level,
            )
        found = set(judgement.findings) - set(examined.judgement.findings)
        return {"embedded": replace(embedded, noted=tuple(sorted({each.reason.value for each in found})))}

    async def _judge(
        self, manuscript: Manuscript, examined: Examined, embedded: EmbeddedPassages
    ) -> Judgement:
        async with self._database.transaction(manuscript.tenant) as session:
            known = await ChunkRows(session, manuscript.tenant).vectors_of_others(
                manuscript.generation, manuscript.space, manuscript.document, MOST_KNOWN
            )
        return await self._quarantine.compare(
            candidate_of(manuscript),
            examined.judgement,
            Specimen.plain(examined.extract.text),
            _spans(manuscript, embedded),
            embedded.vectors,
            known,
        )


@component
class WritePoints:
    """Write the points beside what is served, and count them there before anybody relies on them."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors

    @component.output_types(indexed=Indexed)
    def run(self, manuscript: Manuscript, embedded: EmbeddedPassages) -> dict[str, Indexed]:
        raise AsynchronousOnly

    @component.output_types(indexed=Indexed)
    async def run_async(self, manuscript: Manuscript, embedded: EmbeddedPassages) -> dict[str, Indexed]:
        """Raises VectorStoreUnavailable, also when the store holds fewer points than it was given."""
        points = _points(manuscript, embedded)
        await self._vectors.ensure_space(manuscript.space)
        for start in range(0, len(points), POINTS_PER_WRITE):
            await self._vectors.upsert(manuscript.space, points[start : start + POINTS_PER_WRITE])
        written = await self._vectors.count(manuscript.space, version_selector(manuscript))
        if written < len(points):
            raise VectorStoreUnavailable
        return {"indexed": Indexed(embedded, manuscript)}


def _spans(manuscript: Manuscript, embedded: EmbeddedPassages) -> list[Span]:
    """Where the passages stand in the text as it was before anything was taken out of it."""
    spans = [(passage.start, passage.end) for passage in embedded.passages.items]
    screening = manuscript.screening
    return spans if screening is None else [screening.origin(*span) for span in spans]


def version_selector(manuscript: Manuscript) -> Selector:
    """The points of this version, and of no other."""
    return Selector(
        generation_key(manuscript.tenant, manuscript.generation),
        document=manuscript.document,
        version=manuscript.version,
    )


def _points(manuscript: Manuscript, embedded: EmbeddedPassages) -> list[Point]:
    generation = generation_key(manuscript.tenant, manuscript.generation)
    rights = rights_key(manuscript.tenant, manuscript.generation, manuscript.class_number)
    return [
        Point(
            id=point_id(
                chunk_id(manuscript.document, manuscript.version, passage.start, passage.end),
                manuscript.generation,
            ),
            dense=vector,
            sparse=document_weights(passage.terms, manuscript.average_length),
            rights_key=rights,
            generation_key=generation,
            document=manuscript.document,
            version=manuscript.version,
        )
        for passage, vector in zip(embedded.passages.items, embedded.vectors, strict=True)
    ]
