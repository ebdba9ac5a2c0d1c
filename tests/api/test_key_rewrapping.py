"""New keys for a tenant while it works: nothing that was sealed is lost, and the audit tells of it."""

import asyncio
from uuid import UUID

from eai.kernel.ids import TenantId
from tests.stack import Company, Json, Stack


async def rewrapped(company: Company) -> list[Json]:
    events = await company.admin.got("/v1/audit/events", action="tenant.keys.rewrap")
    return list(events["data"])


async def test_a_tenant_gets_new_keys_and_loses_nothing(stack: Stack, company: Company) -> None:
    headers = {"idempotency-key": "before-the-rewrapping"}
    first = await company.admin.post("/v1/groups", json={"name": "Readers"}, headers=headers)
    assert first.status_code == 201

    assert await stack.platform.key_rewrapping.request(TenantId(UUID(company.id))) == 1
    async with asyncio.timeout(30):
        events = await rewrapped(company)
        while not events:
            events = await rewrapped(company)
    assert [event["facts"] for event in events] == [{"epochs": {"idempotency": 2}}]

    again = await company.admin.post("/v1/groups", json={"name": "Readers"}, headers=headers)
    assert again.status_code == 201
    assert again.headers["idempotent-replayed"] == "true"
    assert again.json() == first.json()
    headers = {"idempotency-key": "after-the-rewrapping"}
    second = await company.admin.post("/v1/groups", json={"name": "Writers"}, headers=headers)
    assert (
        await company.admin.post("/v1/groups", json={"name": "Writers"}, headers=headers)
    ).json() == second.json()


async def test_an_unknown_tenant_is_asked_nothing(stack: Stack) -> None:
    assert await stack.platform.key_rewrapping.request(TenantId(UUID(int=1))) == 0
