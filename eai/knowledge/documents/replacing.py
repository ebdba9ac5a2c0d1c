"""Changes a document's fields and rights, and adds new versions that will bring theirs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import Classification, highest, level_at, rank_of
from eai.access.subject import Subject
from eai.kernel.errors import NotFound
from eai.kernel.ids import DocumentId, JobId, VersionId
from eai.knowledge.bases.handle import BaseHandle
from eai.knowledge.chunks.alignment import align_classes
from eai.knowledge.chunks.repository import ChunkRights
from eai.knowledge.chunks.spans import OwnRights, Strictest, both, spans_from_rows, spans_to_rows
from eai.knowledge.directory import check_references
from eai.knowledge.documents.drafts import (
    DocumentChanges,
    Readers,
    SpanRights,
    StoredVersion,
    VersionDraft,
)
from eai.knowledge.documents.intake import version_row
from eai.knowledge.documents.levels import check_change, found_level
from eai.knowledge.documents.repository import DocumentRows
from eai.knowledge.documents.serving import MOVE_RIGHTS, queue
from eai.knowledge.documents.span_rights import check_spans
from eai.knowledge.documents.version_rows import VersionRows
from eai.knowledge.models import DocumentVersion, KnowledgeDocument
from eai.platform.jobs import Jobs

_RIGHTS = frozenset({"readers", "classification", "field_level"})


async def add_version(  # noqa: PLR0917 - one call site, in reading order
    session: AsyncSession,
    jobs: Jobs,
    subject: Subject,
    base: BaseHandle,
    document: DocumentId,
    version: VersionDraft,
    changes: DocumentChanges,
) -> StoredVersion:
    """Store a replacement, `pending`. Its changes take effect when it is served.

    Versions that are still on their way are overtaken by it; what they would have changed, and this one
    does not name, it brings too. Where no version answers yet, the changes take effect at once; otherwise
    new readers and level bind at once, as the stricter of old and new. Raises NotFound for a document
    that is gone, and what stands against the change of rights.
    """
    row = await _locked(session, base, document)
    await check_changes(session, subject, base, row, changes)
    versions = VersionRows(session, base.tenant, document)
    newest = await versions.newest()
    await _check_parts(session, subject, base, row, newest, version.span_rights, changes)
    intended = await _intended(session, jobs, base, row, newest, changes=changes)
    await versions.supersede(base.id)
    number = await versions.insert({**version_row(subject, version), "intended": intended})
    return StoredVersion(document, version.id, number)


async def amend_version(
    session: AsyncSession,
    jobs: Jobs,
    subject: Subject,
    base: BaseHandle,
    row: KnowledgeDocument,
    *,
    newest: DocumentVersion,
    changes: DocumentChanges,
    again: JobId | None = None,
    spans: Sequence[SpanRights] | None = None,
) -> None:
    """Let the newest version, which does not answer, bring these changes too, as `add_version` does.

    With `again` it failed, and is to be processed by that job. `spans` replace those that it came with.
    The caller holds `row`.
    """
    await check_changes(session, subject, base, row, changes)
    if spans is not None:
        await _check_parts(session, subject, base, row, newest, spans, changes)
    values: dict[str, Any] = {"intended": await _intended(session, jobs, base, row, newest, changes=changes)}
    if again is not None:
        values |= {"status": "pending", "error": None, "job_id": again}
    if spans is not None:
        values |= {"chunk_rights": spans_to_rows(spans)}
    await VersionRows(session, base.tenant, DocumentId(row.id)).update(VersionId(newest.id), values)


async def change_document(
    session: AsyncSession,
    jobs: Jobs,
    subject: Subject,
    base: BaseHandle,
    row: KnowledgeDocument,
    *,
    changes: DocumentChanges,
) -> frozenset[str]:
    """Apply changes that need no new text; tells which fields differed. The caller holds `row`.

    Versions still on their way no longer change these fields. Raises what stands against the change.
    """
    await check_changes(session, subject, base, row, changes)
    wanted = _fields(changes)
    differing = {field: value for field, value in wanted.items() if value != getattr(row, field)}
    await VersionRows(session, base.tenant, DocumentId(row.id)).forget_intended(wanted.keys())
    await apply_fields(session, jobs, base, row, differing)
    return frozenset("dlp" if field == "field_level" else field for field in differing)


async def apply_fields(
    session: AsyncSession,
    jobs: Jobs,
    base: BaseHandle,
    row: KnowledgeDocument,
    values: Mapping[str, Any],
) -> None:
    """Write the fields, and have chunks and points follow where they change rights."""
    if not values:
        return
    await DocumentRows(session, base.tenant, base.id).update(DocumentId(row.id), values)
    await session.refresh(row)
    own = await _own_rights(session, base, row) if "field_level" in values else None
    if values.keys() & _RIGHTS and await align_classes(session, row, own):
        await queue(session, jobs, MOVE_RIGHTS, base, DocumentId(row.id))


async def _own_rights(
    session: AsyncSession, base: BaseHandle, row: KnowledgeDocument
) -> Callable[[ChunkRights], OwnRights] | None:
    """What the passages that answer add to their document's rights, under the level it has now."""
    if row.serving_version_id is None:
        return None
    versions = VersionRows(session, base.tenant, DocumentId(row.id))
    version = await versions.find(VersionId(row.serving_version_id))
    spans = () if version is None else spans_from_rows(version.chunk_rights)
    strictest = Strictest(spans, found_level(row))
    return lambda chunk: strictest.between(chunk.start, chunk.end)


