"""Quotas on what is kept. They are never used up, only full: what is deleted makes room at once."""

from sqlalchemy import RowMapping
from sqlalchemy.ext.asyncio import AsyncSession

from eai.finops.errors import QuotaExceeded
from eai.finops.holding_rows import Place, count_bases, fitting_limits, holding_of, months_of_tokens
from eai.finops.repository import Owner
from eai.finops.schemas import Metric
from eai.kernel.ids import DocumentId, TenantId

BYTES_PER_TOKEN = 4
"""Of usual text. An estimate: what a call may take is held when it is made, and by more careful rules."""


class KnowledgeQuotas:
    """Lets in what fits. Whoever passes holds the limits until its transaction ends; the next counts it."""

    async def admit_base(self, session: AsyncSession, tenant: TenantId) -> None:
        """Raise QuotaExceeded when the tenant may have no further base."""
        for quota in await fitting_limits(session, Place(tenant, None, ()), (Metric.KNOWLEDGE_BASES,)):
            used = await count_bases(session, tenant)
            _check(quota, before=used, after=used + 1)

    async def admit_text(
        self, session: AsyncSession, place: Place, document: DocumentId | None, size: int
    ) -> None:
        """Raise QuotaExceeded when a text of `size` bytes does not fit, as `document`'s or as a new one's.

        Also when the month has too few tokens left to embed it.
        """
        fitting = await fitting_limits(session, place, (Metric.DOCUMENTS, Metric.BYTES))
        if fitting:
            before = await holding_of(session, place, None)
            others = await holding_of(session, place, document)
            for quota in fitting:
                if quota["metric"] == Metric.DOCUMENTS:
                    _check(quota, before=before.documents, after=others.documents + 1)
                else:
                    _check(quota, before=before.bytes, after=others.bytes + size)
        for quota in await months_of_tokens(session, place):
            _check(quota, before=quota["used"], after=quota["used"] + size // BYTES_PER_TOKEN)


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
