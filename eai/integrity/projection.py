"""Compares the points of a tenant's generations with the rows that they are the projection of.

Points come page by page in the store's own order, and each page is held against the rows of its ids; what
matches is counted. Only where fewer match than there are rows are the rows gone through as well. What
looks wrong is looked at again, rows before points and points before rows: a difference counts when it is
there in both, twice, and no job is working on its document.
"""

import asyncio
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

from eai.access.rights_class import rights_key
from eai.integrity.findings import Found, Kind
from eai.integrity.matter import MatterOfPoints
from eai.integrity.repository import ChunkPlace, Difference, ExaminationRows, GenerationToExamine
from eai.kernel.ids import GenerationId, TenantId
from eai.knowledge.ports import PointPage, StoredPoint, Vectors
from eai.platform.database import Database

PAGE_POINTS = 1_000
LOOKS = 2
PAUSE_S = 0.2
"""Between two looks: longer than any process takes from a write to the commit that goes with it."""

_rights_key = lru_cache(4_096)(rights_key)


class Rows(NamedTuple):
    """What PostgreSQL says, as of one instant."""

    places: Mapping[UUID, ChunkPlace]
    documents_under_way: frozenset[UUID]
    bases_under_way: frozenset[UUID]
    state: str | None
    """That of the generation; None where it is gone."""


@dataclass(frozen=True)
class Projection:
    """Every generation has the points of its chunk rows, and those that may be searched have no others.

    What is being built has points first and rows later, never the reverse: of rows without points there is
    nobody who would bring them again.
    """

    database: Database
    vectors: Vectors
    is_deep: bool = False
    name = "points"

    async def find(self, tenant: TenantId) -> Iterable[Found]:
        """Raises VectorStoreUnavailable."""
        async with self.database.transaction(tenant) as session:
            generations = await ExaminationRows(session, tenant).generations()
        sizes = {space.name: space.dimensions for space in await self.vectors.spaces()}
        found: list[Found] = []
        for generation in generations:
            if generation.is_base_deleting:
                continue
            if sizes.get(generation.space.name, generation.space.dimensions) != generation.space.dimensions:
                found.append(Found(Kind.SPACE_DIMENSIONS_WRONG, str(generation.id)))
            else:
                found += await self._compared(generation)
        return found

    async def _compared(self, generation: GenerationToExamine) -> list[Found]:
        suspects = await self._suspects(generation)
        found: list[Found] = []
        for start in range(0, len(suspects), PAGE_POINTS):
            found += await self._confirmed(generation, suspects[start : start + PAGE_POINTS])
        # Whoever builds one weighs its terms anew before it is searched.
        if self.is_deep and generation.state != "building":
            unlike = MatterOfPoints(self.database, self.vectors)
            found += await unlike.find(generation, {UUID(each.id) for each in found})
        return found

    async def _suspects(self, generation: GenerationToExamine) -> list[UUID]:
        suspects: list[UUID] = []
        matched = 0
        async with aclosing(self._pages(generation)) as pages:
            async for points in pages:
                rows = await self._places(generation, [point.id for point in points])
                wrong = [p.id for p in points if _fault(generation, p, rows.get(p.id)) is not None]
                suspects += wrong
                matched += len(points) - len(wrong)
        async with self.database.transaction(generation.tenant) as session:
            expected = await ExaminationRows(session, generation.tenant).count(generation.id)
        return suspects if matched == expected else [*suspects, *await self._absent(generation, suspects)]

    async def _pages(self, generation: GenerationToExamine) -> AsyncGenerator[Sequence[StoredPoint], None]:
        """All points; the store reads the next page while the rows of one are looked up."""

        def scan(begin: str | None) -> asyncio.Task[PointPage]:
            reading = self.vectors.scan(
                generation.space, generation.selector(), begin=begin, limit=PAGE_POINTS
            )
            return asyncio.ensure_future(reading)

        reading: asyncio.Task[PointPage] | None = scan(None)
        try:
            while reading is not None:
                page = await reading
                reading = None if page.next is None else scan(page.next)
                yield page.points
        finally:
            if reading is not None:
                reading.cancel()
                await asyncio.wait([reading])

    async def _absent(self, generation: GenerationToExamine, known: Collection[UUID]) -> list[UUID]:
        """Chunks without a point, by going through the rows."""
        absent: list[UUID] = []
        after: UUID | None = None
        while True:
            async with self.database.transaction(generation.tenant) as session:
                rows = ExaminationRows(session, generation.tenant)
                ids = await rows.ids_after(generation.id, after, PAGE_POINTS)
            if not ids:
                return sorted(set(absent) - set(known))
            absent += set(ids) - set(await self._points(generation, ids))
            after = ids[-1]

    async def _confirmed(self, generation: GenerationToExamine, suspects: Sequence[UUID]) -> list[Found]:
        """Those that are still wrong, and that nobody is putting right."""
        found: dict[UUID, Found] = {}
        for look in range(LOOKS):
            if look:
                await asyncio.sleep(PAUSE_S)
            before = await self._rows(generation, suspects)
            points = await self._points(generation, suspects)
            after = await self._rows(generation, suspects)
            judged = [_judged(generation, points, suspects, rows) for rows in (before, after)]
            found = {each: judged[1][each] for each in judged[0] if each in judged[1]}
            suspects = list(found)
            if not suspects:
                return []
        return await self._named(generation.tenant, list(found.values()))

    async def _named(self, tenant: TenantId, found: list[Found]) -> list[Found]:
        """An orphan of a document whose receipt says that nothing is left is a broken promise."""
        orphans = {f.where.document for f in found if f.kind is Kind.POINT_ORPHANED and f.where.document}
        async with self.database.transaction(tenant) as session:
            deleted = await ExaminationRows(session, tenant).deleted(orphans)
        return [
            Found(Kind.POINT_OF_DELETED_DOCUMENT, each.id, each.where)
            if each.kind is Kind.POINT_ORPHANED and each.where.document in deleted
            else each
            for each in found
        ]

    async def _places(
        self, generation: GenerationToExamine, ids: Sequence[UUID]
    ) -> Mapping[UUID, ChunkPlace]:
        async with self.database.transaction(generation.tenant) as session:
            return await ExaminationRows(session, generation.tenant).places(ids)

    async def _rows(self, generation: GenerationToExamine, ids: Sequence[UUID]) -> Rows:
        async with self.database.transaction(generation.tenant) as session:
            rows = ExaminationRows(session, generation.tenant)
            # Jobs last: the commit that ends one shows what it did in the rows read before, or not at all.
            places = await rows.places(ids)
            states = {each.id: each.state for each in await rows.generations()}
            documents, bases = await rows.documents_under_way(), await rows.bases_under_way()
        return Rows(places, documents, bases, states.get(generation.id))

    async def _points(
        self, generation: GenerationToExamine, ids: Sequence[UUID]
    ) -> Mapping[UUID, StoredPoint]:
        page = await self.vectors.scan(generation.space, generation.selector(ids), limit=max(1, len(ids)))
        return {point.id: point for point in page.points}


