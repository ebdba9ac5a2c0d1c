"""The master key, the tenant keys wrapped under it, and sealing with either.

Every sealed value is bound to a context (what it is and whose), so that a value copied to another
row, tenant or purpose does not open. AES-256-GCM with random 96-bit nonces. Keys are derived by
HKDF-SHA256: from the master key for fixed purposes and for wrapping, from a tenant's own key for what is
sealed under it; of a tenant's, both are of one tenant, purpose and epoch.

A rotation gives a purpose a key of the next epoch. What was sealed before says of which epoch it is, and
opens until that key is removed.
"""

import secrets
import time
from base64 import b64decode
from binascii import Error as BinasciiError
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from sqlalchemy.ext.asyncio import AsyncSession

from eai.kernel.ids import TenantId
from eai.platform.database import Database
from eai.platform.key_rows import TenantKeyRows, WrappedKey

KEY_BYTES = 32
REMEMBERED_FOR_S = 60.0
"""How long a process may go on with a tenant's key that was succeeded or removed meanwhile."""
MAX_REMEMBERED = 10_000
_NONCE_BYTES = 12
_EPOCH_BYTES = 4
_UNBOUND_EPOCH = 0
"""Keys that are older than epochs, all wrapped under one key."""
_SEALING = "seal"


class SealBroken(Exception):
    """A sealed value was altered, or belongs to another key or context."""


def seal(key: bytes, plaintext: bytes, context: bytes) -> bytes:
    """`plaintext` encrypted and bound to `context`: nonce followed by ciphertext and tag."""
    nonce = secrets.token_bytes(_NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, plaintext, context)


def unseal(key: bytes, sealed: bytes, context: bytes) -> bytes:
    """What `seal` was given. Raises SealBroken."""
    try:
        return AESGCM(key).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], context)
    except (InvalidTag, ValueError) as error:
        raise SealBroken from error


class MasterKey:
    """The one key outside the database. It seals nothing itself; each purpose gets a derived key."""

    def __init__(self, secret: bytes) -> None:
        if len(secret) < KEY_BYTES:
            message = f"the master key must hold at least {KEY_BYTES} bytes"
            raise ValueError(message)
        self._secret = secret

    @classmethod
    def from_text(cls, text: str) -> "MasterKey":
        """The key in the form of EAI_MASTER_KEY: at least 32 bytes in base64. Raises ValueError."""
        try:
            return cls(b64decode(text, altchars=b"-_" if set(text) & {"-", "_"} else None, validate=True))
        except BinasciiError as error:
            message = "the master key is not base64"
            raise ValueError(message) from error

    def derive(self, purpose: str) -> bytes:
        """A 32-byte key for `purpose` alone (`pepper.1`, `cursors`, `wrap.tenant`)."""
        return HKDF(SHA256(), KEY_BYTES, salt=None, info=f"eai.{purpose}".encode()).derive(self._secret)


@dataclass(frozen=True, slots=True)
class TenantKey:
    """A tenant's secret for one purpose in one epoch. It seals nothing itself; each use gets its own key."""

    tenant: TenantId
    purpose: str
    epoch: int
    secret: bytes

    def derive(self, use: str) -> bytes:
        """A 32-byte key for `use` alone, of this tenant, purpose and epoch."""
        info = f"eai.tenant.{self.tenant}.{self.purpose}.{self.epoch}.{use}".encode()
        return HKDF(SHA256(), KEY_BYTES, salt=None, info=info).derive(self.secret)


