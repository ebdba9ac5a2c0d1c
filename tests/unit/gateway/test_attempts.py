"""How often a provider is asked, how long is waited, and what is known of a call that failed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from email.utils import formatdate
from uuid import uuid4

import pytest
from structlog.testing import capture_logs

from eai.gateway.attempts import Attempts
from eai.gateway.errors import (
    EgressDenied,
    KillSwitchEngaged,
    ProviderRefused,
    ProviderResponseInvalid,
    ProviderUnavailable,
)
from eai.gateway.failures import ProviderFailure, retry_after_s, was_sent
from eai.kernel.errors import EaiError
from eai.kernel.ids import TenantId

NOW = 1_700_000_000.0


class Time:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pauses: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def attempts(time: Time) -> Attempts:
    return Attempts(deadline_s=60, stream_deadline_s=60, clock=time, sleep=time.sleep, jitter=lambda: 1.0)


async def nothing() -> None:
    return None


class Provider:
    """Does what each step says: raise it, or answer it."""

    def __init__(self, *steps: object) -> None:
        self.steps = list(steps)
        self.given: list[float] = []

    async def __call__(self, left_s: float) -> object:
        self.given.append(left_s)
        step = self.steps.pop(0)
        if isinstance(step, BaseException):
            raise step
        return step

    async def stream(self, left_s: float) -> AsyncIterator[object]:
        self.given.append(left_s)
        for step in self.steps.pop(0):  # type: ignore[attr-defined]
            if isinstance(step, BaseException):
                raise step
            yield step


def status(code: int, retry_after: float | None = None) -> ProviderFailure:
    return ProviderFailure.of_status(code, retry_after)


async def failure_of(running: Awaitable[object]) -> ProviderUnavailable | ProviderRefused:
    with pytest.raises((ProviderUnavailable, ProviderRefused)) as caught:
        await running
    return caught.value


async def test_an_answer_needs_one_attempt(attempts: Attempts, time: Time) -> None:
    provider = Provider("well")
    assert await attempts.run("vllm", provider, nothing) == "well"
    assert provider.given == [60]
    assert time.pauses == []


@pytest.mark.parametrize("code", [429, 502, 503, 504])
async def test_a_passing_trouble_is_waited_out(attempts: Attempts, time: Time, code: int) -> None:
    provider = Provider(status(code), status(code), status(code), "well")
    assert await attempts.run("vllm", provider, nothing) == "well"
    assert time.pauses == [0.5, 1.0, 2.0]
    assert provider.given == [60, 59.5, 58.5, 56.5]


async def test_there_are_three_more_attempts_at_most(attempts: Attempts) -> None:
    provider = Provider(*[status(503) for _ in range(9)])
    error = await failure_of(attempts.run("vllm", provider, nothing))
    assert len(provider.given) == 4
    assert error.details == {"provider": "vllm", "status": 503}
    assert error.retry_after_s == 5


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        *[(code, ProviderRefused) for code in (400, 404, 405, 413, 422)],
        *[(code, ProviderUnavailable) for code in (401, 403, 408, 500, 501, 302)],
    ],
)
async def test_what_would_fail_again_is_not_tried_again(
    attempts: Attempts, code: int, kind: type[EaiError]
) -> None:
    provider = Provider(status(code), "well")
    error = await failure_of(attempts.run("vllm", provider, nothing))
    assert len(provider.given) == 1
    assert type(error) is kind
    assert error.details == {"provider": "vllm", "status": code}


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (status(401), {"status": 401, "reason": "status", "attempts": 1}),
        (status(503), {"status": 503, "reason": "status", "attempts": 4}),
        (
            ProviderFailure(is_retryable=True, was_sent=False, reason="unsent"),
            {"status": None, "reason": "unsent", "attempts": 4},
        ),
    ],
    ids=str,
)
async def test_what_a_call_failed_for_is_told_the_operator(
    attempts: Attempts, failure: ProviderFailure, told: dict[str, object]
) -> None:
    with capture_logs() as logs:
        await failure_of(attempts.run("vllm", Provider(*[failure] * 4), nothing))
    assert logs == [{"event": "provider_failed", "log_level": "warning", "endpoint": "vllm", **told}]


async def test_trouble_that_passed_is_not_told(attempts: Attempts) -> None:
    with capture_logs() as logs:
        await attempts.run("vllm", Provider(status(503), "well"), nothing)
    assert logs == []


@pytest.mark.parametrize(
    ("wish", "pause"), [(0.0, 0.5), (3.0, 3.5), (25.0, 25.5), (31.0, 30.5), (100_000.0, 30.5)]
)
async def test_the_providers_wish_is_honoured_up_to_a_cap(
    attempts: Attempts, time: Time, wish: float, pause: float
) -> None:
    assert await attempts.run("vllm", Provider(status(429, wish), "well"), nothing) == "well"
    assert time.pauses == [pause]


async def test_a_wish_beyond_the_deadline_is_handed_on_to_the_caller(time: Time) -> None:
    attempts = Attempts(deadline_s=10, clock=time, sleep=time.sleep, jitter=lambda: 0.0)
    provider = Provider(status(429, 42.2), "well")
    error = await failure_of(attempts.run("vllm", provider, nothing))
    assert (len(provider.given), time.pauses, error.retry_after_s) == (1, [], 43)


async def test_waits_are_spread_so_that_callers_do_not_return_together(time: Time) -> None:
    spread = iter([0.0, 0.5, 0.25])
    attempts = Attempts(deadline_s=60, clock=time, sleep=time.sleep, jitter=lambda: next(spread))
    await attempts.run("vllm", Provider(status(503), status(503), status(503), "well"), nothing)
    assert time.pauses == [0.25, 0.75, 1.25]


async def test_the_switches_are_read_before_every_attempt(attempts: Attempts) -> None:
    order: list[str] = []

    async def before() -> None:
        order.append("before")
        if order.count("before") == 3:
            raise KillSwitchEngaged(scope="tenant")

    async def attempt(left_s: float) -> str:
        order.append("attempt")
        raise status(503)

    with pytest.raises(KillSwitchEngaged) as caught:
        await attempts.run("vllm", attempt, before)
    assert order == ["before", "attempt", "before", "attempt", "before"]
    assert not was_sent(caught.value)


async def test_an_attempt_gets_no_more_than_the_time_that_is_left() -> None:
    attempts = Attempts(deadline_s=0.05)

    async def hanging(left_s: float) -> None:
        await asyncio.sleep(600)

    error = await failure_of(attempts.run("vllm", hanging, nothing))
    assert was_sent(error)


async def test_switches_that_take_all_the_time_leave_none_for_the_call(
    attempts: Attempts, time: Time
) -> None:
    async def slow() -> None:
        time.now += 60

    provider = Provider("well")
    await failure_of(attempts.run("vllm", provider, slow))
    assert provider.given == []


@pytest.mark.parametrize(
    ("failure", "is_charged"),
    [
        (status(429), False), (status(503), False), (status(401), False), (status(400), False),
        (status(404), False),
        (status(500), True), (status(502), True), (status(504), True),
        (ProviderFailure(is_retryable=True, was_sent=False), False),
        (ProviderFailure(is_retryable=True), True),
    ],
)  # fmt: skip
async def test_what_may_have_been_charged_is_known_of_the_failure(
    attempts: Attempts, failure: ProviderFailure, *, is_charged: bool
) -> None:
    error = await failure_of(attempts.run("vllm", Provider(*[failure] * 4), nothing))
    assert was_sent(error) is is_charged


async def test_one_attempt_that_may_have_been_charged_is_remembered(attempts: Attempts) -> None:
    broken = ProviderFailure(is_retryable=True)
    for last in (429, 400):
        error = await failure_of(attempts.run("vllm", Provider(broken, *[status(last)] * 3), nothing))
        assert was_sent(error)


async def test_an_answer_that_cannot_be_used_was_paid_for(attempts: Attempts) -> None:
    with pytest.raises(ProviderResponseInvalid) as caught:
        await attempts.run("vllm", Provider(ProviderResponseInvalid(model="m")), nothing)
    assert was_sent(caught.value)


async def test_what_was_refused_on_the_way_was_not_sent(attempts: Attempts) -> None:
    with pytest.raises(EgressDenied) as caught:
        await attempts.run("vllm", Provider(EgressDenied(provider="vllm")), nothing)
    assert not was_sent(caught.value)


async def test_a_call_that_is_cancelled_may_have_been_charged(attempts: Attempts) -> None:
    is_asked = asyncio.Event()

    async def hanging(left_s: float) -> None:
        is_asked.set()
        await asyncio.sleep(600)

    running = asyncio.ensure_future(attempts.run("vllm", hanging, nothing))
    await is_asked.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await running
    assert was_sent(caught.value)


async def test_an_endpoint_that_does_not_answer_is_left_alone(attempts: Attempts, time: Time) -> None:
    broken = [ProviderFailure(is_retryable=True, was_sent=False) for _ in range(9)]
    provider = Provider(*broken)
    await failure_of(attempts.run("vllm", provider, nothing))
    error = await failure_of(attempts.run("vllm", provider, nothing))
    # The fifth failure in a row opened it, within the second call.
    assert len(provider.given) == 5
    assert error.retry_after_s == 30
    assert not was_sent(error)
    assert await attempts.run("other", Provider("well"), nothing) == "well"
    time.now += 30
    assert await attempts.run("vllm", Provider("well"), nothing) == "well"
    assert await attempts.run("vllm", Provider("well"), nothing) == "well"


TROUBLES = [
    status(502),
    status(503),
    status(504),
    # As a request that the provider works on until the deadline, or that makes it fall over.
    ProviderFailure(is_retryable=True),
]


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: str(trouble.status))
async def test_what_one_tenants_requests_do_to_a_provider_stays_with_that_tenant(
    attempts: Attempts, time: Time, trouble: ProviderFailure
) -> None:
    mine, other = TenantId(uuid4()), TenantId(uuid4())
    for _ in range(5):
        await failure_of(attempts.run("vllm", Provider(*[trouble] * 4), nothing, tenant=mine))
    error = await failure_of(attempts.run("vllm", Provider("well"), nothing, tenant=mine))
    assert (error.retry_after_s or 0) > 0
    assert await attempts.run("vllm", Provider("well"), nothing, tenant=other) == "well"
    # That others are answered does not say that this tenant's requests would be.
    await failure_of(attempts.run("vllm", Provider("well"), nothing, tenant=mine))
    time.now += 30
    assert await attempts.run("vllm", Provider("well"), nothing, tenant=mine) == "well"


async def test_an_endpoint_that_cannot_be_reached_is_left_alone_by_everybody(
    attempts: Attempts, time: Time
) -> None:
    unreached = ProviderFailure(is_retryable=True, was_sent=False)
    tenants = [TenantId(uuid4()) for _ in range(3)]
    provider = Provider(*[unreached] * 9)
    for tenant in tenants[:2]:
        await failure_of(attempts.run("vllm", provider, nothing, tenant=tenant))
    assert len(provider.given) == 5
    error = await failure_of(attempts.run("vllm", Provider("well"), nothing, tenant=tenants[2]))
    assert error.retry_after_s == 30
    time.now += 30
    assert await attempts.run("vllm", Provider("well"), nothing, tenant=tenants[2]) == "well"
    assert await attempts.run("vllm", Provider("well"), nothing, tenant=tenants[0]) == "well"


async def test_a_tenant_whose_turn_it_is_not_leaves_its_own_probe_to_the_next(
    attempts: Attempts, time: Time
) -> None:
    unreached, tenant, other = ProviderFailure(is_retryable=True, was_sent=False), TenantId(uuid4()), None
    for who in (tenant, tenant, other):
        await failure_of(attempts.run("vllm", Provider(*[unreached] * 4), nothing, tenant=who))
    time.now += 30
    await failure_of(attempts.run("vllm", Provider(unreached), nothing, tenant=other))
    await failure_of(attempts.run("vllm", Provider("well"), nothing, tenant=tenant))
    time.now += 30
    assert await attempts.run("vllm", Provider("well"), nothing, tenant=tenant) == "well"


@pytest.mark.parametrize("code", [429, 400, 500])
async def test_no_single_caller_can_have_an_endpoint_left_alone(attempts: Attempts, code: int) -> None:
    for _ in range(10):
        await failure_of(attempts.run("vllm", Provider(*[status(code)] * 4), nothing))
    assert await attempts.run("vllm", Provider("well"), nothing) == "well"


async def test_a_probe_that_goes_away_does_not_leave_the_endpoint_alone_for_good(
    attempts: Attempts, time: Time
) -> None:
    for _ in range(2):
        await failure_of(attempts.run("vllm", Provider(*[status(503)] * 4), nothing))
    time.now += 30
    with pytest.raises(RuntimeError):
        await attempts.run("vllm", Provider(RuntimeError()), nothing)
    assert await attempts.run("vllm", Provider("well"), nothing) == "well"


async def collected(
    attempts: Attempts, provider: Provider, before: Callable[[], Awaitable[None]]
) -> list[object]:
    return [piece async for piece in attempts.stream("vllm", provider.stream, before)]


async def test_a_stream_is_begun_again_until_its_first_piece(attempts: Attempts, time: Time) -> None:
    provider = Provider([status(503)], [status(429, 2.0)], ["a", "b"])
    assert await collected(attempts, provider, nothing) == ["a", "b"]
    assert time.pauses == [0.5, 3.0]


async def test_a_stream_that_broke_is_not_begun_again(attempts: Attempts) -> None:
    provider = Provider(["a", ProviderFailure(is_retryable=True)], ["a", "b"])
    pieces = attempts.stream("vllm", provider.stream, nothing)
    assert await anext(pieces) == "a"
    with pytest.raises(ProviderUnavailable) as caught:
        await anext(pieces)
    assert len(provider.given) == 1
    assert was_sent(caught.value)


async def test_leaving_a_stream_closes_the_providers(attempts: Attempts) -> None:
    is_closed = False

    async def endless(left_s: float) -> AsyncIterator[str]:
        nonlocal is_closed
        try:
            while True:
                yield "a"
        finally:
            is_closed = True

    async with aclosing(attempts.stream("vllm", endless, nothing)) as pieces:
        assert await anext(pieces) == "a"
    assert is_closed


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None), ("3", 3.0), (" 120 ", 120.0), ("0", 0.0), ("1.5", 1.5), ("-5", 0.0),
        (formatdate(NOW + 60, usegmt=True), 60.0), (formatdate(NOW - 60, usegmt=True), 0.0),
        ("soon", None), ("", None), ("nan", None), ("1e999", None), ("Mon, 99 Foo 2023 99:99:99 GMT", None),
        ("²", None),
    ],
)  # fmt: skip
def test_a_wish_is_read_in_seconds_or_as_a_date(header: str | None, seconds: float | None) -> None:
    assert retry_after_s(header, NOW) == seconds
