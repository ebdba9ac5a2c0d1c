"""Versions that wait for a data steward: they have a text, and neither passages nor points."""

from sqlalchemy.ext.asyncio import AsyncSession

from eai.kernel.ids import BaseId, DocumentId, JobId, TenantId, VersionId
from eai.knowledge.bases.handle import BaseHandle
from eai.knowledge.documents.drafts import StoredVersion
from eai.knowledge.documents.fields import ShownFields
from eai.knowledge.documents.repository import DocumentRows
from eai.knowledge.documents.serving import ExtractedText, VersionOutdated
from eai.knowledge.documents.version_rows import HELD, ON_ITS_WAY, VersionRows
from eai.knowledge.legal_hold_rows import LegalHoldRows
from eai.knowledge.models import DocumentVersion, KnowledgeDocument


async def hold_version(
    session: AsyncSession, base: BaseHandle, stored: StoredVersion, source_hash: bytes, text: ExtractedText
) -> None:
    """Keep the text of a version that is not to answer yet. No point of it may be left.

    Raises VersionOutdated where the document is gone, a newer text has come, or this one has ended.
    """
    rows = DocumentRows(session, base.tenant, base.id)
    if await rows.lock(stored.document) is None:
        raise VersionOutdated
    versions = VersionRows(session, base.tenant, stored.document)
    version = await versions.incoming(stored.version)
    if version is None or version.source_hash != source_hash or version.status not in ON_ITS_WAY:
        raise VersionOutdated
    await versions.update(
        stored.version,
        {
            "status": HELD,
            "error": None,
            **text.row,
        },
    )
    await rows.update(stored.document, {})


async def take_newest(
    session: AsyncSession, tenant: TenantId, base: BaseId, document: DocumentId
) -> tuple[KnowledgeDocument, DocumentVersion] | None:
    """The live document and its newest version, without text; the document is held from here on."""
    row = await DocumentRows(session, tenant, base).lock(document)
    if row is None:
        return None
    # A statement of its own, after the lock: what the wait for it made visible must be seen.
    newest = await VersionRows(session, tenant, document).newest()
    return None if newest is None else (row, newest)


async def resume_version(
    session: AsyncSession, tenant: TenantId, base: BaseId, stored: StoredVersion, job: JobId
) -> None:
    """Put a held version on its way again, by `job`. The caller holds the document."""
    await _leave_hold(session, tenant, base, stored, {"status": "pending", "error": None, "job_id": job})


async def reject_version(
    session: AsyncSession, tenant: TenantId, base: BaseId, stored: StoredVersion
) -> None:
    """Close a held version for good. The caller holds the document."""
    await _leave_hold(session, tenant, base, stored, {"status": "rejected"})


async def keep_fields(  # noqa: PLR0917 - one call site, in reading order
    session: AsyncSession,
    tenant: TenantId,
    row: KnowledgeDocument,
    version: DocumentVersion,
    before: ShownFields,
    after: ShownFields,
) -> None:
    """Store the fields that a held version comes with as they are to be. The caller holds the document.

    Those that answer together with an older text stay what they are until this one does. Raises
    UnderLegalHold where they would be written over while the document is held.
    """
    named = {
        "title": "title",
        "external_id": "external_id",
        "source_uri": "source_uri",
        "metadata_": "metadata",
    }
    changed = {
        column: getattr(after, name)
        for column, name in named.items()
        if getattr(after, name) != getattr(before, name)
    }
    if "source_uri" in changed:
        # What led to the source, and was vouched for, is gone.
        changed |= {"source_uri_verified": False}
    document = DocumentId(row.id)
    if changed:
        await LegalHoldRows(session, tenant).refuse_removal(BaseId(row.base_id), document)
    if changed and row.serving_version_id is None:
        await DocumentRows(session, tenant, BaseId(row.base_id)).update(document, changed)
    elif changed:
        intended = {"intended": {**version.intended, **changed}}
        await VersionRows(session, tenant, document).update(VersionId(version.id), intended)


async def _leave_hold(
    session: AsyncSession,
    tenant: TenantId,
    base: BaseId,
    stored: StoredVersion,
    values: dict[str, str | JobId | None],
) -> None:
    await VersionRows(session, tenant, stored.document).update(VersionId(stored.version), values)
    await DocumentRows(session, tenant, base).update(stored.document, {})
