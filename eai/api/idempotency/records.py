"""The values of idempotency: which operation, which key, which body, and how long an answer is kept."""

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from hashlib import sha256
from typing import Any, TypeVar
from uuid import UUID

from starlette.requests import Request

from eai.api.intake import InboundRequest
from eai.kernel.errors import InvalidInput
from eai.kernel.ids import ApiKeyId, PrincipalId, TenantId

HEADER = "idempotency-key"
KEPT_FOR = timedelta(hours=24)
LEASE = timedelta(seconds=30)
"""As long as a job's: whoever repeats a request whose process died waits no longer than its work does."""

_LONGEST_KEY = 255
_VISIBLE = frozenset(map(chr, range(0x21, 0x7F)))
_MARK = "eai_replay"
Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


class Replay(Enum):
    """What a repetition of a finished request gets."""

    KEPT = timedelta(hours=24)
    """The answer, for a day."""
    ONCE = timedelta(minutes=10)
    """The answer, which holds a secret or a model's words, once and within ten minutes."""
    IGNORED = timedelta(0)
    """The operation changes nothing, so it simply runs again."""


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a key counts: it means nothing to another tenant, principal or operation.

    `holder` is named where the answer holds a secret: the credential that asked, which alone may have it.
    A principal's narrower key must not come by the secret of a wider one.
    """

    tenant: TenantId
    principal: PrincipalId
    route: str
    key: str
    holder: ApiKeyId | None = None

    @property
    def context(self) -> bytes:
        """What a kept answer is sealed for."""
        return f"idempotency:{self.tenant}:{self.principal}:{self.route}:{self.key}".encode()


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to run a request now. Every attempt at it shares one `effect_id`."""

    slot: Slot
    attempt: int
    effect_id: UUID


def replay(mode: Replay) -> Callable[[Endpoint], Endpoint]:
    """Mark an endpoint whose answers are not to be kept for a day."""

    def mark(endpoint: Endpoint) -> Endpoint:
        setattr(endpoint, _MARK, mode)
        return endpoint

    return mark


def replay_mode(endpoint: Callable[..., Any], methods: set[str]) -> Replay:
    """How `endpoint` is marked; keys count on POST, and on what is marked."""
    usual = Replay.KEPT if methods == {"POST"} else Replay.IGNORED
    mode: Replay = getattr(endpoint, _MARK, usual)
    return mode


def key_of(request: Request) -> str | None:
    """The request's key, if it sends one. Raises InvalidInput for one that could not be stored as it is."""
    key = request.headers.get(HEADER)
    if key is None:
        return None
    if not 0 < len(key) <= _LONGEST_KEY or not _VISIBLE.issuperset(key):
        raise InvalidInput.field("Idempotency-Key", "idempotency_key_form", "")
    return key


async def fingerprint_of(request: Request, holder: ApiKeyId | None, key: bytes) -> bytes:
    """A digest of address, body and holder; the same whatever a repetition's boundary or key order.

    Under `key`, for a body that says whom an erasure is to look for must not be found by trying.
    """
    digest = hmac.new(key, digestmod=sha256)
    digest.update(request.scope["path"].encode() + b"\0" + request.scope["query_string"] + b"\0")
    if holder is not None:
        digest.update(holder.bytes)
    if isinstance(request, InboundRequest):
        await request.add_to(digest)
    return digest.digest()
