"""Reads what a job names."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Subquery, cast, exists, func, select, text, true
from sqlalchemy.dialects.postgresql import JSONB, JSONPATH
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.acl import BaseRights
from eai.access.classification import LEVELS, Classification, highest, level_at
from eai.access.scopes import Role
from eai.access.subject import Subject
from eai.audit.entries import Actor
from eai.finops.holding_rows import Place
from eai.gateway.calls import Caller
from eai.ingestion.passages import Manuscript
from eai.kernel.ids import (
    ApiKeyId,
    DocumentId,
    GenerationId,
    GroupId,
    PrincipalId,
    TenantId,
    VersionId,
)
from eai.knowledge.bases.access import handle_of
from eai.knowledge.bases.handle import BaseHandle, BuildingGeneration, StoredGeneration
from eai.knowledge.bases.repository import BaseRows
from eai.knowledge.chunks.repository import ChunkRows
from eai.knowledge.chunks.rights_classes import rights_class_number
from eai.knowledge.chunks.spans import spans_from_rows
from eai.knowledge.documents.drafts import StoredVersion
from eai.knowledge.documents.fields import ShownFields
from eai.knowledge.documents.submitter import submitter
from eai.knowledge.documents.version_rows import ON_ITS_WAY
from eai.knowledge.models import Chunk, DocumentVersion, KnowledgeDocument
from eai.knowledge.ports import SpaceId
from eai.platform.jobs import JobRun, Jobs
from eai.quarantine.neighbourhood import FEWEST_KNOWN

JOB_NAME = "ingestion.run"
# A job acts on what was permitted when it was accepted; it decides nothing by a caller's rights.
NO_RIGHTS = BaseRights(can_see=False, can_read_passages=False, can_write=False, can_manage=False)
_LEVELS_OF_PARTS = cast("$[*].classification", JSONPATH)


@dataclass(frozen=True, slots=True)
class Work:
    """What one attempt at a document needs: the manuscript, and where its text will be served."""

    manuscript: Manuscript
    base: BaseHandle
    stored: StoredVersion
    source_hash: bytes
    building: BuildingGeneration | None = None

    @property
    def beside(self) -> Manuscript | None:
        """The manuscript as the generation that a reindex is building wants it, if one is."""
        if self.building is None:
            return None
        return replace(
            self.manuscript,
            embedding_model=self.building.embedding_model,
            space=self.building.space,
            generation=self.building.id,
            average_length=self.building.average_length,
            chunk_size=self.building.chunk_size,
            chunk_overlap=self.building.chunk_overlap,
            # It has been, by the model that answers now; what was let pass there is not judged anew here.
            is_compared=False,
        )

    @property
    def manuscripts(self) -> tuple[Manuscript, ...]:
        """Everything that points are written for."""
        return (self.manuscript,) if self.beside is None else (self.manuscript, self.beside)


async def load_work(session: AsyncSession, tenant: TenantId, parameters: Mapping[str, Any]) -> Work | None:
    """The work that a job's parameters name.

    None when document or base are gone or being deleted, and when a newer text has come.
    """
    base = await _base(session, tenant, parameters["base"])
    company = _company(tenant, None if base is None else base.generation.id)
    row = (
        await session.execute(
            select(KnowledgeDocument, DocumentVersion, company.c.is_enough)
            .join(
                DocumentVersion,
                (DocumentVersion.tenant_id == KnowledgeDocument.tenant_id)
                & (DocumentVersion.document_id == KnowledgeDocument.id),
            )
            .join(company, true())
            .where(*_named(tenant, parameters))
        )
    ).one_or_none()
    if base is None or row is None:
        return None
    document, version, is_compared = row
    return await _work(session, base, document, version, parameters, is_compared=is_compared)


def _company(tenant: TenantId, generation: GenerationId | None) -> Subquery:
    """Whether there are enough passages to compare those of a text with."""
    passages = select(Chunk.id).where(Chunk.tenant_id == tenant, Chunk.generation == generation)
    return select(exists(passages.offset(FEWEST_KNOWN - 1).limit(1)).label("is_enough")).subquery()


async def level_now(
    session: AsyncSession, tenant: TenantId, parameters: Mapping[str, Any]
) -> Classification | None:
    """The level of the text that `load_work` would find, without loading it; None where it finds nothing."""
    parts = func.jsonb_path_query_array(DocumentVersion.chunk_rights, _LEVELS_OF_PARTS, type_=JSONB)
    statement = select(
        KnowledgeDocument.classification, KnowledgeDocument.field_level, DocumentVersion.intended, parts
    ).join_from(
        KnowledgeDocument,
        DocumentVersion,
        (DocumentVersion.tenant_id == KnowledgeDocument.tenant_id)
        & (DocumentVersion.document_id == KnowledgeDocument.id),
    )
    found = (await session.execute(statement.where(*_named(tenant, parameters)))).one_or_none()
    base = await BaseRows(session, tenant).find(parameters["base"])
    if found is None or base is None:
        return None
    own, fields, intended, levels = found
    parts_of = [Classification(each) for each in levels if each]
    return _level(LEVELS[base.classification], own, fields, intended, parts_of)


def _level(
    default: Classification,
    own: int | None,
    fields: int | None,
    intended: Mapping[str, Any],
    parts: Iterable[Classification | None],
) -> Classification:
    """What the text weighs now and, where the version brings its document another level, from then on.

    `own` is the document's level, `fields` what DLP raises that to for what is shown with the text.
    """
    ranks = (own, intended.get("classification", own))
    found = (level_at(rank) for rank in (fields, intended.get("field_level")))
    return highest(*(default if rank is None else LEVELS[rank] for rank in ranks), *found, *parts)


def placed(subject: Subject, base: BaseHandle) -> Place:
    """Which quotas bind what `subject` submits to the base."""
    return Place(subject.tenant, base.id, subject.groups)


def parameters_of(
    subject: Subject,
    base: BaseHandle,
    stored: StoredVersion,
    *,
    language: str | None,
    labels: Mapping[str, str],
) -> Mapping[str, Any]:
    """What the job of a version goes by."""
    return {
        "base": str(base.id),
        "document": str(stored.document),
        "version": str(stored.version),
        "language": language,
        "labels": dict(labels),
        "placement": placement_of(base.generation),
        "submitter": submitter(subject),
    }


def placement_of(generation: StoredGeneration) -> Mapping[str, Any]:
    """Where points are written, for a job's row: it must outlive the base, whose rows say it otherwise."""
    return {
        "generation": str(generation.id),
        "collection": generation.space.name,
        "dimensions": generation.space.dimensions,
    }


