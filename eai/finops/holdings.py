"""What a tenant keeps: bases, and documents and bytes in each. Quotas on it are not used up, only full.

A document counts unless it is being deleted or has no text that has not failed; its size is that of the
last such text, so that a replacement counts by what it adds.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import RowMapping, text
from sqlalchemy.ext.asyncio import AsyncSession

from eai.finops.errors import QuotaExceeded
from eai.finops.repository import Owner
from eai.finops.schemas import Metric
from eai.kernel.ids import BaseId, DocumentId, GroupId, TenantId

BYTES_PER_TOKEN = 4
"""Of usual text. An estimate: what a call may take is held when it is made, and by more careful rules."""


@dataclass(frozen=True, slots=True)
class Holding:
    """What one base keeps."""

    documents: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """Where a text is to be kept, and the groups of whoever brings it."""

    tenant: TenantId
    base: BaseId | None
    groups: Collection[GroupId]


class KnowledgeQuotas:
    """Lets in what fits. Whoever passes holds the limits until its transaction ends; the next counts it."""

    async def admit_base(self, session: AsyncSession, tenant: TenantId) -> None:
        """Raise QuotaExceeded when the tenant may have no further base."""
        for quota in await _fitting(session, Place(tenant, None, ()), (Metric.KNOWLEDGE_BASES,)):
            used = await count_bases(session, tenant)
            _check(quota, before=used, after=used + 1)

    async def admit_text(
        self, session: AsyncSession, place: Place, document: DocumentId | None, size: int
    ) -> None:
        """Raise QuotaExceeded when a text of `size` bytes does not fit, as `document`'s or as a new one's.

        Also when the month has too few tokens left to embed it.
        """
        fitting = await _fitting(session, place, (Metric.DOCUMENTS, Metric.BYTES))
        if fitting:
            before = await _holding(session, place, None)
            others = await _holding(session, place, document)
            for quota in fitting:
                if quota["metric"] == Metric.DOCUMENTS:
                    _check(quota, before=before.documents, after=others.documents + 1)
                else:
                    _check(quota, before=before.bytes, after=others.bytes + size)
        for quota in await _months(session, place):
            _check(quota, before=quota["used"], after=quota["used"] + size // BYTES_PER_TOKEN)


async def count_bases(session: AsyncSession, tenant: TenantId) -> int:
    """How many bases the tenant has that are not being deleted."""
    return int(await session.scalar(_BASES, {"tenant": tenant}) or 0)


async def holdings(
    session: AsyncSession, tenant: TenantId, base: BaseId | None, without: DocumentId | None = None
) -> Mapping[UUID, Holding]:
    """What each base keeps, or only `base`, leaving out one document."""
    rows = await session.execute(_HOLDINGS, {"tenant": tenant, "base": base, "without": without})
    return {row.base_id: Holding(row.documents, int(row.bytes)) for row in rows}


async def _holding(session: AsyncSession, place: Place, without: DocumentId | None) -> Holding:
    found = await holdings(session, place.tenant, place.base, without)
    return found.get(place.base, Holding()) if place.base else Holding()


async def _fitting(session: AsyncSession, place: Place, metrics: Collection[Metric]) -> Sequence[RowMapping]:
    """The limits of these metrics that bind, held until the transaction ends."""
    return (await session.execute(_FITTING, {**_values(place), "metrics": list(metrics)})).mappings().all()


async def _months(session: AsyncSession, place: Place) -> Sequence[RowMapping]:
    """The monthly limits of tokens that bind, with what is used and held of them."""
    return (await session.execute(_MONTHS, _values(place))).mappings().all()


def _values(place: Place) -> dict[str, Any]:
    return {"tenant": place.tenant, "base": place.base, "groups": list(place.groups)}


def _check(quota: RowMapping, *, before: int, after: int) -> None:
    # What makes it less is let in, also where a limit was lowered below what is there.
    if after > quota["limit_value"] and after > before:
        raise QuotaExceeded(
            owner=str(Owner(quota["group_id"], quota["base_id"])),
            metric=quota["metric"],
            window=quota["period"],
            limit=quota["limit_value"],
            requested=after - before,
            used=before,
        )


_FITTING = text("""
    SELECT q.group_id, q.base_id, q.metric, q.period, q.limit_value FROM eai.quotas q
     WHERE q.tenant_id = :tenant AND q.period = 'total' AND q.metric = ANY (CAST(:metrics AS text[]))
       AND (q.group_id IS NULL AND q.base_id IS NULL OR q.group_id = ANY (CAST(:groups AS uuid[]))
            OR q.base_id = CAST(:base AS uuid))
     ORDER BY q.id FOR NO KEY UPDATE""")
_MONTHS = text("""
    SELECT q.group_id, q.base_id, q.metric, q.period, q.limit_value,
           COALESCE(u.used + u.reserved, 0) AS used
      FROM eai.quotas q
      LEFT JOIN eai.quota_usage u ON u.tenant_id = q.tenant_id AND u.quota_id = q.id
            AND u.period_start = date_trunc('month', now(), 'UTC')
     WHERE q.tenant_id = :tenant AND q.period = 'month' AND q.metric = 'tokens'
       AND (q.group_id IS NULL AND q.base_id IS NULL OR q.group_id = ANY (CAST(:groups AS uuid[]))
            OR q.base_id = CAST(:base AS uuid))
     ORDER BY q.id""")
_BASES = text("SELECT count(*) FROM eai.knowledge_bases WHERE tenant_id = :tenant AND deleting_since IS NULL")
_HOLDINGS = text("""
    SELECT d.base_id, count(*) AS documents, COALESCE(sum(last.size), 0) AS bytes
      FROM eai.kb_documents d
     CROSS JOIN LATERAL (
           SELECT octet_length(v.source) AS size FROM eai.kb_document_versions v
            WHERE v.tenant_id = d.tenant_id AND v.document_id = d.id AND v.status <> 'failed'
            ORDER BY v.number DESC LIMIT 1) last
     WHERE d.tenant_id = :tenant AND d.deleting_since IS NULL
       AND (CAST(:base AS uuid) IS NULL OR d.base_id = :base)
       AND d.id IS DISTINCT FROM CAST(:without AS uuid)
     GROUP BY d.base_id""")
