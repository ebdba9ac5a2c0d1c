"""The text whose place a new one takes, as far as the new one can be compared with it."""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import NamedTuple

from sqlalchemy import LargeBinary, bindparam, text
from sqlalchemy.ext.asyncio import AsyncSession

from eai.dlp.ports import Finding
from eai.ingestion.screening import masks_of
from eai.kernel.ids import DocumentId, TenantId, VersionId
from eai.quarantine.judgement import masked
from eai.quarantine.ports import Former


class FormerText(NamedTuple):
    """A text as it is stored, with names in the place of what DLP took out of it.

    It `is_approved` where a steward has let it pass.
    """

    content: str
    redactions: Sequence[tuple[int, int]]
    is_approved: bool

    def before(self, instead: str, found: Iterable[Finding]) -> Former:
        """The same without those names, and `instead` without what DLP has `found` to take out of it."""
        gone = masks_of(found)
        return Former(masked(self.content, self.redactions), masked(instead, gone), self.is_approved)


async def former_text(
    session: AsyncSession, tenant: TenantId, document: DocumentId, version: VersionId, instead: str
) -> FormerText | None:
    """The last text of the document that a steward let pass and that has answered, else what answers now.

    Where an erasure has emptied all that were let pass, what answers now is what is left of them.
    None where there is neither, and where a steward has let pass what is to be compared: this very version,
    or the same text of the document, as it was.
    """
    values = {
        "tenant": tenant,
        "document": document,
        "version": version,
        "content_hash": sha256(instead.encode()).digest(),
    }
    row = (await session.execute(_FORMER, values)).one_or_none()
    if row is None:
        return None
    redactions = [(each["start"], each["end"]) for each in row.redactions or ()]
    return FormerText(row.content, redactions, row.is_approved)


_FORMER = text("""
    SELECT v.content, v.dlp_spans -> 'redactions' AS redactions,
           bool_or(d.decided_at IS NOT NULL) OVER () AS is_approved
      FROM eai.kb_documents k
      JOIN eai.kb_document_versions v ON v.tenant_id = k.tenant_id AND v.document_id = k.id
      LEFT JOIN LATERAL (SELECT max(o.decided_at) AS decided_at
                           FROM eai.quarantine_decisions o
                          WHERE o.tenant_id = k.tenant_id AND o.version_id = v.id
                            AND o.decision <> 'reject') d ON true
     WHERE k.tenant_id = :tenant AND k.id = :document
       AND v.status = 'ready' AND v.content IS NOT NULL
       AND (v.id = k.serving_version_id OR d.decided_at IS NOT NULL)
       AND NOT EXISTS (SELECT FROM eai.quarantine_decisions o
                        WHERE o.tenant_id = :tenant AND o.document_id = :document
                          AND o.content_hash = :content_hash
                          AND (o.decision = 'release' OR o.decision = 'redact' AND o.version_id = :version))
     ORDER BY v.content = '', d.decided_at DESC NULLS LAST
     LIMIT 1""").bindparams(bindparam("content_hash", type_=LargeBinary))