def placements_of(work: Work, leaving: Iterable[StoredGeneration] = ()) -> Mapping[str, Any]:
    """Where an attempt writes points, and where it has yet to remove some, for the job's progress."""
    beside = None if work.building is None else placement_of(work.building)
    return {
        "placement": placement_of(work.base.generation),
        "beside": beside,
        "leaving": [placement_of(generation) for generation in leaving],
    }


def generation_at(tenant: TenantId, placement: Mapping[str, Any]) -> StoredGeneration:
    """What `placement_of` was given."""
    return StoredGeneration(
        tenant,
        GenerationId(UUID(placement["generation"])),
        SpaceId(placement["collection"], placement["dimensions"]),
    )


def placements(run: JobRun, progress: Mapping[str, Any]) -> list[StoredGeneration]:
    """Everywhere that attempts at this job may have written points, as far as `progress` tells."""
    known = [run.parameters["placement"], progress.get("placement"), progress.get("beside")]
    found = [generation_at(run.tenant, each) for each in (*known, *progress.get("leaving", ())) if each]
    return list({generation.id: generation for generation in found}.values())


def _written_now(run: JobRun, progress: Mapping[str, Any]) -> set[GenerationId]:
    """Where the attempt that confirmed `progress` writes points."""
    known = [progress.get("placement", run.parameters["placement"]), progress.get("beside")]
    return {GenerationId(UUID(each["generation"])) for each in known if each}


async def written_in_vain(session: AsyncSession, jobs: Jobs, run: JobRun, work: Work) -> Sequence[Manuscript]:
    """Of the points written for `work`, those that no attempt needs and that no answer comes from.

    Asked in this order: what another attempt needs until it ends, answers come from once it has ended.
    """
    needed = set[GenerationId]()
    if (progress := await jobs.progress(session, run.tenant, run.job)) is not None:
        # It may be about to serve them in a generation that has been searched until a moment ago.
        needed |= _written_now(run, progress)
    if await level_now(session, run.tenant, run.parameters) is not None:
        needed |= set(await BaseRows(session, run.tenant).open_generations(work.base.id))
    if await _answers(session, run, work):
        rights = await ChunkRows(session, run.tenant).rights(work.stored.document)
        needed |= {chunk.generation for chunk in rights if chunk.version == work.stored.version}
    return [each for each in work.manuscripts if each.generation not in needed]


