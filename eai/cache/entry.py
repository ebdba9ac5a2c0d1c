"""What an entry is called, and how it is sealed. Pure.

The name and the seal are both made of the whole key, each with a key of its own that belongs to one tenant
and one epoch. So an entry tells nothing to whoever reads the store, and opens nowhere but where it was put.
"""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

import ormsgpack

from eai.platform.keys import SealBroken, TenantKey, seal, unseal

MAX_AGE_S = 15 * 60
_FORMAT = 1
_TIME_BYTES = 8
_MS = 1000


class Kind(StrEnum):
    """What an entry holds."""

    EMBEDDING = "embedding"
    RESULTS = "results"


Part = str | int | float | bool | bytes | None | Sequence["Part"]


@dataclass(frozen=True, slots=True)
class EntryKey:
    """All that an entry depends on. Two that differ in any part never share an entry.

    `parts` has one order for each kind; ids stand in it as bytes.
    """

    kind: Kind
    parts: tuple[Part, ...]

    def encoded(self) -> bytes:
        """The one byte form of this key: lengths and types are in it, so no two keys have the same."""
        return ormsgpack.packb((_FORMAT, self.kind.value, self.parts))


class Expired(Exception):
    """The entry is older than it may become, or dated later than now."""


class Seals:
    """The keys of one tenant and epoch."""

    def __init__(self, key: TenantKey) -> None:
        self.key = key
        self._naming = key.derive("name")
        self._sealing = key.derive("seal")
        self._context = key.tenant.bytes + key.epoch.to_bytes(4)

    def name(self, key: EntryKey) -> bytes:
        """Under which name the entry lies."""
        return hmac.new(self._naming, self._bound(key), sha256).digest()

    def seal(self, key: EntryKey, content: bytes, now_s: float) -> bytes:
        """`content` with the time, to be opened with the same key alone."""
        written = int(now_s * _MS).to_bytes(_TIME_BYTES)
        return seal(self._sealing, written + content, self._bound(key))

    def open(self, key: EntryKey, sealed: bytes, now_s: float) -> bytes:
        """What was sealed. Raises SealBroken for anything else, and Expired."""
        opened = unseal(self._sealing, sealed, self._bound(key))
        if len(opened) < _TIME_BYTES:
            raise SealBroken
        age_ms = int(now_s * _MS) - int.from_bytes(opened[:_TIME_BYTES])
        # Clocks of two processes differ a little.
        if not -_MS <= age_ms < MAX_AGE_S * _MS:
            raise Expired
        return opened[_TIME_BYTES:]

    def _bound(self, key: EntryKey) -> bytes:
        return self._context + key.encoded()
