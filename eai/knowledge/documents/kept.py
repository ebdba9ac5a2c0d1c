"""What a legal hold keeps of a document that stays: its words, and the texts that were stored before it."""

from uuid import UUID

from sqlalchemy import and_, exists, or_, update
from sqlalchemy.ext.asyncio import AsyncSession

from eai.kernel.ids import BaseId, DocumentId, TenantId, VersionId
from eai.knowledge.bases.handle import BaseHandle
from eai.knowledge.documents.drafts import DocumentChanges
from eai.knowledge.documents.fields import METADATA, SOURCE_URI, TITLE, ShownFields
from eai.knowledge.documents.version_rows import BLOCKED, OVERTAKEN, VersionRows
from eai.knowledge.legal_hold_rows import LegalHoldRows, keeps_version
from eai.knowledge.models import DocumentVersion, KnowledgeDocument, LegalHold

_WORDS = frozenset({TITLE, SOURCE_URI, METADATA})


async def refuse_other_words(
    session: AsyncSession,
    base: BaseHandle,
    row: KnowledgeDocument,
    changes: DocumentChanges,
    *,
    with_another_text: bool = False,
) -> None:
    """Raise UnderLegalHold where the changes would write over words that are shown with a held document.

    Also over those that the newest version is to bring, unless they come with another text: that is stored
    beside it. Readers, levels and labels are nobody's words: a document that is held can be closed. The
    caller holds `row`.
    """
    given = changes.given & _WORDS
    document = DocumentId(row.id)
    if not given or not await LegalHoldRows(session, base.tenant).is_held(base.id, document):
        return
    stored = [ShownFields.of(row, {})]
    if not with_another_text:
        stored.append(ShownFields.of(row, await VersionRows(session, base.tenant, document).intended()))
    if any(getattr(each, name) != getattr(changes, name) for each in stored for name in given):
        await LegalHoldRows(session, base.tenant).refuse_removal(base.id, document)


async def refuse_to_serve(
    session: AsyncSession,
    base: BaseHandle,
    row: KnowledgeDocument,
    version: VersionId,
    *,
    is_redacted: bool,
) -> None:
    """Raise UnderLegalHold where serving the version would write over what is held.

    Over the words of its document, or, where its text was redacted, over what was given as the text. The
    caller holds `row`, and nothing that is locked after a document.
    """
    if row.serving_version_id is None and not is_redacted:
        return
    document, holds = DocumentId(row.id), LegalHoldRows(session, base.tenant)
    found = await VersionRows(session, base.tenant, document).find(version)
    if found is None:
        return
    if ShownFields.of(row, {}) != ShownFields.of(row, found.intended):
        await holds.refuse_removal(base.id, document)
    if is_redacted:
        await holds.refuse_removal(base.id, document, stored_at=found.created_at)


async def is_text_kept(
    session: AsyncSession, tenant: TenantId, base: BaseId, document: DocumentId, version: VersionId
) -> bool:
    """Whether a hold that was placed since the version was stored keeps it, whatever stands against it."""
    found = await VersionRows(session, tenant, document).find(version)
    if found is None:
        return False
    holds = LegalHoldRows(session, tenant)
    return await holds.is_held(base, document, stored_at=found.created_at)


async def forget_kept_texts(session: AsyncSession, released: LegalHold) -> int:
    """Leave of texts that only this hold has kept what is left of all others of their kind; tells how many.

    No hold on the base may be placed, and none be asked for, until the transaction ends.
    """
    by_another = keeps_version(TenantId(released.tenant_id), BaseId(released.base_id))
    of_base = exists().where(
        KnowledgeDocument.tenant_id == DocumentVersion.tenant_id,
        KnowledgeDocument.id == DocumentVersion.document_id,
        KnowledgeDocument.base_id == released.base_id,
    )
    code, is_unread = DocumentVersion.error["code"].astext, DocumentVersion.content.is_(None)
    statement = (
        update(DocumentVersion)
        .where(DocumentVersion.tenant_id == released.tenant_id, of_base, ~by_another)
        .where(DocumentVersion.status == "failed")
        .where(or_(code == BLOCKED, and_(code == OVERTAKEN, is_unread)))
        .where(DocumentVersion.source.is_not(None))
        .values(source=None, content=None)
        .returning(DocumentVersion.id)
        .execution_options(synchronize_session=False)
    )
    if released.document_id is not None:
        statement = statement.where(DocumentVersion.document_id == released.document_id)
    forgotten: list[UUID] = list(await session.scalars(statement))
    return len(forgotten)