class Keyring:
    """Wraps keys under the master key, and remembers each tenant's own for a while."""

    def __init__(self, master: MasterKey, database: Database) -> None:
        self.master = master
        self._database = database
        self._wrapping = master.derive("wrap")
        self._newest: OrderedDict[tuple[TenantId, str], tuple[float, TenantKey]] = OrderedDict()

    def wrap(self, key: bytes, context: str) -> bytes:
        """`key` sealed under the master key for `context`."""
        return seal(self._wrapping, key, context.encode())

    def unwrap(self, wrapped: bytes, context: str) -> bytes:
        """The key that `wrap` was given. Raises SealBroken."""
        return unseal(self._wrapping, wrapped, context.encode())

    async def seal(self, tenant: TenantId, purpose: str, plaintext: bytes, context: bytes) -> bytes:
        """`plaintext` under the tenant's newest key for `purpose`, behind the epoch of that key."""
        key = await self.tenant_key(tenant, purpose)
        return key.epoch.to_bytes(_EPOCH_BYTES) + seal(key.derive(_SEALING), plaintext, context)

    async def unseal(self, tenant: TenantId, purpose: str, sealed: bytes, context: bytes) -> bytes:
        """What `seal` was given. Raises SealBroken, also once the key of that epoch was removed."""
        epoch = int.from_bytes(sealed[:_EPOCH_BYTES])
        key = await self.tenant_key(tenant, purpose)
        if key.epoch != epoch:
            key = await self._former_key(tenant, purpose, epoch)
        return unseal(key.derive(_SEALING), sealed[_EPOCH_BYTES:], context)

    async def resealed(self, tenant: TenantId, purpose: str, sealed: bytes, context: bytes) -> bytes | None:
        """What `seal` was given, under the newest key; None where it is. Raises SealBroken.

        For what outlives a day: the key that it was sealed under goes some time after it was succeeded.
        """
        key = await self.tenant_key(tenant, purpose)
        if int.from_bytes(sealed[:_EPOCH_BYTES]) >= key.epoch:
            # Another process may know of a newer key by now: what it sealed must not go back.
            return None
        return await self.seal(tenant, purpose, await self.unseal(tenant, purpose, sealed, context), context)

    async def tenant_key(self, tenant: TenantId, purpose: str) -> TenantKey:
        """The tenant's newest key for `purpose`, made at first use; removing its row shreds what it sealed.

        Runs a transaction of its own: a key that is remembered must not vanish with a caller's rollback.
        """
        remembered = self._newest.get((tenant, purpose))
        if remembered is not None and time.monotonic() < remembered[0]:
            return remembered[1]
        async with self._database.transaction(tenant) as session:
            rows = TenantKeyRows(session, tenant)
            stored = await rows.newest(purpose)
            if stored is None:
                await rows.add(self._fresh(tenant, purpose, _UNBOUND_EPOCH + 1))
                # Read back: another process may have been first, and then its key is the tenant's key.
                stored = await rows.newest(purpose)
        assert stored is not None
        key = self._unwrapped(tenant, stored)
        self._remember(key)
        return key

    async def succeed(self, session: AsyncSession, tenant: TenantId, *, kept_s: float) -> Mapping[str, int]:
        """Give each purpose of the tenant a key of its next epoch: the new epochs, by purpose.

        The former keys open what they sealed for `kept_s` seconds more.
        """
        rows = TenantKeyRows(session, tenant)
        epochs = {stored.purpose: stored.epoch + 1 for stored in await rows.hold_newest()}
        await rows.limit(kept_s)
        for purpose, epoch in epochs.items():
            await rows.add(self._fresh(tenant, purpose, epoch))
        return epochs

    def forget(self, tenant: TenantId) -> None:
        """Read the tenant's keys anew when one is needed next."""
        for key in [key for key in self._newest if key[0] == tenant]:
            del self._newest[key]

    async def _former_key(self, tenant: TenantId, purpose: str, epoch: int) -> TenantKey:
        async with self._database.transaction(tenant) as session:
            stored = await TenantKeyRows(session, tenant).of_epoch(purpose, epoch)
        if stored is None:
            raise SealBroken
        return self._unwrapped(tenant, stored)

    def _fresh(self, tenant: TenantId, purpose: str, epoch: int) -> WrappedKey:
        key, context = self._wrapping_of(tenant, purpose, epoch)
        return WrappedKey(purpose, epoch, seal(key, secrets.token_bytes(KEY_BYTES), context))

    def _unwrapped(self, tenant: TenantId, stored: WrappedKey) -> TenantKey:
        key, context = self._wrapping_of(tenant, stored.purpose, stored.epoch)
        return TenantKey(tenant, stored.purpose, stored.epoch, unseal(key, stored.wrapped, context))

    def _wrapping_of(self, tenant: TenantId, purpose: str, epoch: int) -> tuple[bytes, bytes]:
        """What wraps a tenant's key, and what for."""
        if epoch == _UNBOUND_EPOCH:
            return self._wrapping, f"tenant:{tenant}:{purpose}".encode()
        name = f"tenant.{tenant}.{purpose}.{epoch}"
        return self.master.derive(f"wrap.{name}"), name.encode()

    def _remember(self, key: TenantKey) -> None:
        place = (key.tenant, key.purpose)
        self._newest[place] = (time.monotonic() + REMEMBERED_FOR_S, key)
        self._newest.move_to_end(place)
        if len(self._newest) > MAX_REMEMBERED:
            self._newest.popitem(last=False)
