"""The floor of ingestion: a Haystack pipeline with the product's splitter, embedder and kind of store.

What it lacks is everything that governs: no HTTP, no rights, no database, no jobs, no audit, no count of
what was written.
"""

from typing import Any
from uuid import UUID, uuid5

from haystack import Document, Pipeline, component

from eai.gateway.ports import Embedder, EmbeddingRole
from eai.ingestion.splitting import split
from eai.integrations.qdrant.client import EngineVectors
from eai.kernel.ids import DocumentId, PointId, VersionId
from eai.knowledge.bases.schemas import DEFAULT_CHUNK_OVERLAP, DEFAULT_CHUNK_SIZE
from eai.knowledge.lexical import TYPICAL_LENGTH, Language, analyse_document, document_weights
from eai.knowledge.ports import Point, SpaceId

_NAMES = UUID("2a5c5b0e-6d0f-5d0e-8a0b-0d3f5a7f7c11")
_KEY = "f" * 24


@component
class Split:
    """Passages of the product's default size and overlap."""

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        passages = [
            Document(content=(document.content or "")[start:end], meta={"of": document.id, "start": start})
            for document in documents
            for start, end in split(
                document.content or "", size=DEFAULT_CHUNK_SIZE, overlap=DEFAULT_CHUNK_OVERLAP
            )
        ]
        return {"documents": passages}


@component
class Embed:
    """A vector for each passage."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        raise NotImplementedError

    @component.output_types(documents=list[Document])
    async def run_async(self, documents: list[Document]) -> dict[str, list[Document]]:
        texts = [document.content or "" for document in documents]
        answer = await self._embedder.embed(texts, EmbeddingRole.DOCUMENT)
        for document, vector in zip(documents, answer.vectors, strict=True):
            document.meta["vector"] = vector
        return {"documents": documents}


@component
class Write:
    """Both vectors of each passage into the store."""

    def __init__(self, vectors: EngineVectors, space: SpaceId) -> None:
        self._vectors = vectors
        self._space = space

    @component.output_types(written=int)
    def run(self, documents: list[Document]) -> dict[str, int]:
        raise NotImplementedError

    @component.output_types(written=int)
    async def run_async(self, documents: list[Document]) -> dict[str, int]:
        await self._vectors.upsert(self._space, [_point(document) for document in documents])
        return {"written": len(documents)}


def _point(document: Document) -> Point:
    parent = DocumentId(uuid5(_NAMES, document.meta["of"]))
    return Point(
        id=PointId(uuid5(parent, str(document.meta["start"]))),
        dense=document.meta["vector"],
        sparse=document_weights(analyse_document(document.content or "", Language.ENGLISH), TYPICAL_LENGTH),
        rights_key=f"{_KEY}:1",
        generation_key=_KEY,
        document=parent,
        version=VersionId(parent),
    )


def bare_pipeline(vectors: EngineVectors, space: SpaceId, embedder: Embedder) -> Pipeline:
    """Split, embed, write."""
    pipeline = Pipeline()
    pipeline.add_component("split", Split())
    pipeline.add_component("embed", Embed(embedder))
    pipeline.add_component("write", Write(vectors, space))
    pipeline.connect("split.documents", "embed.documents")
    pipeline.connect("embed.documents", "write.documents")
    return pipeline


async def ingest(pipeline: Pipeline, text: str) -> int:
    """Take one text in; how many passages it became."""
    answer: dict[str, Any] = await pipeline.run_async({"split": {"documents": [Document(content=text)]}})
    return int(answer["write"]["written"])
