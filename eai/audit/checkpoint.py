"""Signed statements of how a chain stood at one moment, and the succession of the keys that sign them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from uuid import UUID

import orjson
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from eai.audit.timestamps import read_timestamp, timestamp
from eai.kernel.canonical import Canonical, canonical
from eai.kernel.ids import TenantId

CHECKPOINT_PREFIX = b"eai.audit.checkpoint.v1\n"
SUCCESSION_PREFIX = b"eai.audit.key.v1\n"
VERSION = 1
FIELDS = 7


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The chain of `tenant` held `seq` entries, the last one hashed `head`, with this tree `root`."""

    tenant: TenantId
    seq: int
    head: bytes
    root: bytes
    issued_at: datetime


@dataclass(frozen=True)
class SignedCheckpoint:
    """Canonical `body` of a checkpoint, with the signature over it and the key that made it."""

    body: bytes
    signature: bytes
    public_key: bytes

    @cached_property
    def checkpoint(self) -> Checkpoint:
        """What the body states. Raises ValueError if it is not a canonical checkpoint of this key."""
        return _parse(self.body, key_id(self.public_key))

    @property
    def seq(self) -> int:
        """The entry it covers; 0 when the body cannot be read."""
        try:
            return self.checkpoint.seq
        except ValueError:
            return 0

    def is_genuine(self) -> bool:
        """Whether the body is well formed and its signature is by `public_key`; trust is another matter."""
        try:
            _ = self.checkpoint
        except ValueError:
            return False
        return _is_signed(self.public_key, self.signature, CHECKPOINT_PREFIX + self.body)


@dataclass(frozen=True, slots=True)
class SigningKey:
    """The public half of a key, endorsed by the key before it; the first has no predecessor."""

    public_key: bytes
    created_at: datetime
    predecessor: str | None = None
    endorsement: bytes | None = None

    @property
    def key_id(self) -> str:
        """Short name of the key: the first 16 hex digits of the digest of its public half."""
        return key_id(self.public_key)


def key_id(public_key: bytes) -> str:
    """Name by which checkpoints refer to `public_key`."""
    return sha256(public_key).hexdigest()[:16]


def sign(checkpoint: Checkpoint, key: Ed25519PrivateKey) -> SignedCheckpoint:
    """The statement of `checkpoint` under `key`."""
    public = key.public_key().public_bytes_raw()
    body = canonical(
        {
            "v": VERSION,
            "tenant": str(checkpoint.tenant),
            "seq": checkpoint.seq,
            "head": checkpoint.head.hex(),
            "root": checkpoint.root.hex(),
            "issued_at": timestamp(checkpoint.issued_at),
            "key_id": key_id(public),
        }
    )
    return SignedCheckpoint(body, key.sign(CHECKPOINT_PREFIX + body), public)


def first_key(key: Ed25519PrivateKey, created_at: datetime) -> SigningKey:
    """The record of a key that succeeds none."""
    return SigningKey(key.public_key().public_bytes_raw(), created_at)


def succeed(old: Ed25519PrivateKey, new: Ed25519PrivateKey, created_at: datetime) -> SigningKey:
    """The record of `new`, endorsed by `old`."""
    public = new.public_key().public_bytes_raw()
    predecessor = key_id(old.public_key().public_bytes_raw())
    endorsement = old.sign(_succession(public, created_at, predecessor))
    return SigningKey(public, created_at, predecessor, endorsement)


class TrustedKeys:
    """The keys whose checkpoints count: roots, and every key endorsed by one that counts.

    Roots are the `pinned` public keys where the reader has some from elsewhere; else the keys without
    a predecessor, which is no more than taking the records' own word for it.
    """

    def __init__(self, records: Iterable[SigningKey], pinned: Iterable[bytes] = ()) -> None:
        candidates = list(records)
        pins = list(pinned)
        roots = pins or [record.public_key for record in candidates if record.predecessor is None]
        self.is_pinned = bool(pins)
        self._by_id = {key_id(root): root for root in roots}
        while heirs := [record for record in candidates if self._is_heir(record)]:
            self._by_id.update({record.key_id: record.public_key for record in heirs})

    def __contains__(self, public_key: bytes) -> bool:
        return self._by_id.get(key_id(public_key)) == public_key

    def _is_heir(self, record: SigningKey) -> bool:
        parent = self._by_id.get(record.predecessor or "")
        return record.key_id not in self._by_id and parent is not None and is_endorsed(record, parent)


def is_endorsed(record: SigningKey, predecessor: bytes) -> bool:
    """Whether the key `predecessor` signed `record` as its successor."""
    if record.predecessor != key_id(predecessor) or record.endorsement is None:
        return False
    message = _succession(record.public_key, record.created_at, record.predecessor)
    return _is_signed(predecessor, record.endorsement, message)


def _succession(public_key: bytes, created_at: datetime, predecessor: str) -> bytes:
    return SUCCESSION_PREFIX + canonical(
        {
            "v": VERSION,
            "public_key": public_key.hex(),
            "created_at": timestamp(created_at),
            "predecessor": predecessor,
        }
    )


def _parse(body: bytes, signer: str) -> Checkpoint:
    fields: dict[str, Canonical] = orjson.loads(body)
    match fields:
        case {
            "v": 1,
            "tenant": str(tenant),
            "seq": int(seq),
            "head": str(head),
            "root": str(root),
            "issued_at": str(issued_at),
            "key_id": str(name),
        } if name == signer and len(fields) == FIELDS and canonical(fields) == body:
            at = read_timestamp(issued_at)
            return Checkpoint(TenantId(UUID(tenant)), seq, bytes.fromhex(head), bytes.fromhex(root), at)
        case _:
            raise ValueError("not a checkpoint of this key")


def _is_signed(public_key: bytes, signature: bytes, message: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
