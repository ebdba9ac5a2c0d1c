"""Looks up and keeps entries. Whatever is wrong with one, or with where it lies, it is simply not there."""

import structlog

from eai.cache.entry import MAX_AGE_S, EntryKey, Expired, Kind, Seals
from eai.cache.ports import CacheStore, CacheUnavailable
from eai.kernel.clock import Clock
from eai.kernel.errors import Unavailable
from eai.kernel.ids import TenantId
from eai.platform import metrics
from eai.platform.keys import Keyring, SealBroken

log = structlog.get_logger(__name__)

PURPOSE = "cache"
MAX_ENTRY_BYTES = 64 * 1024
"""What is larger costs more to keep than to find again."""
MAX_TENANTS = 10_000


class SensitiveCache:
    """One per process. A tenant's entries open under that tenant's newest key, and under nothing else."""

    def __init__(self, store: CacheStore, keyring: Keyring, clock: Clock) -> None:
        self._store = store
        self._keyring = keyring
        self._clock = clock
        self._seals: dict[TenantId, Seals] = {}

    async def get(self, tenant: TenantId, key: EntryKey) -> bytes | None:
        """What was kept under exactly this key, within the last 15 minutes. Never raises.

        A miss is counted here; whether a find is a hit is for the caller to say, with `hit` or `stale`.
        """
        try:
            seals = await self._seals_of(tenant)
            sealed = await self._store.get(seals.name(key))
        except (CacheUnavailable, Unavailable, SealBroken):
            return self._missed(key.kind, "unavailable")
        if sealed is None:
            return self._missed(key.kind, "miss")
        try:
            return seals.open(key, sealed, self._now())
        except Expired:
            outcome = "expired"
        except SealBroken:
            outcome = "broken"
            # Somebody wrote into the store, or moved what lies there: nothing of the product does.
            log.warning("cache.entry_broken", tenant=str(tenant), kind=key.kind.value)
        await self._drop(seals, key)
        return self._missed(key.kind, outcome)

    async def put(self, tenant: TenantId, key: EntryKey, content: bytes) -> None:
        """Keep `content` for 15 minutes, unless it is large. Never raises."""
        if len(content) > MAX_ENTRY_BYTES:
            return
        try:
            seals = await self._seals_of(tenant)
            await self._store.put(seals.name(key), seals.seal(key, content, self._now()), MAX_AGE_S)
        except (CacheUnavailable, Unavailable, SealBroken):
            metrics.CACHE_WRITES.labels(kind=key.kind.value, outcome="unavailable").inc()
        else:
            metrics.CACHE_WRITES.labels(kind=key.kind.value, outcome="kept").inc()

    def hit(self, kind: Kind) -> None:
        """Count what was found and used."""
        metrics.CACHE_LOOKUPS.labels(kind=kind.value, outcome="hit").inc()

    async def stale(self, tenant: TenantId, key: EntryKey) -> None:
        """Drop what was found and did not hold any more, and count it as a miss. Never raises."""
        self._missed(key.kind, "stale")
        try:
            await self._drop(await self._seals_of(tenant), key)
        except (Unavailable, SealBroken):
            return

    async def _drop(self, seals: Seals, key: EntryKey) -> None:
        try:
            await self._store.drop(seals.name(key))
        except CacheUnavailable:
            return

    async def _seals_of(self, tenant: TenantId) -> Seals:
        key = await self._keyring.tenant_key(tenant, PURPOSE)
        seals = self._seals.get(tenant)
        if seals is None or seals.key != key:
            if len(self._seals) >= MAX_TENANTS:
                self._seals.clear()
            seals = self._seals[tenant] = Seals(key)
        return seals

    def _now(self) -> float:
        return self._clock.now().timestamp()

    @staticmethod
    def _missed(kind: Kind, outcome: str) -> None:
        metrics.CACHE_LOOKUPS.labels(kind=kind.value, outcome=outcome).inc()
