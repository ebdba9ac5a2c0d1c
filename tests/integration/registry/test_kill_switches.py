import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError

from eai.access.subject import Subject
from eai.gateway.errors import ModelNotFound
from eai.gateway.registry_schemas import KillSwitchPut
from eai.identity.errors import ScopeMissing
from eai.kernel.errors import NotFound, PreconditionFailed
from eai.kernel.ids import PLATFORM_TENANT, TenantId
from tests.factories.registry import Registry

Run = Callable[..., Awaitable[list[Any]]]

HELD = """
    INSERT INTO eai.model_reservations
           (tenant_id, id, model, endpoint, operation, tokens_bound, quotas, state, lease_until)
    VALUES (:tenant, :id, :model, :endpoint, 'query', 1, '[]', :state, :lease)"""
SHARE = "SELECT pg_advisory_xact_lock_shared(eai.kill_switch_lock(:owner))"
WAITING = """
    SELECT count(*) FROM pg_locks
     WHERE locktype = 'advisory' AND NOT granted AND database = (
           SELECT oid FROM pg_database WHERE datname = current_database())"""


async def hold(run: Run, tenant: TenantId, model: str, endpoint: str | None, state: str = "held") -> UUID:
    call = uuid4()
    lease = datetime.now(UTC) + timedelta(minutes=3)
    await run(tenant, HELD, tenant=tenant, id=call, model=model, endpoint=endpoint, state=state, lease=lease)
    return call


async def engaged(run: Run, tenant: TenantId) -> set[str]:
    own = await run(tenant, "SELECT scope FROM eai.kill_switches")
    platforms = await run(tenant, "SELECT scope FROM eai.platform_kill_switches")
    return {scope for (scope,) in [*own, *platforms]}


async def test_a_switch_is_engaged_and_released(registry: Registry, officer: Subject, run: Run) -> None:
    on = await registry.flip(officer, "tenant")
    assert (on.scope, on.engaged, on.reason, on.engaged_by) == ("tenant", True, "a test", officer.principal)
    assert "tenant" in await engaged(run, officer.tenant)
    again = await registry.flip(officer, "tenant", revision=on.revision)
    assert (again.engaged_at, again.revision > on.revision) == (on.engaged_at, True)
    with pytest.raises(PreconditionFailed):
        await registry.flip(officer, "tenant", engaged=False, revision=on.revision)
    off = await registry.flip(officer, "tenant", engaged=False, revision=again.revision)
    assert (off.engaged, off.reason, off.engaged_by, off.engaged_at) == (False, None, None, None)
    assert "tenant" not in await engaged(run, officer.tenant)
    async with registry.database.transaction(officer.tenant) as session:
        assert await registry.switches.get(session, officer, "tenant") == off


async def test_a_flip_is_audited_with_its_reason_beside_the_chain(
    registry: Registry, officer: Subject, run: Run
) -> None:
    await registry.flip(officer, "model:local-hash-256")
    ((resource, body),) = await run(
        officer.tenant,
        """
        SELECT resource_id, convert_from(body, 'UTF8') FROM eai.audit_events
         WHERE action = 'model.kill_switch.set'""",
    )
    assert resource == "model:local-hash-256"
    assert ('"engaged":true' in body, "a test" in body) == (True, False)


async def test_a_tenant_stops_its_own_and_an_operator_everybodys(
    registry: Registry, officer: Subject, stranger: Subject, operator: Subject, run: Run
) -> None:
    endpoint = await registry.endpoint()
    model = await registry.model(officer, endpoint.name)
    await registry.flip(officer, f"model:{model.name}")
    await registry.flip(operator, f"provider:{endpoint.name}")
    try:
        assert await engaged(run, officer.tenant) >= {f"model:{model.name}", f"provider:{endpoint.name}"}
        theirs = await engaged(run, stranger.tenant)
        assert f"provider:{endpoint.name}" in theirs
        assert f"model:{model.name}" not in theirs
    finally:
        await registry.flip(operator, f"provider:{endpoint.name}", engaged=False)


async def test_who_may_not_flip_is_told_so_whatever_exists(
    registry: Registry, officer: Subject, operator: Subject
) -> None:
    endpoint = await registry.endpoint()
    for scope in ("instance", f"provider:{endpoint.name}", "provider:nobody"):
        with pytest.raises(ScopeMissing) as missing:
            await registry.flip(officer, scope)
        assert missing.value.details == {"scopes": ["platform:admin"]}
    for scope in ("tenant", "model:local-hash-256", "model:none"):
        with pytest.raises(ScopeMissing) as missing:
            await registry.flip(operator, scope)
        assert missing.value.details == {"scopes": ["models:admin"]}


