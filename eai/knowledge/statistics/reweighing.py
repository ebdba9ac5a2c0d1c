"""Makes the keyword weights of a generation anew from the stored text, after its average has changed."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from eai.kernel.ids import BaseId, DocumentId, GenerationId, PointId
from eai.knowledge.bases.repository import BaseRows
from eai.knowledge.chunks.repository import ChunkRows, ChunkText
from eai.knowledge.lexical import Language, analyse_document, document_weights
from eai.knowledge.models import Generation
from eai.knowledge.ports import SpaceId, SparseVector, Vectors
from eai.platform.database import Database
from eai.platform.finishing import finished
from eai.platform.jobs import JobRun, Jobs

CHUNKS_PER_BATCH = 256


class Reweighing:
    """Rewrites sparse vectors; a batch at a time, from where an earlier attempt came to."""

    def __init__(self, database: Database, vectors: Vectors, jobs: Jobs) -> None:
        self._database = database
        self._vectors = vectors
        self._jobs = jobs

    async def run(self, run: JobRun) -> None:
        """Give every point of the generation, or of one document in it, weights of the present average.

        Begins anew when the average is fixed anew meanwhile. Raises VectorStoreUnavailable, Fenced.
        """
        place = _Place.of(run.progress)
        while (step := await self._next(run, place)) is not None:
            generation, batch = step
            # Cut short, it would leave an older average's weights where a newer one's may be by now.
            await finished(self._write(run, generation, batch))
            place = _Place(generation.average_length, batch[-1].point)
            async with self._database.transaction(run.tenant) as session:
                await self._jobs.confirm(session, run, progress=place.to_progress(), is_further=True)

    async def _next(self, run: JobRun, place: "_Place") -> tuple[Generation, Sequence[ChunkText]] | None:
        """The next batch with its generation; None when the job is done, and closed."""
        key = (run.tenant, GenerationId(UUID(run.parameters["generation"])))
        only = run.parameters.get("document")
        document = DocumentId(UUID(only)) if only else None
        async with self._database.transaction(run.tenant) as session:
            # Held, so that whoever fixes another average sees this job closed, or is seen by it.
            row = await session.get(Generation, key, with_for_update={"key_share": True})
            if row is not None:
                after = place.after if place.average == row.average_length else None
                batch = await ChunkRows(session, run.tenant).texts(key[1], document, after, CHUNKS_PER_BATCH)
                if batch:
                    return row, batch
            await self._jobs.complete(session, run)
            if row is not None:
                # Every score may be another by now.
                await BaseRows(session, run.tenant).begin_content_epoch(BaseId(row.base_id))
        return None

    async def _write(self, run: JobRun, generation: Generation, batch: Sequence[ChunkText]) -> None:
        """Write the batch's weights, again where a newer average may have been written over by them."""
        space = SpaceId(generation.collection, generation.dimensions)
        average, now = None, generation.average_length
        while average != now:
            average = now
            await self._vectors.set_sparse(space, await asyncio.to_thread(weights, batch, average))
            async with self._database.transaction(run.tenant) as session:
                row = await session.get(Generation, (run.tenant, GenerationId(generation.id)))
                now = average if row is None else row.average_length


@dataclass(frozen=True, slots=True)
class _Place:
    """How far the points are weighed, and with which average; another one is another beginning."""

    average: float | None
    after: PointId | None

    @classmethod
    def of(cls, progress: Mapping[str, Any]) -> "_Place":
        after = progress.get("after")
        return cls(progress.get("average"), PointId(UUID(after)) if after else None)

    def to_progress(self) -> Mapping[str, Any]:
        return {"average": self.average, "after": str(self.after)}


def weights(batch: Sequence[ChunkText], average: float) -> Mapping[PointId, SparseVector]:
    """The sparse vectors of these chunks, made with this average."""
    return {
        chunk.point: document_weights(analyse_document(chunk.content, Language(chunk.language)), average)
        for chunk in batch
    }
