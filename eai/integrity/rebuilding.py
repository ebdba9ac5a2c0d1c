"""Rebuilds the projection from rows, which hold every vector: no model is called."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from eai.integrity.findings import Found, Kind
from eai.integrity.matter import point_of
from eai.integrity.mending_rows import MendingRows
from eai.integrity.ownership import StoreOwnership
from eai.integrity.repository import ChunkMatter, ChunkPlace, Difference, ExaminationRows, GenerationToExamine
from eai.integrity.strangers import Stranger
from eai.kernel.ids import BaseId, TenantId
from eai.knowledge.bases.repository import BaseRows
from eai.knowledge.ports import Selector, Vectors
from eai.platform.database import Database
from eai.platform.finishing import finished
from eai.platform.jobs import JobRun, Jobs

POINTS_PER_STEP = 256
ORPHANS = {Kind.POINT_ORPHANED, Kind.POINT_OF_DELETED_DOCUMENT}


class State(NamedTuple):
    """What a step of rebuilding wrote: it is done when rows say the same afterwards."""

    places: Mapping[UUID, ChunkPlace]
    averages: Mapping[UUID, float]


class Rebuilding:
    """Makes points what their rows are; harmless to repeat, and at any point to interrupt."""

    def __init__(self, database: Database, vectors: Vectors, jobs: Jobs, ownership: StoreOwnership) -> None:
        self._database = database
        self._vectors = vectors
        self._jobs = jobs
        self._ownership = ownership

    async def mend(self, run: JobRun, found: Sequence[Found]) -> None:
        """Mend every point in `found`. Raises VectorStoreUnavailable, VectorStoreNotOurs, Fenced."""
        differences = [each for each in found if isinstance(each.where, Difference)]
        strangers = [each.where for each in found if isinstance(each.where, Stranger)]
        if differences or strangers:
            await self._ownership.require()
        for step in _steps([each for each in differences if each.kind in ORPHANS]):
            await self._confirm(run)
            await self._remove_orphans(run.tenant, [each.where for each in step])
        for step in _steps([each for each in differences if each.kind is Kind.POINT_GENERATION_WRONG]):
            await self._remove(each.where for each in step)
        for step in _steps([each for each in differences if each.kind not in ORPHANS]):
            await self._confirm(run)
            # Cut short, it would leave points as their rows were before it.
            await finished(self._write(run.tenant, [UUID(each.id) for each in step]))
        for stranger in strangers:
            await self._vectors.delete(stranger.space, Selector(stranger.key))
        await self._tell(run.tenant, {each.where.generation.base for each in differences})

    async def _tell(self, tenant: TenantId, bases: Collection[BaseId]) -> None:
        async with self._database.transaction(tenant) as session:
            for base in sorted(bases):
                await BaseRows(session, tenant).begin_content_epoch(base)

    async def _confirm(self, run: JobRun) -> None:
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.confirm(session, run)

    async def _remove_orphans(self, tenant: TenantId, orphans: Sequence[Difference]) -> None:
        """Remove points without rows, unless somebody has begun to give them some.

        The store is waited for inside the transaction, as by a reindex that flips: while their documents are
        held, nobody can begin to write these very points again and count them before they go.
        """
        async with self._database.transaction(tenant) as session:
            await MendingRows(session, tenant).hold_documents({o.document for o in orphans if o.document})
            rows = ExaminationRows(session, tenant)
            under_way = await rows.documents_under_way()
            places = await rows.places([orphan.point for orphan in orphans])
            await self._remove(o for o in orphans if o.document not in under_way and o.point not in places)

    async def _remove(self, differences: Iterable[Difference]) -> None:
        ids: dict[GenerationToExamine, list[UUID]] = defaultdict(list)
        for each in differences:
            ids[each.generation].append(each.point)
        for generation, points in ids.items():
            await self._vectors.delete(generation.space, generation.selector(points))

    async def _write(self, tenant: TenantId, ids: Sequence[UUID]) -> None:
        """Write points as their rows are, until rows are still the same afterwards.

        Whoever changes a row later moves or removes its point later as well. A chunk that stopped serving
        meanwhile may have lost its point before it was written here, so it goes again.
        """
        before: State | None = None
        written_to: Mapping[UUID, GenerationToExamine] = {}
        while ids:
            generations, matter = await self._read(tenant, ids)
            state = _state(generations, matter)
            if before is not None:
                gone = [each for each in before.places if each not in state.places]
                # A generation may be gone by now, rows and all: the point was written to what it was.
                await self._take_back(written_to, before, gone)
                if all(state.places[each] == before.places[each] for each in state.places) and all(
                    before.averages.get(each) == average for each, average in state.averages.items()
                ):
                    return
            ids = list(state.places)
            for generation in generations.values():
                own = [row for row in matter.values() if row.place.generation == generation.id]
                points = [point_of(generation, row) for row in own if row.place.is_kept]
                if points:
                    await self._vectors.ensure_space(generation.space)
                    await self._vectors.upsert(generation.space, points)
            before, written_to = state, generations

    async def _read(
        self, tenant: TenantId, ids: Sequence[UUID]
    ) -> tuple[Mapping[UUID, GenerationToExamine], Mapping[UUID, ChunkMatter]]:
        async with self._database.transaction(tenant) as session:
            rows = ExaminationRows(session, tenant)
            matter = await rows.matter(ids)
            return {each.id: each for each in await rows.generations()}, matter

    async def _take_back(
        self, generations: Mapping[UUID, GenerationToExamine], before: State, gone: Sequence[UUID]
    ) -> None:
        for each in gone:
            generation = generations.get(before.places[each].generation)
            if generation is not None:
                await self._vectors.delete(generation.space, generation.selector([each]))


def _state(generations: Mapping[UUID, GenerationToExamine], matter: Mapping[UUID, ChunkMatter]) -> State:
    kept = {each: row.place for each, row in matter.items() if row.place.is_kept}
    used = {place.generation for place in kept.values()}
    return State(kept, {each: generations[each].average_length for each in used if each in generations})


def _steps(found: Sequence[Found]) -> list[Sequence[Found]]:
    return [found[start : start + POINTS_PER_STEP] for start in range(0, len(found), POINTS_PER_STEP)]