@pytest.mark.parametrize(
    "scope", ["", "x", "model:", "model:none", "model:\0", "Tenant", "tenant:x", "model"]
)
async def test_what_is_no_scope_does_not_exist(registry: Registry, officer: Subject, scope: str) -> None:
    with pytest.raises(NotFound):
        await registry.flip(officer, scope)


async def test_another_tenants_model_has_no_switch_here(
    registry: Registry, officer: Subject, stranger: Subject, operator: Subject
) -> None:
    endpoint = await registry.endpoint()
    theirs = await registry.model(stranger, endpoint.name)
    with pytest.raises(NotFound):
        await registry.flip(officer, f"model:{theirs.name}")
    wanted = KillSwitchPut(engaged=True, reason="x")
    with pytest.raises(ModelNotFound):
        async with registry.database.transaction(officer.tenant) as session:
            await registry.switches.set_of_model(session, officer, theirs.name, wanted)
    with pytest.raises(NotFound):
        await registry.flip(operator, "provider:nobody")


async def test_a_flip_lists_the_calls_of_its_scope(
    registry: Registry, officer: Subject, stranger: Subject, operator: Subject, run: Run
) -> None:
    endpoint = await registry.endpoint()
    model = await registry.model(officer, endpoint.name)
    one = await hold(run, officer.tenant, model.name, endpoint.name)
    other = await hold(run, officer.tenant, "local-hash-256", None)
    theirs = await hold(run, stranger.tenant, "their-own", endpoint.name)
    await hold(run, officer.tenant, model.name, endpoint.name, state="settled")

    def calls(flipped: Any) -> list[tuple[UUID, str]]:
        return [(call.id, call.model) for call in flipped.in_flight]

    assert calls(await registry.flip(officer, f"model:{model.name}")) == [(one, model.name)]
    assert calls(await registry.flip(officer, "tenant")) == [(one, model.name), (other, "local-hash-256")]
    everybodys = await registry.flip(operator, f"provider:{endpoint.name}")
    assert calls(everybodys) == [(one, model.name), (theirs, "their-own")]
    assert set(everybodys.in_flight[0].model_dump()) == {"id", "model", "since"}
    all_of_them = {call for call, _ in calls(await registry.flip(operator, "instance", engaged=False))}
    assert all_of_them >= {one, other, theirs}
    await registry.flip(operator, f"provider:{endpoint.name}", engaged=False)


async def test_a_flip_waits_for_the_reservations_before_it_and_stops_those_after(
    registry: Registry, officer: Subject, run: Run
) -> None:
    begun = asyncio.Event()
    finish = asyncio.Event()
    call = uuid4()

    async def reservation() -> None:
        async with registry.database.transaction(officer.tenant) as session:
            await session.execute(text(SHARE), {"owner": officer.tenant})
            begun.set()
            await finish.wait()
            lease = datetime.now(UTC) + timedelta(minutes=3)
            values = {"tenant": officer.tenant, "id": call, "model": "m", "endpoint": None, "state": "held"}
            await session.execute(text(HELD), {**values, "lease": lease})

    reserving = asyncio.create_task(reservation())
    await begun.wait()
    flipping = asyncio.create_task(registry.flip(officer, "tenant"))
    while (await run(officer.tenant, WAITING))[0][0] == 0:  # noqa: ASYNC110 nobody signals that a lock is waited for
        await asyncio.sleep(0.01)
    assert not flipping.done()
    finish.set()
    await reserving
    assert [found.id for found in (await flipping).in_flight] == [call]


async def test_calls_of_all_tenants_are_told_to_the_platform_alone(officer: Subject, run: Run) -> None:
    asking = "SELECT * FROM eai.calls_in_flight(NULL)"
    with pytest.raises(ProgrammingError, match="the platform is not bound"):
        await run(officer.tenant, asking)
    await run(PLATFORM_TENANT, asking)


async def test_a_tenant_flips_no_switch_of_the_platform(officer: Subject, run: Run) -> None:
    with pytest.raises(ProgrammingError, match="row-level security"):
        await run(
            officer.tenant, "INSERT INTO eai.platform_kill_switches (scope, reason) VALUES ('instance', 'x')"
        )
    released = "DELETE FROM eai.platform_kill_switches RETURNING scope"
    assert await run(officer.tenant, released) == []
