"""Every query on policies and on what is due under them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import UUID

from sqlalchemy import select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import Classification
from eai.identity.repository import Rows
from eai.kernel.errors import BadRequest
from eai.kernel.ids import DocumentId, TenantId
from eai.kernel.paging import PageRequest
from eai.knowledge.models import DeletionReceipt
from eai.platform.listing import part
from eai.retention.models import Expiration, RetentionPolicy

LOOKED_AT = 1_000
"""Of how many documents one statement finds out the policy and the newest text at most."""

_FIRST = UUID(int=0)
_T = TypeVar("_T")


class Due(NamedTuple):
    """A live document under a policy, and when it may no longer be there; due or not yet."""

    document: UUID
    base: UUID
    policy: UUID
    keep_days: int
    level: int
    due_at: datetime
    is_held: bool
    asked_by: UUID | None


class Looked(NamedTuple, Generic[_T]):
    """What was found among the documents up to `upto`; None: there are no more documents."""

    found: list[_T]
    upto: UUID | None


class RetentionPolicyRows(Rows[RetentionPolicy]):
    """The policies of one tenant."""

    model = RetentionPolicy

    async def of(self, base: UUID | None, classification: int | None) -> RetentionPolicy | None:
        """The policy for just these documents."""
        return await self.session.scalar(
            select(RetentionPolicy).where(
                RetentionPolicy.tenant_id == self.tenant,
                RetentionPolicy.base_id.is_not_distinct_from(base),
                RetentionPolicy.classification.is_not_distinct_from(classification),
            )
        )

    async def has_any(self) -> bool:
        """Whether anything can ever be due."""
        found = select(RetentionPolicy.id).where(RetentionPolicy.tenant_id == self.tenant)
        return await self.session.scalar(found.limit(1)) is not None


class DueRows:
    """The documents of one tenant under its policies, by the database's clock."""

    def __init__(self, session: AsyncSession, tenant: TenantId) -> None:
        self._session = session
        self._tenant = tenant

    async def next(self, after: UUID) -> Looked[DocumentId]:
        """Documents after this one that are due and not held, in the order of their ids."""
        looked = await self._looked(after)
        parameters = {"tenant": self._tenant, "looked": looked}
        found = [DocumentId(each) for each in await self._session.scalars(_NEXT, parameters)]
        return Looked(found, _upto(looked))

    async def find(self, document: DocumentId) -> Due | None:
        """The document, if it is due now."""
        parameters = {"tenant": self._tenant, "document": document}
        row = (await self._session.execute(_ONE, parameters)).one_or_none()
        return None if row is None else Due(*row)

    async def page(self, page: PageRequest, within_days: int, clearance: Classification) -> Looked[Due]:
        """What is due within so many days, in the order of ids; a part may hold few, or none."""
        looked = await self._looked(_key(page.after))
        parameters = {
            "tenant": self._tenant,
            "looked": looked,
            "days": within_days,
            "clearance": clearance.rank,
            "limit": page.limit + 1,
        }
        found = [Due(*row) for row in await self._session.execute(_PAGE, parameters)]
        if len(found) > page.limit:
            return Looked(found[: page.limit], found[page.limit - 1].document)
        return Looked(found, _upto(looked))

    async def _looked(self, after: UUID) -> list[UUID]:
        parameters = {"tenant": self._tenant, "after": after, "most": LOOKED_AT}
        return list(await self._session.scalars(_LOOKED, parameters))


class ExpirationRows:
    """What has expired in one tenant."""

    def __init__(self, session: AsyncSession, tenant: TenantId) -> None:
        self._session = session
        self._tenant = tenant

    async def add(self, values: Mapping[str, Any]) -> None:
        """Note that a policy had a document removed."""
        await self._session.execute(insert(Expiration).values(tenant_id=self._tenant, **values))

    async def page(self, page: PageRequest, clearance: Classification) -> list[tuple[Expiration, str]]:
        """What expired up to a level, with the state of its receipt; the oldest first, one row more."""
        statement = (
            select(Expiration, DeletionReceipt.status)
            .join(
                DeletionReceipt,
                (DeletionReceipt.tenant_id == Expiration.tenant_id) & (DeletionReceipt.id == Expiration.id),
            )
            .where(Expiration.tenant_id == self._tenant, Expiration.classification <= clearance.rank)
        )
        rows = await self._session.execute(part(statement, Expiration, page))
        return [(expiration, status) for expiration, status in rows]


def _upto(looked: Sequence[UUID]) -> UUID | None:
    return looked[-1] if len(looked) == LOOKED_AT else None


def _key(after: tuple[str, ...] | None) -> UUID:
    if after is None:
        return _FIRST
    try:
        (document,) = after
        return UUID(document)
    except ValueError as error:
        raise BadRequest from error


# A text that failed or was rejected never answered: it keeps nothing longer. Days have 24 hours here,
# whatever time zone the server is in.
_HELD = """EXISTS (
               SELECT FROM eai.legal_holds AS hold
                WHERE hold.tenant_id = document.tenant_id AND hold.base_id = document.base_id
                  AND (hold.document_id IS NULL OR hold.document_id = document.id)
                  AND hold.released_at IS NULL)"""
_LEVEL = """GREATEST(COALESCE(document.classification, base.classification),
                           document.text_level, document.field_level)"""
_UNDER_POLICY = f"""
    SELECT document.id, document.base_id, policy.id AS policy_id, policy.keep_days, policy.level,
           newest.at + make_interval(hours => 24 * policy.keep_days) AS due_at,
           {_HELD} AS is_held, policy.created_by
      FROM eai.kb_documents AS document
      JOIN eai.knowledge_bases AS base
        ON base.tenant_id = document.tenant_id AND base.id = document.base_id AND base.deleting_since IS NULL
     CROSS JOIN LATERAL (
           SELECT rule.id, rule.keep_days, rule.created_by,
                  {_LEVEL} AS level
             FROM eai.retention_policies AS rule
            WHERE rule.tenant_id = document.tenant_id
              AND (rule.base_id IS NULL OR rule.base_id = document.base_id)
              AND (rule.classification IS NULL OR rule.classification = {_LEVEL})
            ORDER BY rule.base_id IS NULL, rule.classification IS NULL LIMIT 1) AS policy
     CROSS JOIN LATERAL (
           SELECT COALESCE(max(version.created_at), document.created_at) AS at
             FROM eai.kb_document_versions AS version
            WHERE version.tenant_id = document.tenant_id AND version.document_id = document.id
              AND version.status NOT IN ('failed', 'rejected')) AS newest
     WHERE document.tenant_id = :tenant AND document.deleting_since IS NULL"""  # noqa: S608 - constants only
_IS_DUE = " AND newest.at + make_interval(hours => 24 * policy.keep_days) <= now()"
_LOOKED = text(
    "SELECT id FROM eai.kb_documents WHERE tenant_id = :tenant AND id > :after ORDER BY id LIMIT :most"
)
_AMONG = " AND document.id = ANY(CAST(:looked AS uuid[]))"
_NEXT = text(_UNDER_POLICY + _AMONG + _IS_DUE + " AND NOT " + _HELD + " ORDER BY document.id")
_ONE = text(_UNDER_POLICY + _IS_DUE + " AND document.id = :document")
_PAGE = text(
    _UNDER_POLICY
    + _AMONG
    + """
       AND policy.level <= :clearance
       AND newest.at + make_interval(hours => 24 * policy.keep_days)
           <= now() + make_interval(hours => 24 * CAST(:days AS integer))
     ORDER BY document.id LIMIT :limit"""
)