async def check_changes(
    session: AsyncSession,
    subject: Subject,
    base: BaseHandle,
    row: KnowledgeDocument,
    changes: DocumentChanges,
) -> None:
    """Raise what stands against the changes: ClearanceExceeded, PermissionMissing, InvalidInput."""
    if "classification" in changes.given:
        before, after = base.level_of(level_at(row.classification)), base.level_of(changes.classification)
        check_change(subject, base, before, after, changes.reason)
    if "readers" in changes.given and changes.readers is not None:
        named = [(f"readers.{place}", reader) for place, reader in enumerate(sorted(changes.readers))]
        await check_references(session, subject.tenant, named)


async def _check_parts(  # noqa: PLR0917 - what was, what comes, and why
    session: AsyncSession,
    subject: Subject,
    base: BaseHandle,
    row: KnowledgeDocument,
    newest: DocumentVersion | None,
    spans: Sequence[SpanRights],
    changes: DocumentChanges,
) -> None:
    """Raise what stands against parts of a new text that have these rights.

    No part of another text is the same part: where its highest level falls below the highest that a part of
    the present texts has, that counts as lowering one.
    """
    await check_spans(session, subject, base, spans)
    texts = [newest]
    if row.serving_version_id is not None and (newest is None or newest.id != row.serving_version_id):
        versions = VersionRows(session, base.tenant, DocumentId(row.id))
        texts.append(await versions.find(VersionId(row.serving_version_id)))
    present = [span for text in texts if text is not None for span in spans_from_rows(text.chunk_rights)]
    own = level_at(row.classification)
    before = _highest_part(base, own, present)
    after = _highest_part(base, changes.classification if "classification" in changes.given else own, spans)
    check_change(subject, base, before, after, changes.reason)


def _highest_part(
    base: BaseHandle, own: Classification | None, spans: Sequence[SpanRights]
) -> Classification:
    return highest(base.level_of(own), *(span.classification for span in spans))


async def _intended(
    session: AsyncSession,
    jobs: Jobs,
    base: BaseHandle,
    row: KnowledgeDocument,
    newest: DocumentVersion | None,
    *,
    changes: DocumentChanges,
) -> dict[str, Any]:
    """What takes effect with the version to come; what binds at once is done, under a new revision."""
    wanted = _fields(changes)
    if row.serving_version_id is None:
        at_once, later = wanted, {}
    else:
        stricter = {
            "readers": _listed(both(_readers(row), changes.readers)),
            "classification": _stricter_level(base, row, changes),
        }
        at_once = {field: value for field, value in stricter.items() if field in changes.given}
        is_on_its_way = newest is not None and newest.id != row.serving_version_id
        later = {**(newest.intended if newest is not None and is_on_its_way else {}), **wanted}
    if at_once:
        await apply_fields(session, jobs, base, row, at_once)
    else:
        await DocumentRows(session, base.tenant, base.id).update(DocumentId(row.id), {})
    return later


async def _locked(session: AsyncSession, base: BaseHandle, document: DocumentId) -> KnowledgeDocument:
    row = await DocumentRows(session, base.tenant, base.id).lock(document)
    if row is None:
        raise NotFound
    return row


def _fields(changes: DocumentChanges) -> dict[str, Any]:
    values = {
        "title": changes.title,
        "source_uri": changes.source_uri,
        "source_uri_verified": changes.source_uri_verified,
        "classification": rank_of(changes.classification),
        "readers": _listed(changes.readers),
        "metadata_": dict(changes.metadata),
        "labels": dict(changes.labels),
    }
    given = changes.given | ({"source_uri_verified"} if "source_uri" in changes.given else set())
    found = {} if changes.dlp is None else {"dlp": dict(changes.dlp), "field_level": rank_of(changes.level)}
    return {field: value for field, value in values.items() if field.rstrip("_") in given} | found


def _stricter_level(base: BaseHandle, row: KnowledgeDocument, changes: DocumentChanges) -> int | None:
    before, after = level_at(row.classification), changes.classification
    if before == after:
        return row.classification
    return highest(base.level_of(before), base.level_of(after)).rank


def _readers(row: KnowledgeDocument) -> Readers:
    return None if row.readers is None else frozenset(row.readers)


def _listed(readers: Readers) -> list[str] | None:
    return None if readers is None else sorted(readers)
