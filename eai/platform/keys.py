"""The master key, the tenant keys wrapped under it, and sealing with either.

Every sealed value is bound to a context (what it is and whose), so that a value copied to another
row, tenant or purpose does not open. AES-256-GCM with random 96-bit nonces; keys for fixed purposes
are derived from the master key by HKDF-SHA256.
"""

import secrets
from base64 import b64decode
from binascii import Error as BinasciiError

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from sqlalchemy import text

from eai.kernel.ids import TenantId
from eai.platform.database import Database

KEY_BYTES = 32
_NONCE_BYTES = 12


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


class Keyring:
    """Wraps keys under the master key, and keeps each tenant's own."""

    def __init__(self, master: MasterKey, database: Database) -> None:
        self.master = master
        self._database = database
        self._wrapping = master.derive("wrap")
        self._tenant_keys: dict[tuple[TenantId, str], bytes] = {}

    def wrap(self, key: bytes, context: str) -> bytes:
        """`key` sealed under the master key for `context`."""
        return seal(self._wrapping, key, context.encode())

    def unwrap(self, wrapped: bytes, context: str) -> bytes:
        """The key that `wrap` was given. Raises SealBroken."""
        return unseal(self._wrapping, wrapped, context.encode())

    async def tenant_key(self, tenant: TenantId, purpose: str) -> bytes:
        """The tenant's own key for `purpose`, made at first use; deleting its row shreds what it sealed.

        Runs a transaction of its own: a key kept here must not vanish with a caller's rollback.
        """
        known = self._tenant_keys.get((tenant, purpose))
        if known is None:
            known = await self._stored_key(tenant, purpose)
            self._tenant_keys[(tenant, purpose)] = known
        return known

    async def _stored_key(self, tenant: TenantId, purpose: str) -> bytes:
        context = f"tenant:{tenant}:{purpose}"
        parameters = {"tenant": tenant, "purpose": purpose}
        fresh = self.wrap(secrets.token_bytes(KEY_BYTES), context)
        async with self._database.transaction(tenant) as session:
            await session.execute(_INSERT, {**parameters, "wrapped": fresh})
            # Read back: another process may have been first, and then its key is the tenant's key.
            wrapped = await session.scalar(_SELECT, parameters)
        return self.unwrap(bytes(wrapped), context)


_INSERT = text("""
    INSERT INTO eai.tenant_keys (tenant_id, purpose, wrapped) VALUES (:tenant, :purpose, :wrapped)
    ON CONFLICT DO NOTHING""")
_SELECT = text("SELECT wrapped FROM eai.tenant_keys WHERE tenant_id = :tenant AND purpose = :purpose")
