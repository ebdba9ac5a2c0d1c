"""Whether the sources of a base's documents bring the level that it is to be lowered to."""

from collections import defaultdict

from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import LEVELS, Classification
from eai.connectors.repository import DIRECT
from eai.connectors.stamps import stamp_borne
from eai.kernel.ids import BaseId, TenantId
from eai.knowledge.models import KnowledgeDocument


async def require_source_levels(
    session: AsyncSession, tenant: TenantId, base: BaseId, level: Classification
) -> None:
    """Raise SourceConnectorRefused where one that follows the base would have a level that it does not bring.

    A base can always be raised: that closes what is in it.
    """
    levels = defaultdict[str, set[Classification]](set)
    for connector, rank in await session.execute(_followers(tenant, base, level)):
        levels[connector].add(LEVELS[rank])
    for connector in sorted(levels):
        source = await stamp_borne(session, tenant, connector)
        source.require_levels(levels[connector])


def _followers(tenant: TenantId, base: BaseId, level: Classification) -> Select[str, int]:
    """Each source of such documents, with each level that they would have."""
    found = func.greatest(level.rank, KnowledgeDocument.text_level, KnowledgeDocument.field_level)
    return (
        select(KnowledgeDocument.source_connector, found)
        .where(KnowledgeDocument.tenant_id == tenant, KnowledgeDocument.base_id == base)
        .where(KnowledgeDocument.classification.is_(None), KnowledgeDocument.deleting_since.is_(None))
        .where(KnowledgeDocument.source_connector != DIRECT)
        .distinct()
    )
