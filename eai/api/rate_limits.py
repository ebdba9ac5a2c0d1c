"""How often a tenant may ask, and how often anybody may guess at credentials."""

import secrets
from collections.abc import Awaitable, Callable
from hashlib import blake2b
from ipaddress import IPv6Address, ip_address
from time import monotonic

from eai.access.subject import Subject
from eai.api.windows import Allowance, Windows
from eai.kernel.errors import RateLimited
from eai.kernel.ids import TenantId

WINDOW_S = 60
# A secret of 256 bits is not found by guessing; what is kept small here is what guessers cost. An
# application whose key has ended, and a suite that tries every operation, stay well below.
FAILURES_PER_KEY = 300
FAILURES_PER_CLIENT = 2_000
_LIMIT_KNOWN_FOR_S = 5.0
_MOST_REMEMBERED = 10_000

LimitOf = Callable[[Subject], Awaitable[int | None]]


class FailedAttempts:
    """Slows down guessing, per key id and per client address, without locking out who knows the key.

    A credential that was good in this process is let through to be checked again whatever others do to
    its id or from its address.
    """

    def __init__(self, *, clock: Callable[[], float] = monotonic) -> None:
        self._windows = Windows(WINDOW_S, clock=clock)
        self._salt = secrets.token_bytes(16)
        self._good: dict[bytes, Subject] = {}

    def admit(self, client: str, credential: str) -> None:
        """Raise RateLimited when too many attempts on this id or from this client failed lately."""
        if self.last_subject(credential) is not None:
            return
        for name, limit in self._counters(client, credential):
            if self._windows.is_spent(name, limit):
                raise RateLimited(retry_after_s=self._windows.allowance(name, limit).reset_s)

    def failed(self, client: str, credential: str) -> None:
        """Count an attempt that was refused."""
        self._good.pop(self._digest(credential), None)
        for name, limit in self._counters(client, credential):
            self._windows.count(name, limit)

    def succeeded(self, credential: str, subject: Subject) -> None:
        """Remember that this credential is good, and whose it is."""
        digest = self._digest(credential)
        if digest not in self._good and len(self._good) >= _MOST_REMEMBERED:
            del self._good[next(iter(self._good))]
        self._good[digest] = subject

    def last_subject(self, credential: str) -> Subject | None:
        """Who last came with this credential; fit for counting, never for deciding."""
        return self._good.get(self._digest(credential))

    def _digest(self, credential: str) -> bytes:
        return blake2b(credential.encode(), digest_size=16, key=self._salt).digest()

    @staticmethod
    def _counters(client: str, credential: str) -> list[tuple[str, int]]:
        counters = [(f"client {_network(client)}", FAILURES_PER_CLIENT)]
        key_id, separator, _ = credential.rpartition("_")
        if separator:
            counters.append((f"key {key_id}", FAILURES_PER_KEY))
        return counters


class TenantLimits:
    """Counts a tenant's requests against the limit it set for itself; none is the default.

    A changed limit is honoured within five seconds.
    """

    def __init__(self, limit_of: LimitOf, *, clock: Callable[[], float] = monotonic) -> None:
        self._limit_of = limit_of
        self._clock = clock
        self._windows = Windows(WINDOW_S, clock=clock)
        self._known: dict[TenantId, tuple[int | None, float]] = {}

    async def count(self, subject: Subject) -> tuple[Allowance, bool] | None:
        """What is left after this request and whether it is within the limit; None without a limit."""
        limit = await self._limit(subject)
        if limit is None:
            return None
        key = str(subject.tenant)
        is_within = self._windows.count(key, limit)
        return self._windows.allowance(key, limit), is_within

    async def _limit(self, subject: Subject) -> int | None:
        known = self._known.get(subject.tenant)
        if known is None or known[1] <= self._clock():
            known = (await self._limit_of(subject), self._clock() + _LIMIT_KNOWN_FOR_S)
            self._known[subject.tenant] = known
        return known[0]


def rate_limit_headers(allowance: Allowance) -> list[tuple[bytes, bytes]]:
    """`RateLimit-Policy` and `RateLimit` as the IETF draft writes them."""
    policy = f'"tenant";q={allowance.limit};w={WINDOW_S}'
    state = f'"tenant";r={allowance.remaining};t={allowance.reset_s}'
    return [(b"ratelimit-policy", policy.encode()), (b"ratelimit", state.encode())]


def _network(client: str) -> str:
    """The address, or the /64 of an IPv6 address: one subscriber owns all of it."""
    try:
        address = ip_address(client)
    except ValueError:
        return "unknown"
    return str(address.exploded[:19]) if isinstance(address, IPv6Address) else str(address)
