"""The keys that sign checkpoints: made at first use, wrapped by the master key, succeeded by rotation."""

from collections.abc import Sequence

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy.ext.asyncio import AsyncSession

from eai.audit.checkpoint import SigningKey, TrustedKeys, first_key, succeed
from eai.audit.key_rows import SigningKeyRows
from eai.audit.models import AuditSigningKey
from eai.kernel.clock import Clock
from eai.platform.keys import Keyring, SealBroken


class SigningKeyMissing(Exception):
    """No signing key can be used: there is none in the line of succession that the master key opens."""


class Signing:
    """The line of signing keys. Any session may read it: keys belong to no tenant."""

    def __init__(self, keyring: Keyring, clock: Clock) -> None:
        self._keyring = keyring
        self._clock = clock

    async def records(self, session: AsyncSession) -> list[SigningKey]:
        """The public halves, oldest first."""
        return [_record(row) for row in await SigningKeyRows(session).all()]

    async def current(self, session: AsyncSession) -> Ed25519PrivateKey:
        """The last key of the line; the first one is made here. Raises SigningKeyMissing."""
        rows = SigningKeyRows(session)
        if not (keys := await rows.all()):
            key = Ed25519PrivateKey.generate()
            record = first_key(key, self._clock.now())
            await rows.add(record, self._wrapped(key, record))
            keys = await rows.all()
        return self._unwrapped(_last(keys))

    async def rotate(self, session: AsyncSession) -> SigningKey:
        """A new key, endorsed by the current one, which signs from now on. Raises SigningKeyMissing."""
        old = await self.current(session)
        new = Ed25519PrivateKey.generate()
        record = succeed(old, new, self._clock.now())
        rows = SigningKeyRows(session)
        await rows.add(record, self._wrapped(new, record))
        return _record(_last(await rows.all()))

    def _wrapped(self, key: Ed25519PrivateKey, record: SigningKey) -> bytes:
        return self._keyring.wrap(key.private_bytes_raw(), _wrapping(record.key_id))

    def _unwrapped(self, row: AuditSigningKey) -> Ed25519PrivateKey:
        try:
            secret = self._keyring.unwrap(bytes(row.wrapped), _wrapping(row.key_id))
        except SealBroken as error:
            raise SigningKeyMissing(row.key_id) from error
        return Ed25519PrivateKey.from_private_bytes(secret)


def _last(rows: Sequence[AuditSigningKey]) -> AuditSigningKey:
    """The key that no other succeeds, among those that are rightly in the line."""
    trusted = TrustedKeys(_record(row) for row in rows)
    line = [row for row in rows if bytes(row.public_key) in trusted]
    succeeded = {row.predecessor for row in line}
    last = [row for row in line if row.key_id not in succeeded]
    if len(last) != 1:
        raise SigningKeyMissing
    return last[0]


def _record(row: AuditSigningKey) -> SigningKey:
    endorsement = bytes(row.endorsement) if row.endorsement else None
    return SigningKey(bytes(row.public_key), row.created_at, row.predecessor, endorsement)


def _wrapping(key_id: str) -> str:
    return f"audit-signing:{key_id}"
