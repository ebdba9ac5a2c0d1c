"""Every query on what a tenant keeps, and on the limits that bind it.

A document counts unless it is being deleted or has no text that has not failed; its size is that of the
last such text, or of the one that answers, if that is more: should the new one fail, the old one stays.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import RowMapping, text
from sqlalchemy.ext.asyncio import AsyncSession

from eai.finops.schemas import Metric
from eai.kernel.ids import BaseId, DocumentId, GroupId, TenantId


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


async def count_bases(session: AsyncSession, tenant: TenantId) -> int:
    """How many bases the tenant has that are not being deleted."""
    return int(await session.scalar(_BASES, {"tenant": tenant}) or 0)


async def holdings(
    session: AsyncSession, tenant: TenantId, base: BaseId | None, without: DocumentId | None = None
) -> Mapping[UUID, Holding]:
    """What each base keeps, or only `base`, leaving out one document."""
    rows = await session.execute(_HOLDINGS, {"tenant": tenant, "base": base, "without": without})
    return {row.base_id: Holding(row.documents, int(row.bytes)) for row in rows}


async def holding_of(session: AsyncSession, place: Place, without: DocumentId | None) -> Holding:
    """What the base of `place` keeps, leaving out one document."""
    found = await holdings(session, place.tenant, place.base, without)
    return found.get(place.base, Holding()) if place.base else Holding()


async def fitting_limits(
    session: AsyncSession, place: Place, metrics: Collection[Metric]
) -> Sequence[RowMapping]:
    """The limits of these metrics that bind, held until the transaction ends."""
    return (await session.execute(_FITTING, {**_values(place), "metrics": list(metrics)})).mappings().all()


async def months_of_tokens(session: AsyncSession, place: Place) -> Sequence[RowMapping]:
    """The monthly limits of tokens that bind, with what is used and held of them."""
    return (await session.execute(_MONTHS, _values(place))).mappings().all()


def _values(place: Place) -> dict[str, Any]:
    return {"tenant": place.tenant, "base": place.base, "groups": list(place.groups)}


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
    SELECT d.base_id, count(*) AS documents, COALESCE(sum(GREATEST(last.size, serving.size)), 0) AS bytes
      FROM eai.kb_documents d
     CROSS JOIN LATERAL (
           SELECT octet_length(v.source) AS size FROM eai.kb_document_versions v
            WHERE v.tenant_id = d.tenant_id AND v.document_id = d.id AND v.status <> 'failed'
            ORDER BY v.number DESC LIMIT 1) last
      LEFT JOIN LATERAL (
           SELECT octet_length(v.source) AS size FROM eai.kb_document_versions v
            WHERE v.tenant_id = d.tenant_id AND v.id = d.serving_version_id) serving ON true
     WHERE d.tenant_id = :tenant AND d.deleting_since IS NULL
       AND (CAST(:base AS uuid) IS NULL OR d.base_id = :base)
       AND d.id IS DISTINCT FROM CAST(:without AS uuid)
     GROUP BY d.base_id""")
