"""Changes the stricter rights of parts of a document's text."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.subject import Subject
from eai.identity.grants import require_clearance
from eai.kernel.ids import BaseId, DocumentId, JobId, PrincipalId, TenantId, VersionId
from eai.knowledge.bases.handle import BaseHandle
from eai.knowledge.chunks.alignment import align_classes
from eai.knowledge.chunks.repository import ChunkRows
from eai.knowledge.chunks.spans import Strictest, spans_to_rows
from eai.knowledge.directory import check_references
from eai.knowledge.documents.drafts import Readers, SpanRights
from eai.knowledge.documents.levels import check_change, effective_level, found_level
from eai.knowledge.documents.repository import DocumentRows
from eai.knowledge.documents.serving import MOVE_RIGHTS, queue
from eai.knowledge.documents.submitter import submitter
from eai.knowledge.documents.version_rows import VersionRows
from eai.knowledge.errors import ChunkReadersRequired, DocumentNotReady, PermissionMissing
from eai.knowledge.models import KnowledgeDocument
from eai.platform.jobs import Jobs

RECUT = "ingestion.recut"


async def change_spans(  # noqa: PLR0917 - one call site, in reading order
    session: AsyncSession,
    jobs: Jobs,
    subject: Subject,
    base: BaseHandle,
    row: KnowledgeDocument,
    spans: Sequence[SpanRights],
    reason: str | None,
) -> bool:
    """Give the text that answers these spans; a passage takes the strictest of those it touches.

    Where rights come to change within a passage, it is cut anew by a job: until then all of it is kept from
    whom any part of it is kept from. A newer text that is still to answer is closed, whatever it says of its
    own parts: whoever brought it did not know of these, and it would show what is hidden here. Tells whether
    anything changed; the document has another revision then. The caller holds `row`. Raises DocumentNotReady
    where no text answers yet, and what stands against the change.
    """
    if row.serving_version_id is None:
        raise DocumentNotReady
    document = DocumentId(row.id)
    await check_spans(session, subject, base, spans)
    strictest, version = Strictest(spans, found_level(row)), VersionId(row.serving_version_id)
    rights = await ChunkRows(session, base.tenant).rights(document)
    chunks = [chunk for chunk in rights if chunk.version == version]
    for chunk in chunks:
        after = strictest.between(chunk.start, chunk.end)
        before = effective_level(base, row, chunk.classification)
        check_change(subject, base, before, effective_level(base, row, after.classification), reason)
        _check_readers(subject, base, chunk.readers, after.readers)
    if not await _replace(session, base, document, version, spans):
        return False
    if spans:
        error = {"code": ChunkReadersRequired.code, "details": {}}
        await VersionRows(session, base.tenant, document).close_newer(version, error)
    if await align_classes(session, row, lambda c: strictest.between(c.start, c.end)):
        await queue(session, jobs, MOVE_RIGHTS, base, document)
    if any(strictest.divides(chunk.start, chunk.end) for chunk in chunks):
        await queue_recut(session, jobs, base.tenant, base.id, row, submitter(subject), row.labels)
    return True


async def queue_recut(  # noqa: PLR0917 - from the whole to its parts
    session: AsyncSession,
    jobs: Jobs,
    tenant: TenantId,
    base: BaseId,
    row: KnowledgeDocument,
    asker: Mapping[str, Any],
    labels: Mapping[str, str],
) -> None:
    """Have the passages of the text that answers cut where rights change within; the model is `asker`'s."""
    parameters = {
        "base": str(base),
        "document": str(row.id),
        "version": str(row.serving_version_id),
        "submitter": dict(asker),
        "labels": dict(labels),
    }
    who = PrincipalId(UUID(asker["principal"]))
    await jobs.create(session, tenant, JobId(uuid4()), RECUT, parameters, principal=who)


async def _replace(
    session: AsyncSession,
    base: BaseHandle,
    document: DocumentId,
    version: VersionId,
    spans: Sequence[SpanRights],
) -> bool:
    """Store the spans under another revision of the document, unless they are what is stored."""
    versions = VersionRows(session, base.tenant, document)
    stored, wanted = await versions.find(version), spans_to_rows(spans)
    if stored is not None and stored.chunk_rights == wanted:
        return False
    await versions.update(version, {"chunk_rights": wanted})
    await DocumentRows(session, base.tenant, base.id).update(document, {})
    return True


def _check_readers(subject: Subject, base: BaseHandle, before: Readers, after: Readers) -> None:
    """Raise PermissionMissing where a passage is opened by one who neither reads it nor manages the base."""
    if base.rights.can_manage or before is None or not subject.references.isdisjoint(before):
        return
    if after is None or not after <= before:
        raise PermissionMissing(permission="manage")


async def check_spans(
    session: AsyncSession, subject: Subject, base: BaseHandle, spans: Sequence[SpanRights]
) -> None:
    """Raise ClearanceExceeded or PrincipalUnknown for rights that the caller may not give to parts."""
    named = []
    for place, span in enumerate(spans):
        require_clearance(subject, base.level_of(span.classification))
        readers = sorted(span.readers or ())
        named += [(f"chunk_readers.{place}.readers.{i}", reader) for i, reader in enumerate(readers)]
    await check_references(session, subject.tenant, named)
