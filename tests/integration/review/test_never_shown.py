"""A held or rejected document is in no answer, whichever way is tried: attack line 32."""

import asyncio
from uuid import UUID

import pytest

from eai.access.rights_class import generation_key
from eai.integrity.mending_rows import MendingRows
from eai.kernel.ids import DocumentId, GenerationId, JobId, TenantId, VersionId, chunk_id
from eai.knowledge.ports import Selector, SpaceId
from eai.platform.database import Database
from tests.api.test_reindex_routes import ended, reindex
from tests.integration.review.holding import ORDER, RULES, Desk
from tests.invariants import Judge
from tests.stack import Stack

TEXT = f"Zanzibar has a counter. {ORDER}"


@pytest.fixture(params=["held", "rejected"])
async def unseen(request: pytest.FixtureRequest, desk: Desk) -> str:
    """A document that nobody may read, beside one that answers."""
    await desk.submit(RULES)
    document = await desk.held(TEXT)
    if request.param == "rejected":
        await desk.decided(document, "reject")
    return document


async def points_of(stack: Stack, desk: Desk, document: str) -> int:
    """How many points of the document the engine counts in the generation that is searched."""
    base = await desk.company.admin.got(f"/v1/knowledge-bases/{desk.base}")
    key = generation_key(TenantId(UUID(desk.company.id)), GenerationId(UUID(base["vector_generation"])))
    space = SpaceId(base["vector_collection"], base["dimensions"])
    return await stack.platform.vectors.count(space, Selector(key, document=DocumentId(UUID(document))))


@pytest.mark.parametrize("mode", ["hybrid", "vector", "keyword"])
async def test_no_question_finds_it(desk: Desk, unseen: str, mode: str) -> None:
    assert unseen not in await desk.ask("Zanzibar has a counter", mode=mode)
    assert len(await desk.ask("parcel", mode="vector")) == 1


async def test_neither_its_text_nor_a_passage_of_it_can_be_opened(
    desk: Desk, unseen: str, stack: Stack
) -> None:
    versions = (await desk.author.api.got(f"{desk.path(unseen)}/versions"))["data"]
    version = VersionId(UUID(versions[0]["id"]))
    guessed = chunk_id(DocumentId(UUID(unseen)), version, 0, len(TEXT))
    for reader in (desk.author.api, desk.company.admin):
        for path in ("content", f"chunks/{guessed}"):
            answer = await reader.get(f"{desk.path(unseen)}/{path}")
            assert answer.status_code == 404
            assert "Zanzibar" not in answer.text
    listed = await desk.author.api.got(desk.path())
    assert "Zanzibar" not in str(listed)
    assert await points_of(stack, desk, unseen) == 0


async def test_a_reindex_leaves_it_where_it_is(desk: Desk, unseen: str, stack: Stack, judge: Judge) -> None:
    before = await desk.author.api.got(desk.path(unseen))
    job = await reindex(desk.company, desk.base, chunk_size=500)
    assert (await ended(desk.company.admin, desk.base, job))["status"] == "completed"
    assert await points_of(stack, desk, unseen) == 0
    assert unseen not in await desk.ask("Zanzibar has a counter")
    after = await desk.author.api.got(desk.path(unseen))
    assert after["status"] == before["status"] != "ready"
    await judge.judge(desk.company.id)


async def test_a_repair_leaves_it_where_it_is(desk: Desk, unseen: str, stack: Stack, judge: Judge) -> None:
    tenant, platform = TenantId(UUID(desk.company.id)), stack.platform
    job = await platform.integrity_jobs.queue_repair(tenant, is_deep=True)
    assert job is not None
    await _done(platform.database, tenant, job)
    assert await points_of(stack, desk, unseen) == 0
    assert unseen not in await desk.ask("Zanzibar has a counter")
    assert (await desk.author.api.got(desk.path(unseen)))["status"] != "ready"
    report = await platform.integrity.examine(tenant, is_deep=True)
    assert report.report.findings == ()
    await judge.judge(desk.company.id)


async def test_a_held_document_that_is_released_during_a_reindex_is_in_the_new_generation(
    desk: Desk, stack: Stack, judge: Judge
) -> None:
    document = await desk.held(TEXT)
    job = await reindex(desk.company, desk.base, chunk_size=500)
    await desk.released(document)
    assert (await ended(desk.company.admin, desk.base, job))["status"] == "completed"
    assert await points_of(stack, desk, document) == 1
    await judge.judge(desk.company.id)


async def test_the_export_of_the_audit_holds_nothing_of_its_text(desk: Desk, unseen: str) -> None:
    exported = await desk.company.admin.get("/v1/audit/export")
    assert exported.status_code == 200
    assert unseen in exported.text
    assert "Zanzibar" not in exported.text


async def _done(database: Database, tenant: TenantId, job: JobId) -> None:
    """Return when the worker has done the job."""
    async with asyncio.timeout(30):
        while True:
            async with database.transaction(tenant) as session:
                state = await MendingRows(session, tenant).state_of(job)
            if state == "completed":
                return
            await asyncio.sleep(0.05)
