"""How a provider fails: what an attempt tells of it, and what is known of the error that a call ends in."""

import math
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from eai.gateway.errors import ProviderRefused
from eai.kernel.errors import BadGateway

RETRYABLE = frozenset({
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
})  # fmt: skip

REFUSALS = frozenset({
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.METHOD_NOT_ALLOWED,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
})  # fmt: skip
"""The request is wrong. Where a key is refused (401, 403) it is not: an operator mends it, and work waits."""

_SENT = "_was_sent"


class ProviderFailure(Exception):
    """An attempt that failed. `retry_after_s` is the provider's own wish, where it had one.

    `was_sent` says whether the provider may have worked, and charged, for it. `reason` is one word for the
    operator's log, never anything that was exchanged.
    """

    def __init__(
        self,
        *,
        is_retryable: bool,
        status: int | None = None,
        retry_after_s: float | None = None,
        was_sent: bool = True,
        reason: str = "status",
    ) -> None:
        super().__init__(status)
        self.is_retryable = is_retryable
        self.status = status
        self.retry_after_s = retry_after_s
        self.was_sent = was_sent
        self.reason = reason

    @classmethod
    def of_status(cls, status: int, retry_after_s: float | None = None) -> "ProviderFailure":
        """An answer that brought nothing but its status. What was refused was not worked on."""
        is_refusal = status < HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.SERVICE_UNAVAILABLE
        return cls(
            is_retryable=status in RETRYABLE,
            status=status,
            retry_after_s=retry_after_s,
            was_sent=not is_refusal,
        )


def was_sent(error: BaseException) -> bool:
    """Whether a provider may have charged for what ended in `error`."""
    is_unusable = isinstance(error, BadGateway) and not isinstance(error, ProviderRefused)
    return is_unusable or bool(error.__dict__.get(_SENT))


def mark_sent(error: BaseException) -> None:
    """Have `was_sent` say so of this error."""
    error.__dict__[_SENT] = True


def retry_after_s(header: str | None, now: float) -> float | None:
    """The seconds that a `Retry-After` header asks for, at `now` in Unix time: never negative."""
    if header is None:
        return None
    text = header.strip()
    try:
        wish = float(text) if text[-1:].isdigit() else parsedate_to_datetime(text).timestamp() - now
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
    return max(wish, 0.0) if math.isfinite(wish) else None
