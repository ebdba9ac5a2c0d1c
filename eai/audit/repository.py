"""Every statement on the chains. Entries come in only through `audit_append` and `audit_flush`."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy import Text, cast, delete, exists, func, literal, select, text, true
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from eai.audit.models import AuditDetail, AuditDetailKey, AuditEvent, AuditHead
from eai.audit.scan import BLOCK, Block
from eai.audit.verification import EMPTY, Head
from eai.kernel.ids import TenantId
from eai.platform.database import Database


@dataclass(frozen=True, slots=True)
class SealedDetails:
    """Private values as they are stored: whose, under which key, and the bytes."""

    subject: UUID
    key_id: UUID
    sealed: bytes


@dataclass(frozen=True, slots=True)
class WrappedKey:
    """The key of one principal's details, as it is stored."""

    subject: UUID
    key_id: UUID
    wrapped: bytes


@dataclass(frozen=True, slots=True)
class Portion:
    """What one piece of work writes for one tenant: all of it or nothing."""

    tenant: TenantId
    bodies: Sequence[bytes]
    details: Sequence[SealedDetails | None]
    usage: Sequence[dict[str, Any]]
    retrieved: Sequence[UUID]
    settled: Sequence[dict[str, Any]] = ()


class AuditRows:
    """The chain of the tenant that `session` is bound to."""

    def __init__(self, session: AsyncSession, tenant: TenantId) -> None:
        self._session = session
        self._tenant = tenant

    async def append(self, body: bytes, details: SealedDetails | None) -> int:
        """Add an entry and hold the chain's head until the transaction ends; the entry's seq."""
        parameters = {
            "body": body,
            "subject": details.subject if details else None,
            "key": details.key_id if details else None,
            "sealed": details.sealed if details else None,
        }
        return int((await self._session.execute(_APPEND, parameters)).scalar_one())

    async def stated(self) -> tuple[Head, int]:
        """The head, and the last entry that there is: two answers of one snapshot, which should agree."""
        last = select(func.max(AuditEvent.seq)).where(AuditEvent.tenant_id == self._tenant).scalar_subquery()
        head = select(AuditHead.seq, AuditHead.hash).where(AuditHead.tenant_id == self._tenant).subquery()
        statement = select(head.c.seq, head.c.hash, last.label("last")).select_from(
            select(literal(1).label("one")).subquery().outerjoin(head, true())
        )
        row = (await self._session.execute(statement)).one()
        stated = Head(row.seq, bytes(row.hash)) if row.seq is not None else EMPTY
        return stated, row.last or 0

    async def blocks(self, after_seq: int, upto_seq: int, limit: int) -> list[Block]:
        """The next `limit` entries as they are stored, in order of seq, none beyond `upto_seq`."""
        statement = _STORED.where(
            AuditEvent.tenant_id == self._tenant, AuditEvent.seq > after_seq, AuditEvent.seq <= upto_seq
        )
        rows = (await self._session.execute(statement.order_by(AuditEvent.seq).limit(limit))).all()
        return [_block(rows[begin : begin + BLOCK]) for begin in range(0, len(rows), BLOCK)]

    async def events(self, after_seq: int, action: str | None, limit: int) -> Sequence[AuditEvent]:
        """Up to `limit` entries after `after_seq`, of one `action` where it is given."""
        statement = select(AuditEvent).where(AuditEvent.tenant_id == self._tenant, AuditEvent.seq > after_seq)
        if action is not None:
            statement = statement.where(AuditEvent.action == action)
        return (await self._session.scalars(statement.order_by(AuditEvent.seq).limit(limit))).all()

    async def tells_of(self, action: str, resource_kind: str, resource_id: str) -> bool:
        """Whether an entry of this action names this resource."""
        told = exists().where(
            AuditEvent.tenant_id == self._tenant,
            AuditEvent.action == action,
            AuditEvent.resource_kind == resource_kind,
            AuditEvent.resource_id == resource_id,
        )
        return await self._session.scalar(select(told)) is True

    async def details(self, seqs: Collection[int]) -> Sequence[AuditDetail]:
        """The sealed details of these entries, of those that have any."""
        statement = select(AuditDetail).where(
            AuditDetail.tenant_id == self._tenant, AuditDetail.seq.in_(seqs)
        )
        return (await self._session.scalars(statement)).all()

    async def detail_keys(self, subjects: Collection[UUID]) -> list[WrappedKey]:
        """The keys of the details of these subjects, without those that were erased."""
        statement = select(AuditDetailKey.subject, AuditDetailKey.key_id, AuditDetailKey.wrapped).where(
            AuditDetailKey.tenant_id == self._tenant, AuditDetailKey.subject.in_(subjects)
        )
        return [WrappedKey(*row) for row in (await self._session.execute(statement)).all()]

    async def add_detail_key(self, key: WrappedKey) -> WrappedKey:
        """Store `key` unless another is there first; the one that counts."""
        statement = insert(AuditDetailKey).values(
            tenant_id=self._tenant, subject=key.subject, key_id=key.key_id, wrapped=key.wrapped
        )
        await self._session.execute(statement.on_conflict_do_nothing())
        return next(iter(await self.detail_keys([key.subject])), key)

    async def delete_detail_key(self, subject: UUID) -> bool:
        """Erase; whether there was a key."""
        statement = delete(AuditDetailKey).where(
            AuditDetailKey.tenant_id == self._tenant, AuditDetailKey.subject == subject
        )
        deleted = await self._session.execute(statement.returning(AuditDetailKey.key_id))
        return deleted.one_or_none() is not None


