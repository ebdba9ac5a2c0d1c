"""An erasure that is to go no further: cancelled, or asked for by somebody who may not any more."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import psycopg
import pytest

from eai.privacy import erasing
from eai.privacy.outcomes import Look, Task
from eai.privacy.text_rows import DocumentState
from eai.privacy.texts import Texts
from tests.api.test_privacy_routes import ERASURES, MAIL, both_wait, ended, found, officer, state
from tests.conftest import DatabaseUrls
from tests.integration.faults.outages import eventually, let_leases_run_out
from tests.stack import Company, Json, Person

__all__ = ["officer"]


@dataclass(frozen=True)
class Halted:
    """An erasure that has removed two documents of five, and waits for the third."""

    id: str
    base: str
    documents: list[str]
    blocker: int = 0
    """The session that it waits for."""


@asynccontextmanager
async def halted(company: Company, officer: Person, admin_url: str) -> AsyncIterator[Halted]:
    base = await company.base()
    there = sorted([await company.document(base, f"Refunds of {day} go to {MAIL}.") for day in "abcde"])
    body = {"action": "remove", "identifiers": [MAIL], "reason": "Case 17"}
    with psycopg.connect(admin_url) as blocker:
        blocker.execute("SELECT FROM eai.kb_documents WHERE id = %s FOR UPDATE", [there[2]])
        made = await officer.api.made(ERASURES, body, status=202)
        erasure = Halted(made["id"], base, there, blocker.info.backend_pid)
        await eventually(lambda: waits(admin_url, erasure))
        yield erasure


_WAITING = "SELECT {} FROM pg_stat_activity WHERE %s = ANY (pg_blocking_pids(pid))"


def waits(admin_url: str, halted: Halted) -> bool:
    with psycopg.connect(admin_url, autocommit=True) as admin:
        return admin.execute(_WAITING.format("pid"), [halted.blocker]).fetchone() is not None


def kill_whoever_waits(admin_url: str, halted: Halted) -> None:
    """Cut the connection of the attempt that waits, and return when it is gone."""
    with psycopg.connect(admin_url, autocommit=True) as admin:
        killed = admin.execute(_WAITING.format("pg_terminate_backend(pid, 10000)"), [halted.blocker])
        assert killed.fetchall() == [(True,)]


async def left(company: Company, halted: Halted) -> list[bool]:
    return [await state(company, halted.base, document) == 200 for document in halted.documents]


async def test_a_cancelled_erasure_ends_after_the_document_it_is_at(
    company: Company, officer: Person, stack_urls: DatabaseUrls
) -> None:
    async with halted(company, officer, stack_urls.admin) as erasure:
        path = f"{ERASURES}/{erasure.id}"
        cancelling = asyncio.create_task(officer.api.made(f"{path}/cancel", {}, status=200))
        await eventually(lambda: both_wait(stack_urls.admin))
    shown = await cancelling
    assert (shown["state"], shown["documents"]) == ("cancelled", {"removed": 3})
    assert await left(company, erasure) == [False, False, False, True, True]
    again = await officer.api.made(f"{path}/cancel", {}, status=200)
    assert again == shown
    events = (await company.admin.got("/v1/audit/events", action="privacy.erasure.cancel"))["data"]
    assert [event["resource"]["id"] for event in events] == [erasure.id]
    with psycopg.connect(stack_urls.admin) as admin:
        kept = admin.execute("SELECT identifiers FROM eai.privacy_erasures WHERE id = %s", [erasure.id])
        assert kept.fetchall() == [(None,)]


async def test_who_may_not_see_an_erasure_cannot_cancel_it(company: Company, officer: Person) -> None:
    body = {"action": "find", "identifiers": [MAIL], "reason": "Case 17"}
    made = await officer.api.made(ERASURES, body, status=202)
    lower = await company.person("data_steward", clearance="internal")
    answer = await lower.api.post(f"{ERASURES}/{made['id']}/cancel")
    assert answer.status_code == 404
    assert (await ended(officer, made["id"]))["state"] == "completed"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"suspended": True}, "failed"),
        ({"roles": ["member"]}, "failed"),
        ({"clearance": "public"}, "completed"),
    ],
)
async def test_an_erasure_goes_as_far_as_whoever_asked_could_ask_now(
    company: Company, officer: Person, stack_urls: DatabaseUrls, change: Json, expected: str
) -> None:
    watching = await company.person("data_steward", clearance="confidential")
    async with halted(company, officer, stack_urls.admin) as erasure:
        answer = await company.admin.patch(f"/v1/principals/{officer.id}", json=change)
        assert answer.status_code == 200, answer.text
    shown = await ended(watching, erasure.id)
    assert (shown["state"], shown["documents"]) == (expected, {"removed": 2})
    assert await left(company, erasure) == [False, False, True, True, True]
    if expected == "failed":
        (event,) = (await company.admin.got("/v1/audit/events", action="privacy.erasure.failed"))["data"]
        assert event["facts"]["code"] == "erasure_not_permitted"


async def test_an_erasure_ends_with_the_key_that_asked_for_it(
    company: Company, officer: Person, stack_urls: DatabaseUrls
) -> None:
    watching = await company.person("data_steward", clearance="confidential")
    (key,) = (await company.admin.got("/v1/api-keys", principal_id=officer.id))["data"]
    async with halted(company, officer, stack_urls.admin) as erasure:
        assert (await company.admin.delete(f"/v1/api-keys/{key['id']}")).status_code == 204
    shown = await ended(watching, erasure.id)
    assert (shown["state"], shown["documents"]) == ("failed", {"removed": 2})
    assert await left(company, erasure) == [False, False, True, True, True]


def attempts(admin_url: str, tenant: str) -> int:
    with psycopg.connect(admin_url) as admin:
        statement = "SELECT attempt FROM eai.jobs WHERE tenant_id = %s AND name = 'privacy.erase'"
        ((attempt,),) = admin.execute(statement, [tenant]).fetchall()
    return int(attempt)


async def each_counts_once(company: Company, officer: Person, halted: Halted) -> None:
    shown = await ended(officer, halted.id)
    assert (shown["state"], shown["documents_searched"]) == ("completed", 5)
    assert shown["documents"] == {"removed": 5}
    assert sorted(await found(officer, shown)) == halted.documents
    events = (await company.admin.got("/v1/audit/events", action="privacy.document.found"))["data"]
    assert [event["resource"]["id"] for event in events] == halted.documents
    assert await left(company, halted) == [False] * 5


async def test_each_document_counts_once_where_an_attempt_dies(
    company: Company, officer: Person, stack_urls: DatabaseUrls
) -> None:
    async with halted(company, officer, stack_urls.admin) as erasure:
        kill_whoever_waits(stack_urls.admin, erasure)
        await eventually(lambda: attempts(stack_urls.admin, company.id) == 2)
        await eventually(lambda: waits(stack_urls.admin, erasure))
    await each_counts_once(company, officer, erasure)


async def test_each_document_counts_once_where_an_attempt_wakes_up_after_another_has_begun(
    company: Company, officer: Person, stack_urls: DatabaseUrls, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = await company.base()
    there = sorted([await company.document(base, f"Refunds of {day} go to {MAIL}.") for day in "abcde"])
    look_at, is_frozen, go_on = erasing.look_at, asyncio.Event(), asyncio.Event()

    async def freezing(texts: Texts, task: Task, document: DocumentState) -> Look:
        look = await look_at(texts, task, document)
        if str(document.row.id) == there[2] and not is_frozen.is_set():
            is_frozen.set()
            await go_on.wait()
        return look

    async def is_taken_over() -> bool:
        await let_leases_run_out(stack_urls.admin, company.id)
        return attempts(stack_urls.admin, company.id) == 2

    monkeypatch.setattr(erasing, "look_at", freezing)
    body = {"action": "remove", "identifiers": [MAIL], "reason": "Case 17"}
    made = await officer.api.made(ERASURES, body, status=202)
    await is_frozen.wait()
    await eventually(is_taken_over)
    go_on.set()
    await each_counts_once(company, officer, Halted(made["id"], base, there))
