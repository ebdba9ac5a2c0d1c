"""What points are made of: their vectors and the weights of their terms, held against the rows."""

import asyncio
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from eai.access.rights_class import generation_key, rights_key
from eai.integrity.findings import Found, Kind
from eai.integrity.repository import ChunkMatter, Difference, ExaminationRows, GenerationToExamine
from eai.kernel.ids import DocumentId, GenerationId, PointId, VersionId
from eai.knowledge.lexical import Language, analyse_document, document_weights
from eai.knowledge.ports import Point, SparseVector, StoredPoint, Vector, Vectors
from eai.platform.database import Database

PAGE_POINTS = 256
TOLERANCE = 1e-3
"""Stores give vectors length 1 and keep them in single precision."""


@dataclass(frozen=True)
class MatterOfPoints:
    """The vectors of a generation, point by point: it reads everything there is, when asked to."""

    database: Database
    vectors: Vectors

    async def find(self, generation: GenerationToExamine, known: Collection[UUID]) -> list[Found]:
        """Points whose vectors are not those of their rows, without `known` ones."""
        found: list[Found] = []
        begin = None
        while True:
            page = await self.vectors.scan(
                generation.space, generation.selector(), begin=begin, limit=PAGE_POINTS, with_vectors=True
            )
            points = [point for point in page.points if point.id not in known]
            found += await self._of_page(generation, points)
            begin = page.next
            if begin is None:
                return found

    async def _of_page(self, generation: GenerationToExamine, points: Sequence[StoredPoint]) -> list[Found]:
        async with self.database.transaction(generation.tenant) as session:
            rows = ExaminationRows(session, generation.tenant)
            matter = await rows.matter([point.id for point in points])
            under_way = await rows.documents_under_way()
            is_reweighing = await rows.is_reweighing(generation.id)
            now = next((g for g in await rows.generations() if g.id == generation.id), generation)
        return await asyncio.to_thread(
            lambda: [
                Found(kind, str(point.id), Difference(generation, point.id, row.place.document))
                for point in points
                if (row := matter.get(point.id)) is not None and row.place.document not in under_way
                for kind in _unlike(now, point, row)
                if kind is not Kind.POINT_WEIGHTS_WRONG or not is_reweighing
            ]
        )


def point_of(generation: GenerationToExamine, row: ChunkMatter) -> Point:
    """The point that a chunk row is projected to."""
    place = row.place
    own = GenerationId(place.generation)
    return Point(
        id=PointId(place.id),
        dense=np.frombuffer(row.embedding, "<f4"),
        sparse=weights_of(row, generation.average_length),
        rights_key=rights_key(generation.tenant, own, place.class_number),
        generation_key=generation_key(generation.tenant, own),
        document=DocumentId(place.document),
        version=VersionId(place.version),
    )


def weights_of(row: ChunkMatter, average_length: float) -> SparseVector:
    """The weights of a chunk's terms."""
    return document_weights(analyse_document(row.content, Language(row.language)), average_length)


def _unlike(generation: GenerationToExamine, point: StoredPoint, row: ChunkMatter) -> Iterator[Kind]:
    expected = np.frombuffer(row.embedding, "<f4")
    if point.dense is None or not _points_the_same_way(point.dense, expected):
        yield Kind.POINT_VECTOR_WRONG
    weights = weights_of(row, generation.average_length)
    if point.sparse is None or not _weighs_the_same(point.sparse, weights):
        yield Kind.POINT_WEIGHTS_WRONG


def _points_the_same_way(stored: Vector, expected: Vector) -> bool:
    length = float(np.linalg.norm(expected))
    unit = expected / length if length else expected
    return stored.shape == expected.shape and bool(np.allclose(stored, unit, atol=TOLERANCE))


def _weighs_the_same(stored: SparseVector, expected: SparseVector) -> bool:
    mine, theirs = np.argsort(stored.indices), np.argsort(expected.indices)
    return bool(
        np.array_equal(stored.indices[mine], expected.indices[theirs])
        and np.allclose(stored.values[mine], expected.values[theirs], atol=TOLERANCE)
    )
