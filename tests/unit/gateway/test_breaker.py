"""When a provider is left alone, and how it comes back."""

import pytest

from eai.gateway.breaker import Breaker


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker(clock, failures=3, rest_s=30.0)


def fail(breaker: Breaker, times: int) -> None:
    for _ in range(times):
        assert breaker.admit() == 0
        breaker.failed()


def test_it_opens_after_failures_in_a_row(breaker: Breaker, clock: Clock) -> None:
    fail(breaker, 3)
    assert breaker.admit() == 30.0
    clock.now += 29.5
    assert breaker.admit() == 0.5


def test_an_answer_in_between_begins_the_count_anew(breaker: Breaker) -> None:
    fail(breaker, 2)
    breaker.answered()
    fail(breaker, 2)
    assert breaker.admit() == 0


def test_after_the_rest_one_call_at_a_time_finds_out(breaker: Breaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 30
    assert breaker.admit() == 0
    assert breaker.admit() == 1.0
    breaker.answered()
    assert breaker.admit() == 0
    assert breaker.admit() == 0


def test_a_probe_that_fails_opens_it_for_another_rest(breaker: Breaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 31
    fail(breaker, 1)
    assert breaker.admit() == 30.0


def test_a_probe_that_was_abandoned_lets_the_next_one_try(breaker: Breaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 30
    assert breaker.admit() == 0
    breaker.abandoned()
    assert breaker.admit() == 0


def test_calls_that_were_under_way_do_not_lengthen_the_rest(breaker: Breaker, clock: Clock) -> None:
    fail(breaker, 3)
    clock.now += 10
    breaker.failed()
    assert breaker.admit() == 20.0
