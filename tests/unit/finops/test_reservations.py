"""What waits beside a reservation comes back as it was."""

from uuid import UUID, uuid4

import orjson
from hypothesis import given
from hypothesis import strategies as st

from eai.audit.entries import Evidence, ReservationState, Settlement, UsageRow
from eai.finops.reservations import read_usage, stored_usage
from eai.kernel.ids import ApiKeyId, BaseId, PrincipalId, TenantId

TENANT = TenantId(UUID(int=1))
EVENT = UUID(int=2)
NUMBERS = st.integers(0, 2**53)
WORDS = st.none() | st.text(max_size=20)


@given(
    st.builds(
        UsageRow,
        tenant=st.just(TENANT),
        id=st.just(EVENT),
        kind=st.text(max_size=20),
        unit=st.text(max_size=20),
        quantity=NUMBERS,
        provider=WORDS,
        region=WORDS,
        model=WORDS,
        tokens=NUMBERS,
        cost_micros=NUMBERS,
        principal=st.none() | st.uuids().map(PrincipalId),
        api_key=st.none() | st.uuids().map(ApiKeyId),
        labels=st.dictionaries(st.text(max_size=9), st.text(max_size=9), max_size=3),
        base=st.none() | st.uuids().map(BaseId),
        is_external=st.just(False),
        occurred_at=st.none(),
    )
)
def test_usage_survives_its_wait(row: UsageRow) -> None:
    found = read_usage(TENANT, orjson.loads(orjson.dumps(stored_usage(row))))
    assert {**stored_usage(found), "tenant": found.tenant} == {**stored_usage(row), "tenant": row.tenant}


def test_evidence_together_ends_all_that_its_parts_end() -> None:
    first, second = (Settlement(uuid4(), ReservationState.SETTLED, n) for n in (1, 2))
    assert (Evidence(settled=(first,)) + Evidence(settled=(second,))).settled == (first, second)