async def unsettled_tenants(database: Database, events: int, issued_before: datetime) -> list[TenantId]:
    """Tenants whose chain is due for a checkpoint, or that have some to anchor, or that shrank.

    Due is a chain with so many `events` since its last checkpoint, or with any if that one is old. A
    named cross-tenant step, run under the role `eai_audit`.
    """
    parameters = {"events": events, "before": issued_before}
    query = "SELECT eai.audit_unsettled(%(events)s, %(before)s)"
    return [TenantId(tenant) for (tenant,) in await database.statement(query, parameters, is_repeatable=True)]


async def flush_portions(database: Database, portions: Sequence[Portion]) -> dict[TenantId, str | None]:
    """Write portions of any tenants in one call; per tenant None, or why nothing of it was written.

    The named cross-tenant step of design decision 10, run under the role `eai_audit`.
    """
    by_tenant: dict[TenantId, list[Portion]] = {}
    for portion in sorted(portions, key=lambda each: each.tenant):
        by_tenant.setdefault(portion.tenant, []).append(portion)
    ordered = [portion for group in by_tenant.values() for portion in group]
    details = [each for portion in ordered for each in portion.details]
    rows = await database.statement(
        _FLUSH,
        {
            "tenants": list(by_tenant),
            "counts": [sum(len(portion.bodies) for portion in group) for group in by_tenant.values()],
            "bodies": [body for portion in ordered for body in portion.bodies],
            "subjects": [each and each.subject for each in details],
            "keys": [each and each.key_id for each in details],
            "sealed": [each and each.sealed for each in details],
            "usage": [_json(group, "usage") for group in by_tenant.values()],
            "retrieved": [_json(group, "retrieved") for group in by_tenant.values()],
            "settled": [_json(group, "settled") for group in by_tenant.values()],
        },
    )
    return {TenantId(tenant): failure for tenant, failure in rows}


def _json(group: Sequence[Portion], name: str) -> str | None:
    values = [value for portion in group for value in getattr(portion, name)]
    return orjson.dumps(values).decode() if values else None


def _block(rows: Sequence[Any]) -> Block:
    return Block(
        [row[0] for row in rows],
        [bytes(row[1]) for row in rows],
        [bytes(row[2]) for row in rows],
        [list(row[3:]) for row in rows],
    )


_APPEND = text("SELECT eai.audit_append(:body, :subject, :key, :sealed)")
# Parameters travel in binary: escaping JSON within the text form of an array took longer than all the rest.
_FLUSH = """
    SELECT tenant, failure
      FROM eai.audit_flush(%(tenants)b::uuid[], %(counts)b::integer[], %(bodies)b::bytea[],
                           %(subjects)b::uuid[], %(keys)b::uuid[], %(sealed)b::bytea[],
                           %(usage)b::text[]::jsonb[], %(retrieved)b::text[]::jsonb[],
                           %(settled)b::text[]::jsonb[])"""
_STORED = select(
    AuditEvent.seq,
    AuditEvent.hash,
    AuditEvent.body,
    func.to_char(func.timezone("UTC", AuditEvent.occurred_at), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
    AuditEvent.action,
    AuditEvent.decision,
    cast(AuditEvent.actor_principal, Text),
    AuditEvent.resource_kind,
    AuditEvent.resource_id,
)
