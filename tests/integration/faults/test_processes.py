"""Workers and API processes are killed or frozen at every point of a document (faults 1, 3, 4, 5, 30)."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from uuid import UUID, uuid4

import httpx2
import numpy as np
import psycopg
import pytest
from psycopg import sql

from eai.access.rights_class import generation_key
from eai.kernel.ids import DocumentId, GenerationId, PointId, TenantId, VersionId
from eai.knowledge.ports import SpaceId
from eai.platform.migrate import migrate
from tests.factories.vectors import point as made_up
from tests.integration.faults.dying import SLOW
from tests.integration.faults.mortals import FATAL, Mortals
from tests.integration.faults.outages import (
    HASTE,
    Victim,
    documents,
    eventually,
    ingest,
    let_leases_run_out,
    query,
)
from tests.invariants import Judge
from tests.stack import Caller, Company, Json, Stack, running_stack, settings

POINTS = ["embed", "ensure_space", "upsert", "count", "commit", "committed"]
REINDEX_POINTS = [*POINTS[:1], *POINTS[2:], "count@3", "commit@3", "committed@3"]
"""The third count from the middle one of three documents on is that of the flip."""


@pytest.fixture(scope="session")
async def workless(victim: Victim) -> AsyncIterator[Stack]:
    """A product of its own whose workers are the tests' to start."""
    app, admin = _workless(victim.server.app_url), _workless(victim.server.admin_url)
    async with await psycopg.AsyncConnection.connect(victim.server.admin_url, autocommit=True) as connection:
        await connection.execute(sql.SQL("CREATE DATABASE workless"))
        # As much less than the lease as in the product.
        await connection.execute(
            "ALTER ROLE eai_app IN DATABASE workless SET idle_in_transaction_session_timeout = '1500ms'"
        )
    await migrate(admin, app)
    chosen = settings(app, victim.home / "workless")
    async with running_stack(chosen, pace=HASTE, is_working=False) as running:
        yield running


@pytest.fixture(scope="session")
async def mortals(workless: Stack) -> AsyncIterator[Mortals]:
    """Who makes processes that die."""
    async with Mortals.over(workless.platform.settings) as made:
        yield made


@pytest.fixture
async def company(workless: Stack) -> Company:
    return await workless.company()


@pytest.fixture
def judge(workless: Stack, victim: Victim) -> Judge:
    return Judge(_workless(victim.server.admin_url), workless.platform.vectors)


async def test_another_worker_finishes_what_a_killed_one_began(
    mortals: Mortals, company: Company, judge: Judge
) -> None:
    base = await company.base()
    for point in POINTS:
        made = await ingest(company.admin, base, f"{FATAL}{point}", prefer="respond-async")
        assert made.status_code == 202
        async with mortals.born("worker", point, fatal=f"{FATAL}{point}") as worker:
            await worker.dies()
    async with mortals.born("worker"):
        await judge.judge(company.id, within_s=HASTE.lease_s + 10)
    shown = await documents(company.admin, base)
    assert {each["title"]: each["status"] for each in shown.values()} == {
        f"{FATAL}{point}": "ready" for point in POINTS
    }


async def test_a_text_that_kills_every_worker_fails_and_the_others_do_not(
    mortals: Mortals, company: Company, judge: Judge
) -> None:
    base = await company.base()
    slow = [f"{SLOW} {number}" for number in range(3)]
    for title in [*slow, FATAL]:
        await ingest(company.admin, base, title, prefer="respond-async")
    for _ in range(3):
        async with mortals.born("worker", "embed") as worker:
            await worker.dies()
        await let_leases_run_out(judge.admin_url, company.id)
    async with mortals.born("worker", "embed") as worker:
        await judge.judge(company.id)
        assert worker.is_alive
    shown = {each["title"]: each for each in (await documents(company.admin, base)).values()}
    assert {title: shown[title]["status"] for title in slow} == dict.fromkeys(slow, "ready")
    assert (shown[FATAL]["status"], shown[FATAL]["error"]["code"]) == ("failed", "job_failed")


async def test_a_replacement_outlives_its_workers_and_fails_when_it_kills_three(
    mortals: Mortals, company: Company, judge: Judge
) -> None:
    base = await company.base()
    survivor, poisoned = [
        f"/v1/knowledge-bases/{base}/documents/{await company.document(base, f'Old {n}.')}" for n in range(2)
    ]
    assert (await company.admin.put(survivor, json={"content": f"New {FATAL}1"})).status_code == 202
    async with mortals.born("worker", "commit", fatal=f"{FATAL}1") as worker:
        await worker.dies()
    assert (await company.admin.put(poisoned, json={"content": f"New {FATAL}2"})).status_code == 202
    await let_leases_run_out(judge.admin_url, company.id)
    for _ in range(3):
        async with mortals.born("worker", "embed", fatal=f"{FATAL}2") as worker:
            await worker.dies()
        await let_leases_run_out(judge.admin_url, company.id)
    async with mortals.born("worker", "embed", fatal=f"{FATAL}2") as worker:
        await judge.judge(company.id)
        assert worker.is_alive
    assert (await company.admin.got(survivor))["version"] == "2"
    shown = await company.admin.got(poisoned)
    assert (shown["version"], shown["status"]) == ("1", "ready")
    assert shown["pending_version"]["error"]["code"] == "job_failed"


