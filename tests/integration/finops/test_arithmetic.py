"""Whatever calls do, and in whatever order, what is used and held adds up: invariant I8."""

from dataclasses import dataclass, field

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eai.audit.entries import ReservationState
from eai.finops.errors import QuotaExceeded
from eai.finops.reservations import Reservation, Reservations
from eai.platform.database import Database
from tests.conftest import create_tenant
from tests.integration.finops.conftest import Purse, audit_over

ENDS = (ReservationState.SETTLED, ReservationState.RELEASED, ReservationState.UNKNOWN)
RESERVE = st.tuples(st.just("reserve"), st.integers(0, 30), st.just(ENDS[0]))
END = st.tuples(st.just("end"), st.integers(0, 40), st.sampled_from(ENDS))


@dataclass
class Expected:
    """What a quota of tokens and one of calls should say."""

    limits: tuple[int, int]
    used: list[int] = field(default_factory=lambda: [0, 0])
    held: list[Reservation] = field(default_factory=list)

    @property
    def reserved(self) -> list[int]:
        return [sum(each.tokens for each in self.held), len(self.held)]

    def admits(self, tokens: int) -> bool:
        asked = (tokens, 1)
        return all(
            used + held + more <= limit
            for used, held, more, limit in zip(self.used, self.reserved, asked, self.limits, strict=True)
        )

    def end(self, reservation: Reservation, state: ReservationState, tokens: int) -> None:
        self.held.remove(reservation)
        if state is not ReservationState.RELEASED:
            self.used[0] += tokens
            self.used[1] += 1


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    limits=st.tuples(st.integers(0, 90), st.integers(0, 6)),
    steps=st.lists(st.one_of(RESERVE, RESERVE, END), max_size=14),
)
async def test_what_is_used_and_held_is_what_calls_did(
    database: Database, limits: tuple[int, int], steps: list[tuple[str, int, ReservationState]]
) -> None:
    audit = audit_over(database)
    purse = Purse(await create_tenant(database), database, audit, Reservations(database))
    quotas = [await purse.quota(limits[0]), await purse.quota(limits[1], "requests")]
    expected = Expected(limits)
    for step, tokens, state in steps:
        if step == "reserve":
            is_admitted = expected.admits(tokens)
            try:
                expected.held.append(await purse.reserve(tokens))
            except QuotaExceeded:
                assert not is_admitted
            else:
                assert is_admitted
        elif expected.held:
            ending = expected.held[tokens % len(expected.held)]
            took = 0 if state is ReservationState.RELEASED else tokens
            await purse.end(ending, state=state, tokens=took)
            expected.end(ending, state, took)
        taken = await purse.taken()
        seen = [taken.get(quota, (0, 0)) for quota in quotas]
        assert seen == list(zip(expected.used, expected.reserved, strict=True))
    await audit.close()
