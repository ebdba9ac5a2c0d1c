"""The statements of a repair. Each may be repeated, and none does anything where nothing is wrong."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast
from uuid import UUID

from sqlalchemy import CursorResult, TextClause, func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from eai.integrity.ledger_rows import TAKEN
from eai.integrity.models import IntegrityReport
from eai.kernel.ids import BaseId, DocumentId, GenerationId, JobId, TenantId, VersionId


@dataclass(frozen=True, slots=True)
class Version:
    """A version, and where it belongs."""

    base: BaseId
    document: DocumentId
    id: VersionId
    number: int


class Going(NamedTuple):
    """A document or base that is to go, with the rights that its receipt keeps."""

    kind: str
    id: UUID
    base: UUID
    readers: Sequence[str] | None
    classification: int


class MendingRows:
    """Changes to one tenant."""

    def __init__(self, session: AsyncSession, tenant: TenantId) -> None:
        self._session = session
        self._tenant = tenant

    async def refile(self, chunks: Collection[UUID]) -> None:
        """Put chunks into the base of their document."""
        await self._run(_REFILE, ids=list(chunks))

    async def set_digest(self, base: UUID, number: int, digest: bytes) -> bool:
        """Have a class found by its rights again; false where another class is found by them."""
        return await self._run(_DIGEST, base=base, number=number, digest=digest) > 0

    async def follow_generation(self, base: UUID) -> bool:
        """Have a base say of its one serving generation what that says of itself."""
        return await self._run(_FOLLOW, base=base) > 0

    async def documents_of(self, chunks: Collection[UUID]) -> Sequence[tuple[BaseId, DocumentId, VersionId]]:
        """Base, document and version of these chunks, each once."""
        rows = await self._session.execute(_DOCUMENTS_OF, {"tenant": self._tenant, "ids": list(chunks)})
        return [(BaseId(b), DocumentId(d), VersionId(v)) for b, d, v in rows]

    async def versions(self, ids: Collection[str]) -> list[Version]:
        """These versions, their documents held."""
        rows = await self._session.execute(_VERSIONS, {"tenant": self._tenant, "ids": list(ids)})
        return [Version(BaseId(b), DocumentId(d), VersionId(v), number) for b, d, v, number in rows]

    async def cancel_jobs(self, ids: Collection[str]) -> int:
        """Close jobs that nobody can do."""
        return await self._run(_CANCEL, ids=list(ids))

    async def going(self, ids: Collection[str]) -> list[Going]:
        """Documents and bases among these that are to go."""
        rows = await self._session.execute(_GOING, {"tenant": self._tenant, "ids": list(ids)})
        return [Going(*row) for row in rows]

    async def note_job(self, receipt: UUID, job: UUID) -> None:
        """Say in a receipt who carries the deletion out."""
        await self._run(_NOTE_JOB, receipt=receipt, job=job)

    async def recount_quotas(self) -> int:
        """Make what is held and used of quotas what reservations say; tells how many rows changed.

        Whoever reserves or settles holds the row of each quota until the reservation is there too: once
        the rows are ours, a new statement sees every reservation that they count.
        """
        await self._run(_ADD_USAGE)
        await self._session.execute(_HOLD_USAGE, {"tenant": self._tenant})
        return await self._run(_RECOUNT)

    async def drop_empty_statistics(self, generation: GenerationId) -> None:
        """Remove rows that count nothing."""
        await self._run(_DROP_TERMS, generation=generation)
        await self._run(_DROP_LANGUAGES, generation=generation)

    async def hold_documents(self, documents: Collection[UUID]) -> None:
        """Hold those of these documents that there are: nobody begins anything with them meanwhile."""
        await self._session.execute(_HOLD, {"tenant": self._tenant, "ids": sorted(documents)})

    async def jobs_waiting(self, names: Collection[str]) -> list[UUID]:
        """Queued jobs of these names, the oldest first."""
        rows = await self._session.execute(_WAITING, {"tenant": self._tenant, "names": list(names)})
        return [found for (found,) in rows]

    async def job_pending(self, name: str) -> JobId | None:
        """The oldest job of this name that has not ended."""
        found = await self._session.scalar(_PENDING, {"tenant": self._tenant, "name": name})
        return None if found is None else JobId(found)

    async def state_of(self, job: UUID) -> str | None:
        """The state of a job; None when there is no such job."""
        found = await self._session.scalar(_STATE, {"tenant": self._tenant, "job": job})
        return None if found is None else str(found)

    async def last_report(self) -> IntegrityReport | None:
        """What the last examination found."""
        mine = select(IntegrityReport).where(IntegrityReport.tenant_id == self._tenant)
        return await self._session.scalar(mine.execution_options(populate_existing=True))

    async def is_due(self, after_s: float) -> bool:
        """Whether the last examination is so long ago."""
        return bool(await self._session.scalar(_IS_DUE, {"tenant": self._tenant, "after": after_s}))

    async def keep_report(
        self, findings: Sequence[Mapping[str, Any]], mended: Mapping[str, int], failed: Sequence[str]
    ) -> None:
        """Replace the last report."""
        values = {
            "checked_at": func.now(),
            "findings": list(findings),
            "mended": dict(mended),
            "failed": list(failed),
        }
        statement = insert(IntegrityReport).values(tenant_id=self._tenant, **values)
        await self._session.execute(
            statement.on_conflict_do_update(index_elements=[IntegrityReport.tenant_id], set_=values)
        )

    async def _run(self, statement: TextClause, **values: Any) -> int:
        result = await self._session.execute(statement, {"tenant": self._tenant, **values})
        return cast(CursorResult[Any], result).rowcount


_REFILE = text("""
    UPDATE eai.kb_chunks c SET base_id = d.base_id FROM eai.kb_documents d
     WHERE c.tenant_id = :tenant AND c.id = ANY (CAST(:ids AS uuid[]))
       AND d.tenant_id = c.tenant_id AND d.id = c.document_id AND c.base_id <> d.base_id""")
_DIGEST = text("""
    UPDATE eai.kb_rights_classes c SET digest = :digest
     WHERE c.tenant_id = :tenant AND c.base_id = :base AND c.number = :number
       AND NOT EXISTS (SELECT FROM eai.kb_rights_classes o
                        WHERE o.tenant_id = :tenant AND o.base_id = :base AND o.digest = :digest)""")
_FOLLOW = text("""
    UPDATE eai.knowledge_bases b
       SET vector_generation = g.id, vector_collection = g.collection, dimensions = g.dimensions,
           embedding_model = g.embedding_model, revision = b.revision + 1,
           chunk_size = COALESCE(g.chunk_size, b.chunk_size),
           chunk_overlap = COALESCE(g.chunk_overlap, b.chunk_overlap)
      FROM eai.kb_generations g
     WHERE b.tenant_id = :tenant AND b.id = :base AND g.tenant_id = b.tenant_id AND g.base_id = b.id
       AND g.state = 'serving'
       AND NOT EXISTS (SELECT FROM eai.kb_generations o
                        WHERE o.tenant_id = :tenant AND o.base_id = b.id AND o.state = 'serving'
                          AND o.id <> g.id)""")
_DOCUMENTS_OF = text("""
    SELECT DISTINCT d.base_id, c.document_id, c.version_id FROM eai.kb_chunks c
      JOIN eai.kb_documents d ON d.tenant_id = c.tenant_id AND d.id = c.document_id
     WHERE c.tenant_id = :tenant AND c.id = ANY (CAST(:ids AS uuid[])) ORDER BY 2, 3""")
_VERSIONS = text("""
    SELECT d.base_id, d.id, v.id, v.number FROM eai.kb_document_versions v
      JOIN eai.kb_documents d ON d.tenant_id = v.tenant_id AND d.id = v.document_id
     WHERE v.tenant_id = :tenant AND v.id = ANY (CAST(:ids AS uuid[]))
       AND v.status IN ('pending', 'processing') ORDER BY d.id FOR UPDATE OF d""")
_CANCEL = text("""
    UPDATE eai.jobs SET state = 'cancelled', lease_until = NULL, updated_at = now()
     WHERE tenant_id = :tenant AND id = ANY (CAST(:ids AS uuid[])) AND state IN ('queued', 'running')
       AND lease_until < now() - interval '15 minutes'""")
_GOING = text("""
    SELECT 'document' AS kind, d.id, d.base_id, d.readers,
           GREATEST(COALESCE(d.classification, b.classification),
                    d.text_level, d.field_level) AS classification
      FROM eai.kb_documents d
      JOIN eai.knowledge_bases b ON b.tenant_id = d.tenant_id AND b.id = d.base_id
     WHERE d.tenant_id = :tenant AND d.deleting_since IS NOT NULL AND d.id = ANY (CAST(:ids AS uuid[]))
     UNION ALL
    SELECT 'knowledge_base', b.id, b.id, NULL, b.classification FROM eai.knowledge_bases b
     WHERE b.tenant_id = :tenant AND b.deleting_since IS NOT NULL AND b.id = ANY (CAST(:ids AS uuid[]))
     UNION ALL
    SELECT r.kind, r.id, r.base_id, r.readers, r.classification FROM eai.deletion_receipts r
     WHERE r.tenant_id = :tenant AND r.status = 'deleting' AND r.id = ANY (CAST(:ids AS uuid[]))
       AND NOT EXISTS (SELECT FROM eai.kb_documents d WHERE d.tenant_id = :tenant AND d.id = r.id)
       AND NOT EXISTS (SELECT FROM eai.knowledge_bases b WHERE b.tenant_id = :tenant AND b.id = r.id)""")
_NOTE_JOB = text("""
    UPDATE eai.deletion_receipts SET job_id = :job WHERE tenant_id = :tenant AND id = :receipt""")
_ADD_USAGE_OF = f"""
    INSERT INTO eai.quota_usage (tenant_id, quota_id, period_start)
    SELECT :tenant, t.quota, t.period_start FROM ({TAKEN}) t WHERE t.held > 0
    ON CONFLICT DO NOTHING"""  # noqa: S608 - constants only
_ADD_USAGE = text(_ADD_USAGE_OF)
_HOLD_USAGE = text("""
    SELECT 1 FROM eai.quota_usage WHERE tenant_id = :tenant ORDER BY quota_id, period_start FOR UPDATE""")
_RECOUNT_OF = f"""
    UPDATE eai.quota_usage u SET reserved = n.held, used = n.used
      FROM (SELECT o.quota_id, o.period_start, COALESCE(t.held, 0) AS held,
                   CASE WHEN o.period_start > now() - interval '6 days' THEN COALESCE(t.spent, 0)
                        ELSE GREATEST(o.used, COALESCE(t.spent, 0)) END AS used
              FROM eai.quota_usage o
              LEFT JOIN ({TAKEN}) t ON t.quota = o.quota_id AND t.period_start = o.period_start
             WHERE o.tenant_id = :tenant) n
     WHERE u.tenant_id = :tenant AND u.quota_id = n.quota_id AND u.period_start = n.period_start
       AND (u.reserved, u.used) <> (n.held, n.used)"""  # noqa: S608 - constants only
_RECOUNT = text(_RECOUNT_OF)
_DROP_TERMS = text("""
    DELETE FROM eai.kb_term_statistics
     WHERE tenant_id = :tenant AND generation = :generation AND document_frequency <= 0""")
_DROP_LANGUAGES = text("""
    DELETE FROM eai.kb_language_statistics
     WHERE tenant_id = :tenant AND generation = :generation AND chunks <= 0""")
_HOLD = text("""
    SELECT 1 FROM eai.kb_documents WHERE tenant_id = :tenant AND id = ANY (CAST(:ids AS uuid[]))
     ORDER BY id FOR UPDATE""")
_WAITING = text("""
    SELECT id FROM eai.jobs WHERE tenant_id = :tenant AND state = 'queued' AND name = ANY (:names)
     ORDER BY created_at, id""")
_PENDING = text("""
    SELECT id FROM eai.jobs WHERE tenant_id = :tenant AND state IN ('queued', 'running') AND name = :name
     ORDER BY created_at, id LIMIT 1""")
_STATE = text("SELECT state FROM eai.jobs WHERE tenant_id = :tenant AND id = :job")
_IS_DUE = text("""
    SELECT NOT EXISTS (SELECT FROM eai.integrity_reports
                        WHERE tenant_id = :tenant AND checked_at > now() - make_interval(secs => :after))""")
