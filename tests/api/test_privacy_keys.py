"""What an erasure looks for outlives the key that it was sealed under."""

from uuid import UUID

import psycopg

from eai.kernel.ids import TenantId
from tests.api.test_key_rewrapping import rewrapped
from tests.api.test_privacy_routes import ended, found, officer
from tests.api.test_privacy_stopping import halted, kill_whoever_waits, left, waits
from tests.conftest import DatabaseUrls
from tests.integration.faults.outages import eventually
from tests.stack import Company, Person, Stack

__all__ = ["officer"]


def epoch_of(urls: DatabaseUrls, erasure: str) -> int | None:
    with psycopg.connect(urls.admin) as admin:
        statement = "SELECT substr(identifiers, 1, 4) FROM eai.privacy_erasures WHERE id = %s"
        row = admin.execute(statement, [erasure]).fetchone()
    return None if row is None or row[0] is None else int.from_bytes(row[0])


async def test_an_erasure_goes_on_under_a_new_key_and_after_the_former_one_is_gone(
    stack: Stack, company: Company, officer: Person, stack_urls: DatabaseUrls
) -> None:
    tenant = TenantId(UUID(company.id))
    async with halted(company, officer, stack_urls.admin) as erasure:
        assert epoch_of(stack_urls, erasure.id) == 1
        assert await stack.platform.key_rewrapping.request(tenant) == 1
        await eventually(lambda: rewrapped(company))
        kill_whoever_waits(stack_urls.admin, erasure)
        await eventually(lambda: epoch_of(stack_urls, erasure.id) == 2)
        with psycopg.connect(stack_urls.admin) as admin:
            former = "DELETE FROM eai.tenant_keys WHERE tenant_id = %s AND epoch = 1"
            assert admin.execute(former, [company.id]).rowcount >= 1
        stack.platform.keyring.forget(tenant)
        await eventually(lambda: waits(stack_urls.admin, erasure))
        kill_whoever_waits(stack_urls.admin, erasure)
        await eventually(lambda: waits(stack_urls.admin, erasure))
    shown = await ended(officer, erasure.id)
    assert (shown["state"], shown["documents"]) == ("completed", {"removed": 5})
    assert epoch_of(stack_urls, erasure.id) is None
    assert await left(company, erasure) == [False] * 5
    assert sorted(await found(officer, shown)) == erasure.documents
