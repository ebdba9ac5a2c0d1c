"""One attempt at a provider, and when there is another: three more at most, all within one deadline."""

import asyncio
import math
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from http import HTTPStatus
from typing import TypeVar, cast

import structlog

from eai.gateway.breaker import Breakers, TenantBreaker
from eai.gateway.errors import ProviderRefused, ProviderUnavailable
from eai.gateway.failures import REFUSALS, RETRYABLE, ProviderFailure, mark_sent
from eai.kernel.errors import BadGateway, EaiError
from eai.kernel.ids import TenantId

T = TypeVar("T")
Before = Callable[[], Awaitable[None]]

_MOST_FAILURES = 4
_FIRST_PAUSE_S = 0.5
_LONGEST_WISH_S = 30.0
_USUAL_ADVICE_S = 5
_LONGEST_ADVICE_S = 3600

_log = structlog.get_logger(__name__)


class Attempts:
    """One per process: it knows how each endpoint has been answering."""

    def __init__(
        self,
        *,
        deadline_s: float = 60.0,
        stream_deadline_s: float = 120.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._deadline_s = deadline_s
        self._stream_deadline_s = stream_deadline_s
        self._clock = clock
        self._sleep = sleep
        self._jitter = jitter
        self._breakers = Breakers(clock)

    async def run(
        self,
        endpoint: str,
        attempt: Callable[[float], Awaitable[T]],
        before: Before,
        *,
        tenant: TenantId | None = None,
    ) -> T:
        """What `attempt` returns; it is given the seconds that are left for it.

        What fails for one tenant keeps no other from trying. `before` is awaited ahead of each attempt, and
        what it raises ends the call. Raises ProviderRefused and ProviderUnavailable. See `was_sent` for
        whether an error may have been charged for.
        """
        course = self._course(endpoint, tenant, self._deadline_s)
        with course:
            while True:
                left_s = await course.start(before)
                try:
                    answer = await _within(attempt, left_s)
                except ProviderFailure as failure:
                    pause_s = course.failed(failure)
                else:
                    course.answered()
                    return answer
                await self._sleep(pause_s)

    async def stream(
        self,
        endpoint: str,
        attempt: Callable[[float], AsyncIterator[T]],
        before: Before,
        *,
        tenant: TenantId | None = None,
    ) -> AsyncGenerator[T, None]:
        """As `run`, in pieces; once the first has been handed on there is no other attempt."""
        course = self._course(endpoint, tenant, self._stream_deadline_s)
        with course:
            while True:
                left_s = await course.start(before)
                try:
                    # Every provider's stream is a generator, whose closing closes the connection.
                    async with aclosing(cast("AsyncGenerator[T, None]", attempt(left_s))) as pieces:
                        async for piece in pieces:
                            course.answered()
                            yield piece
                except ProviderFailure as failure:
                    pause_s = course.failed(failure)
                else:
                    return
                await self._sleep(pause_s)

    def _course(self, endpoint: str, tenant: TenantId | None, deadline_s: float) -> "_Course":
        breaker = self._breakers.of(endpoint, tenant)
        return _Course(endpoint, breaker, self._clock, self._clock() + deadline_s, self._jitter)


async def _within(attempt: Callable[[float], Awaitable[T]], left_s: float) -> T:
    try:
        async with asyncio.timeout(left_s) as limit:
            return await attempt(left_s)
    except TimeoutError:
        if not limit.expired():
            raise
    raise ProviderFailure(is_retryable=True, reason="deadline")


class _Course:
    """One call's attempts: how many failed, what is left of its time, whether anything was sent."""

    def __init__(
        self,
        endpoint: str,
        breaker: TenantBreaker,
        clock: Callable[[], float],
        ends_at: float,
        jitter: Callable[[], float],
    ) -> None:
        self._endpoint = endpoint
        self._breaker = breaker
        self._clock = clock
        self._ends_at = ends_at
        self._jitter = jitter
        self._failures = 0
        self._is_open = False
        self._has_answered = False
        self._was_sent = False

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        is_silent = self._is_open and not self._has_answered
        if is_silent and (error is None or isinstance(error, BadGateway)):
            self._breaker.answered()
        elif is_silent:
            self._breaker.abandoned()
        # A refusal of ours comes before anything leaves; whatever else ends an attempt may come after it.
        is_cut_short = self._is_open and not isinstance(error, EaiError)
        if error is not None and (self._was_sent or is_cut_short):
            mark_sent(error)

    async def start(self, before: Before) -> float:
        """Seconds that the next attempt may take. Raises ProviderUnavailable and what `before` raises."""
        await before()
        left_s = self._ends_at - self._clock()
        if left_s <= 0:
            raise self._unavailable(None)
        wait_s = self._breaker.admit()
        if wait_s > 0:
            raise self._unavailable(wait_s)
        self._is_open = True
        self._has_answered = False
        return left_s

    def answered(self) -> None:
        """The attempt brought something."""
        if self._is_open and not self._has_answered:
            self._has_answered = True
            self._breaker.answered()

    def failed(self, failure: ProviderFailure) -> float:
        """Seconds until the next attempt; if there is none, raises ProviderRefused or ProviderUnavailable."""
        self._is_open = False
        self._failures += 1
        self._was_sent = self._was_sent or failure.was_sent
        self._judge(failure)
        pause_s = self._pause_s(failure.retry_after_s)
        is_last = self._has_answered or not failure.is_retryable or self._failures >= _MOST_FAILURES
        if not is_last and self._clock() + pause_s < self._ends_at:
            return pause_s
        self._tell(failure)
        if failure.status in REFUSALS and not failure.is_retryable:
            raise ProviderRefused(provider=self._endpoint, status=failure.status) from failure
        raise self._unavailable(failure.retry_after_s, failure.status) from failure

    def _tell(self, failure: ProviderFailure) -> None:
        # For operators alone, who mend what it was: a key that is refused, a host that is not trusted.
        told = {"status": failure.status, "reason": failure.reason, "attempts": self._failures}
        _log.warning("provider_failed", endpoint=self._endpoint, **told)

    def _judge(self, failure: ProviderFailure) -> None:
        # Who asks for patience, or refuses one input, is there: others may be served meanwhile.
        is_away = failure.status is None or failure.status in RETRYABLE - {HTTPStatus.TOO_MANY_REQUESTS}
        if failure.is_retryable and is_away:
            self._breaker.failed(was_reached=failure.was_sent or failure.status is not None)
        else:
            self._breaker.answered()

    def _pause_s(self, wish_s: float | None) -> float:
        """Never sooner than wished, up to a cap; spread, so that callers do not return together."""
        own_s: float = _FIRST_PAUSE_S * 2 ** (self._failures - 1) * (0.5 + self._jitter() / 2)
        return own_s + min(wish_s or 0.0, _LONGEST_WISH_S)

    def _unavailable(self, wait_s: float | None, status: int | None = None) -> ProviderUnavailable:
        advice_s = min(max(math.ceil(wait_s or _USUAL_ADVICE_S), 1), _LONGEST_ADVICE_S)
        return ProviderUnavailable(provider=self._endpoint, status=status, retry_after_s=advice_s)
