"""An examination beside everything else that goes on raises no false alarm, and a repair does no harm."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from itertools import count
from uuid import UUID

import pytest

from eai.integrity.mending_rows import MendingRows
from eai.kernel.ids import PLATFORM_TENANT, JobId, TenantId
from tests.conftest import fresh_database
from tests.stack import Company, Stack, running_stack, settings

ROUNDS = 6


@pytest.fixture(scope="module")
async def busy(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    with fresh_database() as urls:
        async with running_stack(settings(urls.app, tmp_path_factory.mktemp("home"))) as stack:
            yield stack


async def _comes_and_goes(company: Company, base: str, who: int) -> None:
    """Documents that are made, given other readers, and deleted again, without a pause."""
    path = f"/v1/knowledge-bases/{base}/documents"
    me = (await company.admin.got("/v1/me"))["principal"]["id"]
    for number in count():
        text = f"Parcel {who}.{number} is refunded.\n\n" * 20
        document = await company.document(base, text, title=f"{who}.{number}")
        rights = {"readers": [f"user:{me}"] if number % 2 else [], "reason": "because"}
        assert (await company.admin.put(f"{path}/{document}/acl", json=rights)).is_success
        if number % 3:
            assert (await company.admin.delete(f"{path}/{document}")).is_success
        await company.admin.made(f"/v1/knowledge-bases/{base}/query", {"query": "parcel"}, status=200)


async def _bases_come_and_go(company: Company) -> None:
    while True:
        base = await company.base()
        await company.document(base, "A page of a base that does not stay.")
        assert (await company.admin.delete(f"/v1/knowledge-bases/{base}")).is_success


async def _completed(busy: Stack, tenant: TenantId, job: JobId) -> None:
    async with asyncio.timeout(60):
        while True:
            async with busy.platform.database.transaction(tenant) as session:
                if await MendingRows(session, tenant).state_of(job) == "completed":
                    return
            await asyncio.sleep(0.05)


async def test_nothing_is_found_while_documents_come_and_go(busy: Stack) -> None:
    company = await busy.company()
    base = await company.base()
    tenant = TenantId(UUID(company.id))
    going = [asyncio.create_task(_comes_and_goes(company, base, who)) for who in range(3)]
    going.append(asyncio.create_task(_bases_come_and_go(company)))
    integrity, jobs = busy.platform.integrity, busy.platform.integrity_jobs
    try:
        for number in range(ROUNDS):
            for whose in (tenant, PLATFORM_TENANT):
                examination = await integrity.examine(whose, is_deep=number % 4 == 0)
                assert examination.report.findings == ()
                assert examination.failed == ()
            if number % 4 == 1 and (job := await jobs.queue_repair(tenant, is_deep=False)):
                await _completed(busy, tenant, job)
            assert [task for task in going if task.done()] == []
    finally:
        for task in going:
            task.cancel()
        for task in going:
            with suppress(asyncio.CancelledError):
                await task