def _judged(
    generation: GenerationToExamine,
    points: Mapping[UUID, StoredPoint],
    suspects: Iterable[UUID],
    rows: Rows,
) -> dict[UUID, Found]:
    judged = (_judge(generation, each, points.get(each), rows) for each in suspects)
    return {UUID(found.id): found for found in judged if found is not None}


def _judge(
    generation: GenerationToExamine, identity: UUID, point: StoredPoint | None, rows: Rows
) -> Found | None:
    place = rows.places.get(identity)
    documents = {place.document if place else None, point.document if point else None} - {None}
    if documents & rows.documents_under_way or _is_moving(generation, rows):
        return None
    kind = _fault(generation, point, place)
    if kind is None or (kind is Kind.POINT_ORPHANED and rows.state == "building"):
        return None
    named = place.document if place else (point.document if point else None)
    return Found(kind, str(identity), Difference(generation, identity, named))


def _is_moving(generation: GenerationToExamine, rows: Rows) -> bool:
    """Whether the generation as a whole goes: what is searched or built never does."""
    if rows.state is None:
        return True
    return rows.state not in {"serving", "building"} and generation.base in rows.bases_under_way


def _fault(
    generation: GenerationToExamine, point: StoredPoint | None, place: ChunkPlace | None
) -> Kind | None:
    """What is wrong with a point of this generation, given its row; nothing where there is neither."""
    if place is None:
        return None if point is None else Kind.POINT_ORPHANED
    if place.generation != generation.id:
        return None if point is None else Kind.POINT_GENERATION_WRONG
    if point is None:
        # A chunk that does not serve has no right to a point; another rule names it.
        return Kind.POINT_MISSING if place.is_kept else None
    return _unlike(generation, point, place)


def _unlike(generation: GenerationToExamine, point: StoredPoint, place: ChunkPlace) -> Kind | None:
    if point.document != place.document:
        return Kind.POINT_DOCUMENT_WRONG
    if point.version != place.version:
        return Kind.POINT_VERSION_WRONG
    if point.rights_key != _rights_key(generation.tenant, GenerationId(place.generation), place.class_number):
        return Kind.POINT_RIGHTS_WRONG
    return None
