"""How one audit entry is tied to the one before it: hashing only, no I/O.

The same rule is written in SQL inside `audit_append` and `audit_flush`; a test holds the two equal.
"""

from collections.abc import Iterable
from hashlib import sha256
from struct import Struct

CHAIN_PREFIX = b"eai.audit.entry.v1\0"
"""Separates an entry's hash from every other hash that the product makes."""

GENESIS = bytes(32)
"""What stands before the first entry of a chain."""

# The parts have fixed sizes, so their bytes one after the other can be read in one way only.
_pack = Struct(f">{len(CHAIN_PREFIX)}s32sq32s").pack


def body_digest(body: bytes) -> bytes:
    """SHA-256 of the stored bytes of an entry, exactly as they are stored."""
    return sha256(body).digest()


def link(previous: bytes, seq: int, digest: bytes) -> bytes:
    """Hash of the entry at `seq` whose body has `digest`, placed after the entry hashed `previous`."""
    return sha256(_pack(CHAIN_PREFIX, previous, seq, digest)).digest()


def links(previous: Iterable[bytes], seqs: Iterable[int], bodies: Iterable[bytes]) -> list[bytes]:
    """`link` for many entries at once, without the price of a call for each."""
    return [
        sha256(_pack(CHAIN_PREFIX, before, seq, sha256(body).digest())).digest()
        for before, seq, body in zip(previous, seqs, bodies, strict=False)
    ]
