"""Private values beside the chain, sealed under a key per principal that can be deleted.

Deleting the key's row is erasure: the sealed values become noise, and the chain, which holds only a
salted commitment to them, still verifies.
"""

import secrets
import time
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID, uuid4

from sqlalchemy.ext.asyncio import AsyncSession

from eai.audit.body import PrivateValues
from eai.audit.entries import AuditEntry
from eai.audit.fingerprints import fingerprint, text_key
from eai.audit.repository import AuditRows, SealedDetails, WrappedKey
from eai.kernel.ids import TenantId
from eai.platform.database import Database
from eai.platform.keys import KEY_BYTES, Keyring, SealBroken, seal, unseal

KEPT_FOR_S = 60.0
"""How long a process may go on sealing under a key that was erased meanwhile; nobody can open that."""

MAX_KEPT = 10_000


@dataclass(frozen=True, slots=True)
class DetailKey:
    """The key of one principal's details."""

    subject: UUID
    key_id: UUID
    key: bytes


def subject_of(entry: AuditEntry) -> UUID:
    """Whose erasure must take the private values of `entry` away.

    The principal it is about, else who acted, else nobody in particular: then the tenant stands in.
    """
    if entry.resource and entry.resource.kind == "principal":
        return UUID(entry.resource.id)
    if entry.actor and entry.actor.principal:
        return entry.actor.principal
    return entry.tenant


class Details:
    """Seals private values, opens them for auditors, and erases them."""

    def __init__(self, database: Database, keyring: Keyring) -> None:
        self._database = database
        self._keyring = keyring
        self._kept: OrderedDict[tuple[TenantId, UUID], tuple[float, DetailKey]] = OrderedDict()

    def fingerprint(self, tenant: TenantId, digest: bytes) -> str:
        """What the chain of `tenant` says of a text with this SHA-256."""
        return fingerprint(text_key(self._keyring.master, tenant), digest)

    async def seal(self, entry: AuditEntry, private: PrivateValues) -> SealedDetails:
        """The private values of a read event; the key is remembered for the next one."""
        subject = subject_of(entry)
        key = self._remembered(entry.tenant, subject)
        if key is None:
            # Its own transaction: a remembered key must not vanish with somebody's rollback.
            async with self._database.transaction(entry.tenant) as session:
                key = await self._stored_key(session, entry.tenant, subject)
            self._remember(entry.tenant, key)
        return _sealed(entry.tenant, key, private)

    async def seal_within(
        self, session: AsyncSession, entry: AuditEntry, private: PrivateValues
    ) -> SealedDetails:
        """The private values of a mutation's event; a new key lives and dies with its transaction."""
        subject = subject_of(entry)
        key = self._remembered(entry.tenant, subject)
        if key is None:
            key = await self._stored_key(session, entry.tenant, subject)
        return _sealed(entry.tenant, key, private)

    async def keys(
        self, session: AsyncSession, tenant: TenantId, subjects: Collection[UUID]
    ) -> dict[UUID, DetailKey]:
        """The keys of these subjects that were not erased, read anew: an erasure counts at once.

        A key that the master key does not open comes back empty, and opens nothing.
        """
        stored = await AuditRows(session, tenant).detail_keys(subjects)
        return {key.subject: self._unwrapped_or_empty(tenant, key) for key in stored}

    def open(self, tenant: TenantId, key: DetailKey | None, stored: SealedDetails) -> PrivateValues | None:
        """The private values, or None once they were erased. Raises SealBroken.

        Whether they are those that the chain commits to is the reader's to compare.
        """
        if key is None or key.key_id != stored.key_id:
            return None
        return PrivateValues(unseal(key.key, stored.sealed, _context(tenant, key.key_id)))

    async def erase(self, session: AsyncSession, tenant: TenantId, subject: UUID) -> bool:
        """Make every private value about `subject` unreadable for ever; False when there were none."""
        self._kept.pop((tenant, subject), None)
        return await AuditRows(session, tenant).delete_detail_key(subject)

    async def _stored_key(self, session: AsyncSession, tenant: TenantId, subject: UUID) -> DetailKey:
        rows = AuditRows(session, tenant)
        stored = next(iter(await rows.detail_keys([subject])), None)
        if stored is None:
            key_id = uuid4()
            fresh = self._keyring.wrap(secrets.token_bytes(KEY_BYTES), _wrapping(tenant, subject, key_id))
            stored = await rows.add_detail_key(WrappedKey(subject, key_id, fresh))
        return self._unwrapped(tenant, stored)

    def _unwrapped(self, tenant: TenantId, stored: WrappedKey) -> DetailKey:
        key = self._keyring.unwrap(stored.wrapped, _wrapping(tenant, stored.subject, stored.key_id))
        return DetailKey(stored.subject, stored.key_id, key)

    def _unwrapped_or_empty(self, tenant: TenantId, stored: WrappedKey) -> DetailKey:
        try:
            return self._unwrapped(tenant, stored)
        except SealBroken:
            return DetailKey(stored.subject, stored.key_id, b"")

    def _remembered(self, tenant: TenantId, subject: UUID) -> DetailKey | None:
        kept = self._kept.get((tenant, subject))
        if kept is None or kept[0] < time.monotonic():
            return None
        return kept[1]

    def _remember(self, tenant: TenantId, key: DetailKey) -> None:
        self._kept[(tenant, key.subject)] = (time.monotonic() + KEPT_FOR_S, key)
        self._kept.move_to_end((tenant, key.subject))
        if len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)


def _sealed(tenant: TenantId, key: DetailKey, private: PrivateValues) -> SealedDetails:
    sealed = seal(key.key, private.salted, _context(tenant, key.key_id))
    return SealedDetails(key.subject, key.key_id, sealed)


def _wrapping(tenant: TenantId, subject: UUID, key_id: UUID) -> str:
    return f"audit-details:{tenant}:{subject}:{key_id}"


def _context(tenant: TenantId, key_id: UUID) -> bytes:
    return b"audit-details" + tenant.bytes + key_id.bytes
