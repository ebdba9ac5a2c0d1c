"""Every query on idempotency records. Leases and terms go by the database's clock."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import uuid4

from sqlalchemy import TextClause, text
from sqlalchemy.ext.asyncio import AsyncSession

from eai.api.idempotency.records import KEPT_FOR, LEASE, Claim, Slot


@dataclass(frozen=True, slots=True)
class Found:
    """A record that could not be claimed. `response` is None while it runs and once it is erased."""

    fingerprint: bytes
    response: bytes | None
    is_done: bool
    lease_s: int


class Records:
    """The record of one slot, in the caller's transaction."""

    def __init__(self, session: AsyncSession, slot: Slot) -> None:
        self._session = session
        self._keys = {
            "tenant": slot.tenant,
            "principal": slot.principal,
            "route": slot.route,
            "key": slot.key,
        }
        self._slot = slot

    async def claim(self, fingerprint: bytes) -> Claim | None:
        """Begin the request, or take it over from an attempt that let its lease pass; else None."""
        values = {"fingerprint": fingerprint, "effect": uuid4(), "lease": LEASE, "kept": KEPT_FOR}
        row = (await self._session.execute(_CLAIM, self._keys | values)).one_or_none()
        return Claim(self._slot, row.attempt, row.effect_id) if row else None

    async def find(self) -> Found | None:
        """The record as it stands, held until the transaction ends."""
        row = (await self._session.execute(_FIND, self._keys)).one_or_none()
        return Found(row.fingerprint, row.response, row.is_done, row.lease_s) if row else None

    async def renew(self, claim: Claim) -> None:
        """Begin the lease anew, unless another attempt has taken over."""
        await self._change(_RENEW, claim, {"lease": LEASE})

    async def complete(self, claim: Claim, response: bytes, kept: timedelta) -> None:
        """Keep the answer, unless another attempt has taken over."""
        await self._change(_COMPLETE, claim, {"response": response, "kept": kept})

    async def forget(self, claim: Claim) -> None:
        """Remove the record of a request that had no effect: the key is free again."""
        await self._change(_FORGET, claim, {})

    async def end_lease(self, claim: Claim) -> None:
        """Let the next repetition take over at once a request whose effect is not known."""
        await self._change(_END_LEASE, claim, {})

    async def erase_response(self) -> None:
        """Keep that the request was done, not what was answered."""
        await self._session.execute(_ERASE, self._keys)

    async def _change(self, statement: TextClause, claim: Claim, values: dict[str, Any]) -> None:
        await self._session.execute(statement, self._keys | {"attempt": claim.attempt} | values)


_CLAIM = text("""
    INSERT INTO eai.idempotency_records AS r
           (tenant_id, principal_id, route, key, fingerprint, effect_id, lease_until, expires_at)
    VALUES (:tenant, :principal, :route, :key, :fingerprint, :effect, now() + :lease, now() + :kept)
    ON CONFLICT (tenant_id, principal_id, route, key) DO UPDATE
       SET fingerprint = excluded.fingerprint,
           effect_id = CASE WHEN r.expires_at <= now() THEN excluded.effect_id ELSE r.effect_id END,
           expires_at = CASE WHEN r.expires_at <= now() THEN excluded.expires_at ELSE r.expires_at END,
           attempt = r.attempt + 1,
           lease_until = excluded.lease_until,
           response = NULL,
           response_until = NULL
     WHERE r.expires_at <= now()
        OR (r.response_until IS NULL AND r.lease_until <= now() AND r.fingerprint = excluded.fingerprint)
    RETURNING attempt, effect_id""")
_FIND = text("""
    SELECT fingerprint,
           CASE WHEN response_until > now() THEN response END AS response,
           response_until IS NOT NULL AS is_done,
           GREATEST(1, CEIL(EXTRACT(epoch FROM lease_until - now())))::integer AS lease_s
      FROM eai.idempotency_records
     WHERE tenant_id = :tenant AND principal_id = :principal AND route = :route AND key = :key
       FOR UPDATE""")
_RENEW = text("""
    UPDATE eai.idempotency_records SET lease_until = now() + :lease
     WHERE tenant_id = :tenant AND principal_id = :principal AND route = :route AND key = :key
       AND attempt = :attempt AND response_until IS NULL""")
_COMPLETE = text("""
    UPDATE eai.idempotency_records SET response = :response, response_until = now() + :kept
     WHERE tenant_id = :tenant AND principal_id = :principal AND route = :route AND key = :key
       AND attempt = :attempt AND response_until IS NULL""")
_FORGET = text("""
    DELETE FROM eai.idempotency_records
     WHERE tenant_id = :tenant AND principal_id = :principal AND route = :route AND key = :key
       AND attempt = :attempt AND response_until IS NULL""")
_END_LEASE = text("""
    UPDATE eai.idempotency_records SET lease_until = now()
     WHERE tenant_id = :tenant AND principal_id = :principal AND route = :route AND key = :key
       AND attempt = :attempt AND response_until IS NULL""")
_ERASE = text("""
    UPDATE eai.idempotency_records SET response = NULL
     WHERE tenant_id = :tenant AND principal_id = :principal AND route = :route AND key = :key""")
