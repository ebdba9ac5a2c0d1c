"""Each process sees one part and not the other: the API the database, the worker the engine (fault 43)."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import make_url

from tests.conftest import DatabaseUrls
from tests.integration.faults.outages import documents, eventually, ingest, query
from tests.integration.faults.relays import Relay, to_database, to_engine
from tests.integration.faults.test_engine import is_refused
from tests.integration.kills.dying import Order
from tests.integration.kills.mortals import Mortal, Mortals
from tests.integration.kills.surroundings import Surroundings
from tests.invariants import Judge
from tests.stack import Caller, Company, Stack


@dataclass(frozen=True)
class Parted:
    """An API that reaches the engine by one relay, and a worker that reaches the database by another."""

    api: Mortal
    worker: Mortal
    engine: Relay
    database: Relay

    def cut(self) -> None:
        self.engine.cut()
        self.database.cut()

    def mend(self) -> None:
        self.engine.mend()
        self.database.mend()


@pytest.fixture
async def mortals(workless: Stack) -> AsyncIterator[Mortals]:
    """Who is cut off loses nothing to whoever is quicker on a crowded machine."""
    async with Mortals.over(workless.platform.settings, is_patient=True) as made:
        yield made


@pytest.fixture
async def parted(mortals: Mortals, workless: Stack, workless_urls: DatabaseUrls) -> AsyncIterator[Parted]:
    chosen = workless.platform.settings
    async with AsyncExitStack() as stack:
        # Not tmp_path: its name is too long for a socket.
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="eai-")))
        socket = chosen.model_copy(update={"home": home}).engine_socket
        engine = await stack.enter_async_context(to_engine(chosen.engine_socket, socket))
        database, url = await stack.enter_async_context(to_database(make_url(workless_urls.app)))
        through = url.render_as_string(hide_password=False)
        orders = (
            Order("api", surroundings=Surroundings(environ={"EAI_HOME": str(home)})),
            Order("worker", surroundings=Surroundings(environ={"EAI_DATABASE_URL": through})),
        )
        api, worker = [await stack.enter_async_context(mortals.born(order)) for order in orders]
        yield Parted(api, worker, engine, database)


@pytest.mark.timeout(300)
async def test_each_does_what_it_can_without_what_it_does_not_see_and_both_heal(
    parted: Parted, mortals: Mortals, company: Company, judge: Judge
) -> None:
    async with Caller(parted.api.url, company.admin.key) as caller:
        base = await company.base()
        path = f"/v1/knowledge-bases/{base}"
        kept = (await ingest(caller, base, "Kept")).json()["id"]
        doomed = (await ingest(caller, base, "Doomed")).json()["id"]
        await judge.judge(company.id)
        away = mortals.heard("worker.reconnecting")
        parted.cut()
        assert is_refused(await query(caller, base, "refunds"))
        assert is_refused(await ingest(caller, base, "Refused"))
        assert is_refused(await caller.delete(f"{path}/documents/{doomed}"))
        assert (await caller.get(f"{path}/documents/{doomed}")).status_code == 404
        accepted = await ingest(caller, base, "Waiting", prefer="respond-async")
        waiting = accepted.json()
        assert (accepted.status_code, waiting["status"]) == (202, "pending")
        await eventually(lambda: mortals.heard("worker.reconnecting") > away, within_s=90)
        assert set(await documents(caller, base)) == {kept, waiting["id"]}
        job = await caller.got(f"/v1/jobs/{waiting['job_id']}")
        assert (job["state"], job["attempt"]) == ("queued", 0)
        assert [parted.api.is_alive, parted.worker.is_alive] == [True, True]

        parted.mend()
        await judge.judge(company.id)
        shown = await documents(caller, base)
        assert {id_: each["status"] for id_, each in shown.items()} == {kept: "ready", waiting["id"]: "ready"}
        assert (await caller.got(f"/v1/deletion-receipts/{doomed}"))["status"] == "deleted"
        answer = await query(caller, base, "refunds")
        assert {hit["document_id"] for hit in answer.json()["results"]} == {kept, waiting["id"]}
