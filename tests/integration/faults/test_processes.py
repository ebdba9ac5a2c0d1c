"""Workers and API processes are killed or frozen at every point of a document (faults 1, 3, 4, 5, 30)."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from uuid import uuid4

import httpx2
import psycopg
import pytest
from psycopg import sql

from eai.platform.migrate import migrate
from tests.integration.faults.dying import SLOW
from tests.integration.faults.mortals import FATAL, Mortals
from tests.integration.faults.outages import HASTE, Victim, documents, eventually, ingest, let_leases_run_out
from tests.invariants import Judge
from tests.stack import Caller, Company, Stack, running_stack, settings

POINTS = ["embed", "ensure_space", "upsert", "count", "commit", "committed"]


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


async def let_the_key_go(victim: Victim, company: Company) -> None:
    """As if the minute had passed for which a request that was begun counts as running."""
    async with await psycopg.AsyncConnection.connect(_workless(victim.server.admin_url)) as connection:
        await connection.execute(
            "UPDATE eai.idempotency_records SET lease_until = now() WHERE tenant_id = %s", [company.id]
        )


def _workless(url: str) -> str:
    return url.replace("/eai?", "/workless?")
