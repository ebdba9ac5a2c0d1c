"""Has points follow their rows: to another rights class, or out of the index with a version replaced."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from uuid import UUID, uuid4

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.rights_class import generation_key, rights_key
from eai.kernel.errors import Unavailable
from eai.kernel.ids import BaseId, DocumentId, GenerationId, JobId, PointId, VersionId
from eai.knowledge.bases.handle import StoredGeneration
from eai.knowledge.bases.repository import BaseRows
from eai.knowledge.chunks.repository import ChunkRows
from eai.knowledge.documents.repository import DocumentRows
from eai.knowledge.points import Points
from eai.knowledge.ports import Selector, Vectors
from eai.platform.database import Database
from eai.platform.finishing import finished
from eai.platform.jobs import JobRun, Jobs

POINTS_PER_CHANGE = 500

Classes = Mapping[GenerationId, Mapping[int, Sequence[PointId]]]
"""By generation, the points that belong to each rights class."""


class PointFollowing:
    """What must happen in the vector store after rows have changed; all of it may be repeated."""

    def __init__(self, database: Database, vectors: Vectors, jobs: Jobs) -> None:
        self._database = database
        self._vectors = vectors
        self._points = Points(vectors)
        self._jobs = jobs

    async def move_rights(self, run: JobRun) -> None:
        """Give a document's points the classes of their rows.

        Rows are read again in the transaction that closes the job: if they changed meanwhile, an older
        class may have been written over a newer one, and it is done again; by another job where this one
        is lost. Raises VectorStoreUnavailable, Fenced.
        """
        try:
            await self._move_rights(run)
        except BaseException:
            # However it ends, also cancelled once the job was lost: what was written may be older than rows.
            with suppress(Unavailable):
                await finished(self._leave_to_another(run))
            raise

    async def _leave_to_another(self, run: JobRun) -> None:
        async with self._database.transaction(run.tenant) as session:
            if not await self._jobs.holds(session, run):
                # Whoever took it over may be done: what this attempt wrote last is older than its rows.
                await self._jobs.create(session, run.tenant, JobId(uuid4()), run.name, run.parameters)

    async def _move_rights(self, run: JobRun) -> None:
        base, document = _base_of(run), _document_of(run)
        async with self._database.transaction(run.tenant) as session:
            generations = await BaseRows(session, run.tenant).generations(base)
            classes = await _classes(session, run, document)
        while True:
            for generation in generations:
                await self._rekey(run, generation, classes.get(generation.id, {}))
            async with self._database.transaction(run.tenant) as session:
                written, classes = classes, await _classes(session, run, document)
                if written == classes:
                    await self._jobs.complete(session, run)
                    # What was found meanwhile was found by the former classes.
                    await BaseRows(session, run.tenant).begin_content_epoch(base)
                    return
                await self._jobs.confirm(session, run)

    async def retire_version(self, run: JobRun) -> None:
        """Remove a replaced version's points, then its chunk rows. Raises VectorStoreUnavailable, Fenced."""
        base, document = _base_of(run), _document_of(run)
        version = VersionId(UUID(run.parameters["version"]))
        async with self._database.transaction(run.tenant) as session:
            generations = await BaseRows(session, run.tenant).generations(base)
            document_row = await DocumentRows(session, run.tenant, base).lock_any(document)
            if document_row is None or document_row.serving_version_id == version:
                await self._jobs.complete(session, run)
                return
        await self._points.remove(generations, document, version)
        async with self._database.transaction(run.tenant) as session:
            await DocumentRows(session, run.tenant, base).lock_any(document)
            await ChunkRows(session, run.tenant).delete_of_version(document, version)
            await self._jobs.complete(session, run)

    async def _rekey(
        self, run: JobRun, generation: StoredGeneration, classes: Mapping[int, Sequence[PointId]]
    ) -> None:
        for number, points in classes.items():
            key = rights_key(run.tenant, generation.id, number)
            for selector in _selectors(generation_key(run.tenant, generation.id), points):
                await self._vectors.set_rights(generation.space, selector, key)


def _selectors(generation: str, points: Sequence[PointId]) -> Iterator[Selector]:
    for start in range(0, len(points), POINTS_PER_CHANGE):
        yield Selector(generation, ids=tuple(points[start : start + POINTS_PER_CHANGE]))


async def _classes(session: AsyncSession, run: JobRun, document: DocumentId) -> Classes:
    classes: dict[GenerationId, dict[int, list[PointId]]] = defaultdict(lambda: defaultdict(list))
    for chunk in await ChunkRows(session, run.tenant).rights(document):
        classes[chunk.generation][chunk.class_number].append(chunk.point)
    return classes


def _base_of(run: JobRun) -> BaseId:
    return BaseId(UUID(run.parameters["base"]))


def _document_of(run: JobRun) -> DocumentId:
    return DocumentId(UUID(run.parameters["document"]))