async def test_workers_that_froze_past_their_lease_change_nothing(
    mortals: Mortals, company: Company, judge: Judge
) -> None:
    base, fenced = await company.base(), mortals.heard("job.fenced")
    kept, gone = set[str](), set[str]()
    async with AsyncExitStack() as frozen:
        for number, (point, those) in enumerate(
            [
                ("ensure_space", kept),
                ("count", kept),
                ("commit", kept),
                ("ensure_space", gone),
                ("count", gone),
            ]
        ):
            word = f"{FATAL}{number}"
            made = await ingest(company.admin, base, word, prefer="respond-async")
            those.add(made.json()["id"])
            zombie = await frozen.enter_async_context(mortals.born("worker", point, "STOP", word))
            await zombie.freezes()
        async with mortals.born("worker"):
            await judge.judge(company.id)
            for document in gone:
                answer = await company.admin.delete(f"/v1/knowledge-bases/{base}/documents/{document}")
                assert answer.json()["status"] == "deleted"
            for zombie in mortals.alive():
                zombie.go_on()
            await eventually(lambda: mortals.heard("job.fenced") >= fenced + 5)
            await judge.judge(company.id)
    assert set(await documents(company.admin, base)) == kept


@pytest.mark.parametrize("point", ["ensure_space", "commit", "committed"])
async def test_a_repetition_finds_what_an_api_that_was_killed_had_done(
    mortals: Mortals, company: Company, judge: Judge, victim: Victim, point: str
) -> None:
    base, key = await company.base(), str(uuid4())
    async with mortals.born("api", point) as api, Caller(api.url, company.admin.key) as caller:
        with pytest.raises(httpx2.TransportError):
            await ingest(caller, base, FATAL, key=key)
    early = await ingest(company.admin, base, FATAL, key=key)
    assert (early.status_code, early.json()["error"]["code"]) == (409, "idempotency_in_progress")
    await let_the_key_go(victim, company)
    again = await ingest(company.admin, base, FATAL, key=key)
    assert again.status_code == (201 if point == "committed" else 202)
    async with mortals.born("worker"):
        await judge.judge(company.id)
    replayed = await ingest(company.admin, base, FATAL, key=key)
    assert replayed.json() == again.json()
    shown = await documents(company.admin, base)
    assert {id_: each["status"] for id_, each in shown.items()} == {again.json()["id"]: "ready"}


async def test_a_reindex_goes_on_where_a_killed_worker_left_it(
    mortals: Mortals, company: Company, judge: Judge
) -> None:
    reindexes: dict[str, Json] = {}
    for point in REINDEX_POINTS:
        base = await company.base()
        for title in ("First", f"{FATAL}{point}.", "Last"):
            assert (await ingest(company.admin, base, title)).status_code == 201
        reindexes[base] = await company.admin.made(f"/v1/knowledge-bases/{base}/reindex", {}, status=202)
        async with mortals.born("worker", point, fatal=f"{FATAL}{point}.") as worker:
            await worker.dies()
        assert len((await query(company.admin, base, "refunds")).json()["results"]) == 3
    async with mortals.born("worker"):
        await judge.judge(company.id, within_s=HASTE.lease_s + 15)
    for base, job in reindexes.items():
        shown = await company.admin.got(f"/v1/knowledge-bases/{base}/reindex-jobs/{job['job_id']}")
        assert (shown["status"], shown["documents_done"]) == ("completed", 3)
        now = await company.admin.got(f"/v1/knowledge-bases/{base}")
        assert now["vector_generation"] == job["to"]["generation"]
        assert len((await query(company.admin, base, "refunds")).json()["results"]) == 3


async def test_a_reindex_that_kills_every_worker_leaves_the_former_generation(
    mortals: Mortals, company: Company, judge: Judge
) -> None:
    base = await company.base()
    for title in ("First", FATAL):
        await ingest(company.admin, base, title)
    job = await company.admin.made(f"/v1/knowledge-bases/{base}/reindex", {}, status=202)
    for _ in range(3):
        async with mortals.born("worker", "upsert") as worker:
            await worker.dies()
        await let_leases_run_out(judge.admin_url, company.id)
    async with mortals.born("worker", "upsert") as worker:
        await judge.judge(company.id)
        assert worker.is_alive
    shown = await company.admin.got(f"/v1/knowledge-bases/{base}/reindex-jobs/{job['job_id']}")
    assert (shown["status"], shown["error"]["code"]) == ("failed", "job_failed")
    now = await company.admin.got(f"/v1/knowledge-bases/{base}")
    assert now["vector_generation"] == job["from"]["generation"]


