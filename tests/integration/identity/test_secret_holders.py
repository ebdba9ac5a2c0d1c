"""Whoever holds a secret of somebody who holds one is behind them too: against a walk over sets."""

from collections.abc import Collection
from uuid import UUID, uuid4

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eai.identity.repository import PrincipalRows
from eai.identity.secret_holders import SecretHolders
from eai.kernel.ids import TenantId
from eai.platform.database import Database
from tests.conftest import create_tenant

PEOPLE = [UUID(int=number) for number in range(7)]
ANYBODY = st.sampled_from(PEOPLE)
Held = tuple[UUID, UUID]


def behind(held: Collection[Held], principals: Collection[UUID]) -> set[UUID]:
    """The principals with all that are reached from them, one step at a time until there are no more."""
    reached = set(principals)
    while more := {holder for principal, holder in held if principal in reached} - reached:
        reached |= more
    return reached


async def record(database: Database, tenant: TenantId, held: Collection[Held]) -> None:
    async with database.transaction(tenant) as session:
        for principal, holder in held:
            await SecretHolders(session, tenant).add(principal, holder)


async def who_is_behind(database: Database, tenant: TenantId, principals: Collection[UUID]) -> set[UUID]:
    async with database.transaction(tenant) as session:
        holders = SecretHolders(session, tenant)
        return {who for who in PEOPLE if await holders.is_behind(who, principals)}


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    mine=st.lists(st.tuples(ANYBODY, ANYBODY), max_size=12),
    others=st.lists(st.tuples(ANYBODY, ANYBODY), max_size=6),
    principals=st.sets(ANYBODY, max_size=3),
)
async def test_who_is_behind_is_whoever_a_walk_over_the_record_reaches(
    database: Database, mine: list[Held], others: list[Held], principals: set[UUID]
) -> None:
    tenant = await create_tenant(database)
    await record(database, await create_tenant(database), others)
    await record(database, tenant, mine)
    on_record = {principal for principal, holder in mine if principal != holder}
    expected = behind(mine, principals) if principals <= on_record else set(PEOPLE)
    assert await who_is_behind(database, tenant, principals) == expected


async def test_who_is_there_needs_no_record_and_who_is_not_does(database: Database) -> None:
    tenant = await create_tenant(database)
    there, gone, anybody = uuid4(), uuid4(), uuid4()
    made = {"kind": "service", "name": "robot", "clearance": 1, "roles": []}
    async with database.transaction(tenant) as session:
        await PrincipalRows(session, tenant).insert(there, **made)
        holders = SecretHolders(session, tenant)
        assert not await holders.is_behind(anybody, [there])
        assert await holders.is_behind(there, [there])
        assert await holders.is_behind(anybody, [there, gone])
        assert not await holders.is_behind(anybody, [])
