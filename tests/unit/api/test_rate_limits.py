from dataclasses import dataclass

import pytest

from eai.api.rate_limits import FailedAttempts, TenantLimits, rate_limit_headers
from eai.api.windows import MAX_KEYS, Allowance, Windows
from eai.kernel.errors import RateLimited
from tests.fakes.platform import subject

_CLIENT = "192.0.2.7"


@dataclass
class Ticks:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def _attempt(attempts: FailedAttempts, client: str, credential: str) -> bool:
    try:
        attempts.admit(client, credential)
    except RateLimited:
        return False
    attempts.failed(client, credential)
    return True


def test_a_window_opens_with_its_first_event_and_ends_after_its_length() -> None:
    clock = Ticks()
    windows = Windows(60, clock=clock)
    assert [windows.count("a", 2) for _ in range(3)] == [True, True, False]
    assert windows.allowance("a", 2) == Allowance(limit=2, remaining=0, reset_s=60)
    clock.now += 59.5
    assert not windows.count("a", 2)
    assert windows.allowance("a", 2).reset_s == 1
    clock.now += 0.5
    assert windows.count("a", 2)
    assert windows.allowance("a", 2) == Allowance(limit=2, remaining=1, reset_s=60)


def test_windows_stay_bounded_whatever_is_counted() -> None:
    windows = Windows(60, clock=Ticks())
    for number in range(MAX_KEYS + 10):
        windows.count(str(number), 1)
    assert len(windows._windows) <= MAX_KEYS


def test_guesses_at_one_id_are_cut_off_after_300() -> None:
    attempts = FailedAttempts(clock=Ticks())
    done = [_attempt(attempts, f"198.51.{n // 250}.{n % 250}", f"eai_known_{n}") for n in range(1000)]
    assert done.count(True) == 300
    assert _attempt(attempts, _CLIENT, "eai_other_1")


def test_guesses_from_one_address_are_cut_off_after_2000() -> None:
    attempts = FailedAttempts(clock=Ticks())
    done = [_attempt(attempts, _CLIENT, f"eai_{n}_x") for n in range(10_000)]
    assert done.count(True) == 2000
    assert _attempt(attempts, "198.51.100.1", "eai_1_x")


def test_an_ipv6_subscriber_is_one_address() -> None:
    attempts = FailedAttempts(clock=Ticks())
    done = [_attempt(attempts, f"2001:db8:1:2::{n:x}", f"eai_{n}_x") for n in range(4000)]
    assert done.count(True) == 2000
    assert _attempt(attempts, "2001:db8:1:3::1", "eai_1_x")


def test_whoever_holds_the_key_is_not_locked_out_by_guessers() -> None:
    attempts = FailedAttempts(clock=Ticks())
    attempts.succeeded("eai_known_right", subject())
    for number in range(5000):
        _attempt(attempts, _CLIENT, f"eai_known_{number}")
    attempts.admit(_CLIENT, "eai_known_right")
    with pytest.raises(RateLimited) as caught:
        attempts.admit(_CLIENT, "eai_known_wrong")
    assert caught.value.retry_after_s == 60


def test_a_key_that_stops_working_loses_its_privilege() -> None:
    attempts = FailedAttempts(clock=Ticks())
    attempts.succeeded("eai_known_right", subject())
    for _ in range(301):
        attempts.failed(_CLIENT, "eai_known_right")
    with pytest.raises(RateLimited):
        attempts.admit(_CLIENT, "eai_known_right")


def test_the_wait_ends() -> None:
    clock = Ticks()
    attempts = FailedAttempts(clock=clock)
    for number in range(400):
        _attempt(attempts, _CLIENT, f"eai_known_{number}")
    clock.now += 60
    attempts.admit(_CLIENT, "eai_known_1")


async def test_a_tenant_without_a_limit_is_not_counted() -> None:
    async def none(_: object) -> None:
        return None

    assert await TenantLimits(none, clock=Ticks()).count(subject()) is None


async def test_tenants_are_counted_apart_and_told_what_is_left() -> None:
    async def two(_: object) -> int:
        return 2

    limits = TenantLimits(two, clock=Ticks())
    first, second = subject(), subject()
    counts = [await limits.count(first) for _ in range(3)]
    assert [(count[0].remaining, count[1]) for count in counts] == [(1, True), (0, True), (0, False)]
    assert (await limits.count(second))[1]


async def test_a_changed_limit_holds_within_five_seconds() -> None:
    clock, current = Ticks(), [None]

    async def changing(_: object) -> int | None:
        return current[0]

    limits, who = TenantLimits(changing, clock=clock), subject()
    assert await limits.count(who) is None
    current[0] = 1
    assert await limits.count(who) is None
    clock.now += 5
    assert await limits.count(who) == (Allowance(limit=1, remaining=0, reset_s=60), True)


def test_what_is_left_is_told_as_the_draft_writes_it() -> None:
    assert rate_limit_headers(Allowance(limit=100, remaining=7, reset_s=31)) == [
        (b"ratelimit-policy", b'"tenant";q=100;w=60'),
        (b"ratelimit", b'"tenant";r=7;t=31'),
    ]
