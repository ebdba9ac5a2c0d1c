"""Asks for reindexes, shows them, cancels them, and goes back."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.acl import Permission
from eai.access.subject import Subject
from eai.audit.actions import AuditAction
from eai.audit.entries import Resource
from eai.audit.service import Audit
from eai.gateway.calls import Caller, Operation
from eai.gateway.service import Gateway
from eai.ingestion.repository import placement_of
from eai.kernel.errors import InvalidInput, NotFound
from eai.kernel.ids import BaseId, GenerationId, JobId
from eai.kernel.paging import Page, PageRequest
from eai.knowledge.bases.access import authorise, managed
from eai.knowledge.bases.handle import BaseHandle, StoredGeneration
from eai.knowledge.bases.repository import BaseRows
from eai.knowledge.documents.submitter import submitter
from eai.knowledge.ports import ModelCatalogue, SpaceId
from eai.knowledge.statistics.repository import StatisticRows
from eai.platform.jobs import Jobs
from eai.platform.listing import next_key
from eai.reindex.answers import reindex_out
from eai.reindex.coverage_rows import CoverageRows
from eai.reindex.errors import ReindexInProgress, RollbackUnavailable
from eai.reindex.models import ReindexJob
from eai.reindex.repository import GenerationRows, ReindexRows
from eai.reindex.running import EMBEDDINGS_REINDEX, abandon
from eai.reindex.schemas import ReindexOut, ReindexRequest, ReindexStatus, Settings


class Reindexes:
    """The reindexes of a tenant's bases, as those see them who manage the base."""

    def __init__(self, gateway: Gateway, models: ModelCatalogue, jobs: Jobs, audit: Audit) -> None:
        self._gateway = gateway
        self._models = models
        self._jobs = jobs
        self._audit = audit

    async def request(
        self, session: AsyncSession, subject: Subject, reference: str, job: JobId, wanted: ReindexRequest
    ) -> ReindexOut:
        """Queue a reindex; the same id again returns it.

        Raises NotFound, PermissionMissing, ReindexInProgress, InvalidInput, and what the gateway has against
        the base's level and the model.
        """
        base = await managed(session, subject, reference, None)
        rows = ReindexRows(session, subject.tenant)
        if (made := await rows.find(job, base.id)) is not None:
            return reindex_out(made)
        source = settings_of(base)
        target = await self._target(session, subject, base, wanted)
        await _require_none(rows, base.id)
        await self._check(subject, base, target)
        await BaseRows(session, subject.tenant).insert_generation(
            base.id, await _generation(session, base, target)
        )
        # Those of older bases have no chunking of their own yet, and may be gone back to.
        await GenerationRows(session, subject.tenant).change(
            base.generation.id, chunk_size=source.chunk_size, chunk_overlap=source.chunk_overlap
        )
        await self._queue(session, subject, base, job, source, target, labels=wanted.labels.of(subject))
        out = await self._out(session, subject, base.id, job)
        await self._audit.record(
            session,
            subject,
            AuditAction.KNOWLEDGE_BASE_REINDEX_REQUEST,
            resource=_resource(base),
            facts={"job": str(job), **_facts(source, target)},
        )
        return out

    async def get(self, session: AsyncSession, subject: Subject, reference: str, job: str) -> ReindexOut:
        """A reindex of the base. Raises NotFound, PermissionMissing."""
        _, row = await _managed(session, subject, reference, job)
        return reindex_out(row)

    async def page(
        self, session: AsyncSession, subject: Subject, reference: str, page: PageRequest
    ) -> Page[ReindexOut]:
        """The reindexes of the base, oldest first. Raises NotFound, PermissionMissing."""
        base = await authorise(session, subject, reference, Permission.MANAGE)
        found = await ReindexRows(session, base.tenant).page(base.id, page)
        return Page([reindex_out(row) for row in found[: page.limit]], next_key(found, page))

    async def cancel(self, session: AsyncSession, subject: Subject, reference: str, job: str) -> ReindexOut:
        """End a reindex and drop what was built. One that has ended stays as it is.

        Raises NotFound, PermissionMissing.
        """
        base, row = await _managed(session, subject, reference, job)
        if not await self._jobs.cancel(session, base.tenant, JobId(row.id)):
            return await self._out(session, subject, base.id, JobId(row.id))
        await abandon(session, self._jobs, row, status=ReindexStatus.CANCELLED)
        out = await self._out(session, subject, base.id, JobId(row.id))
        await self._audit.record(
            session,
            subject,
            AuditAction.KNOWLEDGE_BASE_REINDEX_CANCEL,
            resource=_resource(base),
            facts={"job": str(row.id)},
        )
        return out

    async def roll_back(
        self, session: AsyncSession, subject: Subject, reference: str, job: str, new: JobId
    ) -> ReindexOut:
        """Queue the way back to the generation before; what it lacks is brought first.

        Raises NotFound, PermissionMissing, ReindexInProgress, RollbackUnavailable, and what the gateway has
        against the former model.
        """
        base, row = await _managed(session, subject, reference, job, lock=True)
        rows, generations = ReindexRows(session, base.tenant), GenerationRows(session, base.tenant)
        if (made := await rows.find(new, base.id)) is not None:
            return reindex_out(made)
        await _require_none(rows, base.id)
        source, target = Settings(**row.target), Settings(**row.source)
        former = await generations.hold(target.generation)
        is_last = row.status == ReindexStatus.COMPLETED and source.generation == base.generation.id
        if not is_last or former is None or former.state != "retired":
            raise RollbackUnavailable
        await self._check(subject, base, target)
        await generations.change(former.id, state="building")
        await self._queue(session, subject, base, new, source, target, rollback_of=row.id)
        out = await self._out(session, subject, base.id, new)
        await self._audit.record(
            session,
            subject,
            AuditAction.KNOWLEDGE_BASE_REINDEX_ROLLBACK,
            resource=_resource(base),
            facts={"job": str(new), "rollback_of": str(row.id), **_facts(source, target)},
        )
        return out

    async def _target(
        self, session: AsyncSession, subject: Subject, base: BaseHandle, wanted: ReindexRequest
    ) -> Settings:
        name = wanted.embedding_model or base.embedding_model
        is_same = name == base.embedding_model
        dimensions = wanted.dimensions or (base.generation.space.dimensions if is_same else None)
        model = await self._models.resolve(session, subject, name, dimensions)
        if model is None:
            raise InvalidInput.field("embedding_model", "model_not_found", "names no embedding model")
        size = wanted.chunk_size or base.chunk_size
        overlap = wanted.chunk_overlap
        if overlap is None:
            overlap = min(base.chunk_overlap, size // 2)
        if 2 * overlap > size:
            raise InvalidInput.field(
                "chunk_overlap", "chunk_overlap_too_large", "is more than half of chunk_size"
            )
        return Settings(
            embedding_model=model.name,
            dimensions=model.space.dimensions,
            chunk_size=size,
            chunk_overlap=overlap,
            generation=uuid4(),
            collection=model.space.name,
        )

    async def _check(self, subject: Subject, base: BaseHandle, target: Settings) -> None:
        """Raise what would be refused of every question to the base afterwards."""
        caller, model = Caller.of(subject), target.embedding_model
        await self._gateway.check(caller, model, Operation.REINDEX, base.classification)

    async def _queue(  # noqa: PLR0917 - in the order of the sentence
        self,
        session: AsyncSession,
        subject: Subject,
        base: BaseHandle,
        job: JobId,
        source: Settings,
        target: Settings,
        *,
        labels: Mapping[str, str] | None = None,
        rollback_of: UUID | None = None,
    ) -> None:
        documents = await CoverageRows(session, base.tenant, base.id).documents()
        await ReindexRows(session, base.tenant).insert(
            {
                "id": job,
                "base_id": base.id,
                "status": ReindexStatus.QUEUED,
                "source": source.model_dump(mode="json"),
                "target": target.model_dump(mode="json"),
                "rollback_of": rollback_of,
                "documents_total": documents,
                "requested_by": subject.principal,
            }
        )
        generation = StoredGeneration(
            base.tenant,
            GenerationId(target.generation),
            SpaceId(target.collection, target.dimensions),
        )
        parameters = {
            "base": str(base.id),
            "placement": placement_of(generation),
            "submitter": submitter(subject),
            "labels": dict(labels or {}),
        }
        await self._jobs.create(
            session, base.tenant, job, EMBEDDINGS_REINDEX, parameters, principal=subject.principal
        )

    async def _out(self, session: AsyncSession, subject: Subject, base: BaseId, job: JobId) -> ReindexOut:
        row = await ReindexRows(session, subject.tenant).find(job, base)
        if row is None:
            raise NotFound
        return reindex_out(row)


def settings_of(base: BaseHandle) -> Settings:
    """What the generation that is searched was made with."""
    return Settings(
        embedding_model=base.embedding_model,
        dimensions=base.generation.space.dimensions,
        chunk_size=base.chunk_size,
        chunk_overlap=base.chunk_overlap,
        generation=base.generation.id,
        collection=base.generation.space.name,
    )


async def _require_none(rows: ReindexRows, base: BaseId) -> None:
    if (active := await rows.active(base)) is not None:
        raise ReindexInProgress(job_id=str(active.id))


async def _managed(
    session: AsyncSession, subject: Subject, reference: str, job: str, *, lock: bool = False
) -> tuple[BaseHandle, ReindexJob]:
    """The reindex and its base, if `subject` manages it; first of all there must be one."""
    row = await _find(session, await authorise(session, subject, reference), job)
    return await authorise(session, subject, reference, Permission.MANAGE, lock=lock), row


async def _find(session: AsyncSession, base: BaseHandle, job: str) -> ReindexJob:
    try:
        id_ = UUID(job)
    except ValueError:
        raise NotFound from None
    row = await ReindexRows(session, base.tenant).find(id_, base.id)
    if row is None:
        raise NotFound
    return row


async def _generation(session: AsyncSession, base: BaseHandle, target: Settings) -> dict[str, Any]:
    averages = await StatisticRows(session, base.tenant, base.generation.id).averages()
    average = averages.fixed if averages.measured is None else averages.measured
    return {
        "id": target.generation,
        "state": "building",
        "embedding_model": target.embedding_model,
        "dimensions": target.dimensions,
        "collection": target.collection,
        # A guess where it is cut anew; whoever builds it looks at what came of it.
        "average_length": average * target.chunk_size / base.chunk_size,
        "chunk_size": target.chunk_size,
        "chunk_overlap": target.chunk_overlap,
    }


def _facts(source: Settings, target: Settings) -> dict[str, Any]:
    return {
        "from_generation": str(source.generation),
        "from_embedding_model": source.embedding_model,
        "from_dimensions": source.dimensions,
        "generation": str(target.generation),
        "embedding_model": target.embedding_model,
        "dimensions": target.dimensions,
        "chunk_size": target.chunk_size,
        "chunk_overlap": target.chunk_overlap,
    }


def _resource(base: BaseHandle) -> Resource:
    return Resource("knowledge_base", str(base.id))
