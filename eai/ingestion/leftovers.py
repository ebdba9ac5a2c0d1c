"""Makes the store have what rows have of the points that cutting a text anew has touched.

Pieces are called by where they begin and end: a job that removes what it has left over may remove what
another one has just written, and is about to give rows. What rows have and the store does not is written from
them.
"""

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.rights_class import generation_key, rights_key
from eai.ingestion.recut_rows import (
    Matter,
    Projected,
    generations_written,
    matter_of,
    projected,
    stored_points,
    touched_points,
)
from eai.kernel.ids import BaseId, DocumentId, PointId
from eai.knowledge.bases.handle import StoredGeneration
from eai.knowledge.lexical import analyse_document, document_weights
from eai.knowledge.ports import Point, Selector, Vectors
from eai.platform.database import Database
from eai.platform.jobs import JobRun, Jobs

POINTS_PER_WRITE = 64
REWRITES = "rewrites"
"""What tells, of a job, that the points of rows are to be written even where there are some."""


@dataclass(frozen=True, slots=True)
class Traces:
    """The points that were touched; which of them have rows, and which of those the store is to have."""

    document: DocumentId
    generations: Collection[StoredGeneration]
    touched: Collection[PointId]
    stored: Collection[PointId]
    answering: Mapping[PointId, Projected]
    rewrites: bool = field(default=False, compare=False)
    """Whether points may be as rows were once: those that have rows are written, and no others are left."""


class Leftovers:
    """Removes points without rows, and writes rows without points."""

    def __init__(self, database: Database, vectors: Vectors, jobs: Jobs) -> None:
        self._database = database
        self._vectors = vectors
        self._jobs = jobs

    async def clear(self, run: JobRun, traces: Traces) -> Traces:
        """Make the store like `traces`; tells what it was made like.

        Raises VectorStoreUnavailable, Fenced.
        """
        rewrites, answering = traces.rewrites, dict(traces.answering)
        kept = traces.answering if rewrites else traces.stored
        gone = tuple(point for point in traces.touched if point not in kept)
        for generation in traces.generations:
            key = generation_key(run.tenant, generation.id)
            if gone:
                await self._vectors.delete(generation.space, Selector(key, ids=gone))
            own = tuple(point for point, at in traces.answering.items() if at.generation == generation.id)
            if own and (rewrites or await self._are_missing(generation, key, own)):
                answering |= await self._write(run, generation, traces.document, own)
                rewrites = True
        return replace(traces, answering=answering, rewrites=rewrites)

    async def _are_missing(self, generation: StoredGeneration, key: str, own: tuple[PointId, ...]) -> bool:
        return await self._vectors.count(generation.space, Selector(key, ids=own)) < len(own)

    async def _write(
        self, run: JobRun, generation: StoredGeneration, document: DocumentId, own: Collection[PointId]
    ) -> Mapping[PointId, Projected]:
        """Write these as their rows are now; tells what was written."""
        async with self._database.transaction(run.tenant) as session:
            # Rows may change while it writes: from here on whoever has the job looks after that.
            await self._jobs.confirm(session, run, {REWRITES: True})
            matter = await matter_of(session, run.tenant, own)
        points = await asyncio.to_thread(_points_of, generation, document, matter)
        for start in range(0, len(points), POINTS_PER_WRITE):
            await self._vectors.upsert(generation.space, points[start : start + POINTS_PER_WRITE])
        return {point: each.at for point, each in matter.items()}


async def traces_of(session: AsyncSession, run: JobRun, base: BaseId, progress: Mapping[str, Any]) -> Traces:
    """What the job, and those whose points it has to look after, have touched, as rows are now."""
    touched = await touched_points(session, run)
    return Traces(
        document=DocumentId(UUID(run.parameters["document"])),
        generations=await generations_written(session, run, base, progress),
        touched=touched,
        stored=await stored_points(session, run.tenant, touched),
        answering=await projected(session, run.tenant, touched),
        rewrites=bool(run.parameters.get(REWRITES) or progress.get(REWRITES)),
    )


def _points_of(
    generation: StoredGeneration, document: DocumentId, matter: Mapping[PointId, Matter]
) -> list[Point]:
    tenant = generation.tenant
    return [
        Point(
            id=point,
            dense=np.frombuffer(each.embedding, "<f4"),
            sparse=document_weights(analyse_document(each.content, each.language), each.at.average_length),
            rights_key=rights_key(tenant, generation.id, each.at.class_number),
            generation_key=generation_key(tenant, generation.id),
            document=document,
            version=each.version,
        )
        for point, each in matter.items()
    ]
