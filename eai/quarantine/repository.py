"""Every query on what is held and what was decided."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import LargeBinary, bindparam, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from eai.kernel.ids import BaseId, DocumentId, TenantId, VersionId
from eai.quarantine.judgement import History, Verdict, covered_from
from eai.quarantine.models import Decision, Hold
from eai.quarantine.signature import NEAR


@dataclass(frozen=True, slots=True)
class Candidate:
    """The version whose text is to be judged, and where it belongs."""

    tenant: TenantId
    base: BaseId
    document: DocumentId
    version: VersionId


class QuarantineRows:
    """The holds and decisions of one tenant."""

    def __init__(self, session: AsyncSession, tenant: TenantId) -> None:
        self._session = session
        self._tenant = tenant

    async def history(self, candidate: Candidate, content_hash: bytes, signature: int | None) -> History:
        """What is known of a text, of its document, and of what is like it in its base."""
        values = {
            "tenant": self._tenant,
            "base": candidate.base,
            "document": candidate.document,
            "version": candidate.version,
            "content_hash": content_hash,
            "signature": signature,
            "near": NEAR,
        }
        row = (await self._session.execute(_HISTORY, values)).one()
        decision = row.of_version or row.of_content
        if decision is None:
            return History(follows_held=row.follows_held, is_near_duplicate=row.is_near_duplicate)
        # Somebody has read this very text: what else is like it, and came since, says nothing more of it.
        masks = tuple((start, end) for start, end in decision["masks"])
        return History(covered_from(decision["findings"]), masks, row.follows_held, was_let_pass=True)

    async def is_rejected(self, base: BaseId, source_hash: bytes) -> bool:
        """Whether the last that was decided in the base on these very bytes is that they stay out."""
        mine = (Decision.tenant_id == self._tenant, Decision.base_id == base)
        statement = select(Decision.decision).where(*mine, Decision.source_hash == source_hash)
        last = statement.order_by(Decision.decided_at.desc(), Decision.id).limit(1)
        return await self._session.scalar(last) == Verdict.REJECT

    async def hold(self, values: Mapping[str, Any]) -> None:
        """Hold a version; one that was held before is held anew."""
        row = {"tenant_id": self._tenant, **values}
        statement = insert(Hold).values(row)
        again = {name: statement.excluded[name] for name in values if name != "version_id"}
        await self._session.execute(
            statement.on_conflict_do_update(
                index_elements=[Hold.tenant_id, Hold.version_id],
                set_={**again, "held_at": statement.excluded.held_at},
            )
        )

    async def last_hold(self, document: UUID) -> Hold | None:
        """The newest hold of a document."""
        mine = select(Hold).where(Hold.tenant_id == self._tenant, Hold.document_id == document)
        return await self._session.scalar(mine.order_by(Hold.held_at.desc()).limit(1))

    async def get_hold(self, version: UUID) -> Hold:
        """The hold of a version that is held."""
        mine = select(Hold).where(Hold.tenant_id == self._tenant, Hold.version_id == version)
        return (await self._session.scalars(mine.execution_options(populate_existing=True))).one()

    async def find_decision(self, decision: UUID) -> Decision | None:
        """The decision of this id."""
        mine = select(Decision).where(Decision.tenant_id == self._tenant, Decision.id == decision)
        return await self._session.scalar(mine)

    async def decide(self, values: Mapping[str, Any]) -> None:
        """Keep a decision; its verdict stays for good."""
        await self._session.execute(insert(Decision).values(tenant_id=self._tenant, **values))


# A decision on the version itself counts first. Of those on the same text elsewhere in the base the last one
# counts, and a redaction tells nothing about other documents.
_HISTORY = text("""
    SELECT (SELECT json_build_object('findings', d.findings, 'masks', d.masks)
              FROM (SELECT * FROM eai.quarantine_decisions o
                     WHERE o.tenant_id = :tenant AND o.version_id = :version
                     ORDER BY o.decided_at DESC, o.id LIMIT 1) d
             WHERE d.decision IN ('release', 'redact') AND d.content_hash = :content_hash) AS of_version,
           (SELECT json_build_object('findings', d.findings, 'masks', d.masks)
              FROM (SELECT * FROM eai.quarantine_decisions o
                     WHERE o.tenant_id = :tenant AND o.base_id = :base AND o.content_hash = :content_hash
                       AND o.decision <> 'redact'
                     ORDER BY o.decided_at DESC, o.id LIMIT 1) d
             WHERE d.decision = 'release') AS of_content,
           EXISTS (SELECT FROM eai.quarantine_holds h
                    WHERE h.tenant_id = :tenant AND h.document_id = :document AND h.version_id <> :version
                      AND NOT EXISTS (SELECT FROM eai.quarantine_decisions d
                                       WHERE d.tenant_id = :tenant AND d.document_id = :document
                                         AND d.decision <> 'reject' AND d.decided_at >= h.held_at)
                  ) AS follows_held,
           EXISTS (SELECT FROM eai.quarantine_holds h
                    WHERE h.tenant_id = :tenant AND h.base_id = :base AND h.document_id <> :document
                      AND bit_count((h.signature # CAST(:signature AS bigint))::bit(64)) <= :near
                      AND NOT EXISTS (SELECT FROM eai.quarantine_decisions d
                                       WHERE d.tenant_id = :tenant AND d.version_id = h.version_id
                                         AND d.decision <> 'reject' AND d.decided_at >= h.held_at))
        OR EXISTS (SELECT FROM eai.quarantine_decisions d
                    WHERE d.tenant_id = :tenant AND d.base_id = :base AND d.document_id <> :document
                      AND d.decision = 'reject'
                      AND (bit_count((d.signature # CAST(:signature AS bigint))::bit(64)) <= :near
                           OR d.content_hash = :content_hash)) AS is_near_duplicate""").bindparams(
    bindparam("content_hash", type_=LargeBinary)
)