async def test_what_a_killed_reindex_wrote_of_a_document_that_went_is_cleared(
    mortals: Mortals, workless: Stack, company: Company, judge: Judge
) -> None:
    base = await company.base()
    gone = (await ingest(company.admin, base, FATAL)).json()["id"]
    await ingest(company.admin, base, "Kept")
    path = f"/v1/knowledge-bases/{base}"
    (version,) = (await company.admin.got(f"{path}/documents/{gone}/versions"))["data"]
    job = await company.admin.made(f"{path}/reindex", {}, status=202)
    async with mortals.born("worker", "upsert") as worker:
        await worker.dies()
    assert (await company.admin.delete(f"{path}/documents/{gone}")).json()["status"] == "deleted"
    # As if it had been killed a moment later, when the document had been deleted already.
    key = generation_key(TenantId(UUID(company.id)), GenerationId(UUID(job["to"]["generation"])))
    stray = replace(
        made_up(1, np.ones(256, np.float32), rights=f"{key}:1"),
        id=PointId(uuid4()),
        document=DocumentId(UUID(gone)),
        version=VersionId(UUID(version["id"])),
    )
    space = SpaceId(job["to"]["collection"], 256)
    await workless.platform.vectors.upsert(space, [stray])
    await let_leases_run_out(judge.admin_url, company.id)
    async with mortals.born("worker"):
        await judge.judge(company.id)


async def test_reindexes_that_froze_past_their_lease_change_nothing(
    mortals: Mortals, company: Company, judge: Judge
) -> None:
    fenced, zombies = mortals.heard("job.fenced"), AsyncExitStack()
    completed, cancelled = [], []
    async with zombies:
        for number, (point, those) in enumerate(
            [("upsert", completed), ("commit", completed), ("upsert", cancelled), ("commit", cancelled)]
        ):
            base, word = await company.base(), f"{FATAL}{number}"
            await ingest(company.admin, base, "First")
            frozen = (await ingest(company.admin, base, word)).json()["id"]
            path = f"/v1/knowledge-bases/{base}"
            job = await company.admin.made(f"{path}/reindex", {}, status=202)
            zombie = await zombies.enter_async_context(mortals.born("worker", point, "STOP", word))
            await zombie.freezes()
            those.append((base, frozen))
            if those is cancelled:
                # What froze within a transaction holds its job until the database lets it go.
                await company.admin.made(f"{path}/reindex-jobs/{job['job_id']}/cancel", {}, status=200)
        async with mortals.born("worker"):
            await judge.judge(company.id)
            for base, frozen in completed:
                gone = await company.admin.delete(f"/v1/knowledge-bases/{base}/documents/{frozen}")
                assert gone.json()["status"] == "deleted"
            for zombie in mortals.alive():
                zombie.go_on()
            await eventually(lambda: mortals.heard("job.fenced") >= fenced + 4)
            await judge.judge(company.id)
    for base, _ in cancelled:
        assert len((await query(company.admin, base, "refunds")).json()["results"]) == 2


async def test_a_generation_is_dropped_whoever_dies_over_it(
    mortals: Mortals, workless: Stack, company: Company, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workless.platform.generation_dropping, "_grace_s", 0)
    base = await company.base()
    await ingest(company.admin, base, "First")
    job = await company.admin.made(f"/v1/knowledge-bases/{base}/reindex", {}, status=202)
    async with mortals.born("worker"):
        await judge.judge(company.id)
    assert await workless.platform.generation_dropping.drop_retired(TenantId(UUID(company.id))) == 1
    for point in ("delete", "commit@2"):
        async with mortals.born("worker", point, fatal="*") as worker:
            await worker.dies()
        await let_leases_run_out(judge.admin_url, company.id)
    async with mortals.born("worker"):
        await judge.judge(company.id)
    async with await psycopg.AsyncConnection.connect(judge.admin_url) as connection:
        left = await connection.execute(
            "SELECT count(*) FROM eai.kb_generations WHERE id = %s", [job["from"]["generation"]]
        )
        assert await left.fetchone() == (0,)
    assert len((await query(company.admin, base, "refunds")).json()["results"]) == 1


async def let_the_key_go(victim: Victim, company: Company) -> None:
    """As if the minute had passed for which a request that was begun counts as running."""
    async with await psycopg.AsyncConnection.connect(_workless(victim.server.admin_url)) as connection:
        await connection.execute(
            "UPDATE eai.idempotency_records SET lease_until = now() WHERE tenant_id = %s", [company.id]
        )


def _workless(url: str) -> str:
    return url.replace("/eai?", "/workless?")