async def _answers(session: AsyncSession, run: JobRun, work: Work) -> bool:
    """Whether the version answers. One that did until a newer text came is leaving, points and rows."""
    statement = select(KnowledgeDocument.serving_version_id).where(
        KnowledgeDocument.tenant_id == run.tenant,
        KnowledgeDocument.id == work.stored.document,
        KnowledgeDocument.deleting_since.is_(None),
    )
    return await session.scalar(statement) == work.stored.version


def submitter_of(tenant: TenantId, parameters: Mapping[str, Any]) -> Caller:
    """Who submitted the document, as the gateway, audit and usage name them."""
    given = parameters["submitter"]
    return Caller(
        tenant,
        Actor(given["kind"], PrincipalId(UUID(given["principal"])), ApiKeyId(UUID(given["api_key"]))),
        groups=frozenset(GroupId(UUID(group)) for group in given["groups"]),
        roles=tuple(Role(role) for role in given["roles"]),
        clearance=Classification(given["clearance"]),
    )


def _named(tenant: TenantId, parameters: Mapping[str, Any]) -> Sequence[ColumnElement[bool]]:
    return (
        KnowledgeDocument.tenant_id == tenant,
        KnowledgeDocument.id == UUID(parameters["document"]),
        KnowledgeDocument.deleting_since.is_(None),
        DocumentVersion.id == UUID(parameters["version"]),
        DocumentVersion.status.in_(ON_ITS_WAY),
    )


async def _base(session: AsyncSession, tenant: TenantId, reference: str) -> BaseHandle | None:
    rows = BaseRows(session, tenant)
    row = await rows.find(reference)
    if row is None:
        return None
    return handle_of(row, NO_RIGHTS, await rows.average_length(row))


async def _work(
    session: AsyncSession,
    base: BaseHandle,
    document: KnowledgeDocument,
    version: DocumentVersion,
    parameters: Mapping[str, Any],
    *,
    is_compared: bool,
) -> Work:
    spans = spans_from_rows(version.chunk_rights)
    # The rights that hold once it answers: else those who may read it then would have to wait for its points.
    later = {
        "readers": document.readers,
        "classification": document.classification,
        "field_level": document.field_level,
        **version.intended,
    }
    own = level_at(later["classification"])
    found = level_at(later["field_level"])
    number = await rights_class_number(
        session, base.tenant, base.id, later["readers"], None, own, None, document.source_connector
    )
    manuscript = Manuscript(
        tenant=base.tenant,
        base=base.id,
        document=DocumentId(document.id),
        version=VersionId(version.id),
        source=version.source or b"",
        content_type=version.content_type,
        fields=ShownFields.of(document, version.intended),
        language=parameters["language"],
        level=_level(
            base.classification,
            document.classification,
            document.field_level,
            version.intended,
            (span.classification for span in spans),
        ),
        document_level=highest(base.level_of(own), found),
        source_connector=document.source_connector,
        spans=spans,
        embedding_model=base.embedding_model,
        space=base.generation.space,
        generation=base.generation.id,
        average_length=base.generation.average_length,
        class_number=number,
        chunk_size=base.chunk_size,
        chunk_overlap=base.chunk_overlap,
        submitter=submitter_of(base.tenant, parameters),
        labels=parameters["labels"],
        is_compared=is_compared,
    )
    stored = StoredVersion(DocumentId(document.id), VersionId(version.id), version.number)
    building = await BaseRows(session, base.tenant).building(base.id)
    return Work(manuscript, base, stored, version.source_hash, building)


async def is_recut_by_another(session: AsyncSession, run: JobRun) -> bool:
    """Whether another job is to cut the same version anew."""
    return bool(
        await session.scalar(
            _RECUT_BY_ANOTHER,
            {
                "tenant": run.tenant,
                "job": run.job,
                "name": run.name,
                "document": run.parameters["document"],
                "version": run.parameters["version"],
            },
        )
    )


_RECUT_BY_ANOTHER = text("""
    SELECT EXISTS (SELECT FROM eai.jobs
                    WHERE tenant_id = :tenant AND id <> :job AND name = :name
                      AND state IN ('queued', 'running')
                      AND document = :document AND parameters ->> 'version' = :version)""")
