"""Makes the keyword weights of a generation anew from the stored text, after its average has changed."""

import asyncio
from collections.abc import Mapping, Sequence
from uuid import UUID

from eai.kernel.ids import DocumentId, GenerationId, PointId
from eai.knowledge.chunks.repository import ChunkRows, ChunkText
from eai.knowledge.lexical import Language, analyse_document, document_weights
from eai.knowledge.models import Generation
from eai.knowledge.ports import SpaceId, SparseVector, Vectors
from eai.platform.database import Database
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

        Raises VectorStoreUnavailable, Fenced.
        """
        generation = GenerationId(UUID(run.parameters["generation"]))
        only = run.parameters.get("document")
        document = DocumentId(UUID(only)) if only else None
        after = PointId(UUID(run.progress["after"])) if "after" in run.progress else None
        while True:
            async with self._database.transaction(run.tenant) as session:
                row = await session.get(Generation, (run.tenant, generation))
                batch = await ChunkRows(session, run.tenant).texts(
                    generation, document, after, CHUNKS_PER_BATCH
                )
                if row is None or not batch:
                    await self._jobs.complete(session, run)
                    return
            await self._write(row, batch)
            async with self._database.transaction(run.tenant) as session:
                now = await session.get(Generation, (run.tenant, generation))
                if now is not None and now.average_length != row.average_length:
                    # Fixed anew meanwhile: the batch may have written over newer weights.
                    continue
                after = batch[-1].point
                await self._jobs.confirm(session, run, progress={"after": str(after)})

    async def _write(self, generation: Generation, batch: Sequence[ChunkText]) -> None:
        weights = await asyncio.to_thread(_weights, batch, generation.average_length)
        await self._vectors.set_sparse(SpaceId(generation.collection, generation.dimensions), weights)


def _weights(batch: Sequence[ChunkText], average: float) -> Mapping[PointId, SparseVector]:
    return {
        chunk.point: document_weights(analyse_document(chunk.content, Language(chunk.language)), average)
        for chunk in batch
    }
