"""How one audit entry is tied to the one before it: hashing only, no I/O.

The same rule is written in SQL inside `audit_append` and `audit_flush`; a test holds the two equal.
"""

from hashlib import sha256
from struct import Struct

CHAIN_PREFIX = b"eai.audit.entry.v1\0"
"""Separates an entry's hash from every other hash that the product makes."""

GENESIS = bytes(32)
"""What stands before the first entry of a chain."""

pack_seq = Struct(">q").pack


def body_digest(body: bytes) -> bytes:
    """SHA-256 of the stored bytes of an entry, exactly as they are stored."""
    return sha256(body).digest()


def link(previous: bytes, seq: int, digest: bytes) -> bytes:
    """Hash of the entry at `seq` whose body has `digest`, placed after the entry hashed `previous`."""
    return sha256(CHAIN_PREFIX + previous + pack_seq(seq) + digest).digest()
