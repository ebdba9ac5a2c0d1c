"""Retention over HTTP: what policies have removed and when, and what legal holds keep."""

import asyncio
from uuid import UUID, uuid4

import httpx2
import psycopg
import pytest

from eai.kernel.ids import TenantId
from tests.conftest import DatabaseUrls
from tests.integration.faults.outages import eventually, how_many_wait, somebody_waits
from tests.stack import Company, Json, Person, Stack

POLICIES, HOLDS = "/v1/retention/policies", "/v1/retention/holds"
REASON = {"reason": "Asked for by a court."}


class Calendar:
    """Lets time pass for a tenant's documents, and has the worker look for what is due."""

    def __init__(self, stack: Stack, company: Company, admin_url: str) -> None:
        self.admin_url = admin_url
        self._stack = stack
        self._company = company

    def age(self, document: str, days: float) -> None:
        """As if every text of the document had come in that long ago."""
        with psycopg.connect(self.admin_url, autocommit=True) as admin:
            for table, column in (("kb_documents", "id"), ("kb_document_versions", "document_id")):
                admin.execute(
                    f"UPDATE eai.{table} SET created_at = created_at - %s * interval '1 day'"
                    f" WHERE tenant_id = %s AND {column} = %s",
                    [days, self._company.id, document],
                )

    async def start(self) -> str | None:
        """Queue the look for what is due."""
        job = await self._stack.platform.expiry.queue(TenantId(UUID(self._company.id)))
        return None if job is None else str(job)

    async def look(self) -> int | None:
        """How many documents a look has let expire; None where nothing can be due."""
        job = await self.start()
        return None if job is None else await self.ended(job)

    async def ended(self, job: str) -> int:
        shown = await eventually(lambda: self._closed(job))
        assert shown["state"] == "completed", shown
        return int(shown["progress"]["documents_done"])

    async def _closed(self, job: str) -> Json | None:
        shown = await self._company.admin.got(f"/v1/jobs/{job}")
        return shown if shown["state"] in {"completed", "failed"} else None


@pytest.fixture
def calendar(stack: Stack, company: Company, stack_urls: DatabaseUrls) -> Calendar:
    return Calendar(stack, company, stack_urls.admin)


@pytest.fixture
async def officer(company: Company) -> Person:
    """Sets policies and holds; on no access list, and reads no passage."""
    return await company.person("security_officer", clearance="secret")


@pytest.fixture
async def low(company: Company) -> Person:
    """An officer who may not know of everything that the tenant has."""
    return await company.person("security_officer", clearance="confidential")


def code_of(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def policy(officer: Person, keep_days: int, **target: str) -> Json:
    return await officer.api.made(POLICIES, {"keep_days": keep_days, **target})


async def held(officer: Person, base: str, document: str | None = None) -> Json:
    target = {"knowledge_base_id": base} | ({} if document is None else {"document_id": document})
    return await officer.api.made(HOLDS, {**target, **REASON})


async def state(company: Company, base: str, document: str) -> int:
    return (await company.admin.get(f"/v1/knowledge-bases/{base}/documents/{document}")).status_code


async def test_a_document_goes_when_it_is_due_and_leaves_a_receipt(
    company: Company, calendar: Calendar, officer: Person
) -> None:
    base = await company.base()
    old, young = [await company.document(base, f"Parcels leave at {hour}.") for hour in ("noon", "six")]
    made = await policy(officer, 30, knowledge_base_id=base)
    calendar.age(old, 31)
    calendar.age(young, 29)
    assert await calendar.look() == 1

    assert (await state(company, base, old), await state(company, base, young)) == (404, 200)
    answer = await company.admin.made(f"/v1/knowledge-bases/{base}/query", {"query": "parcels"}, status=200)
    assert {hit["document_id"] for hit in answer["results"]} == {young}
    await eventually(lambda: _is_deleted(company, old))
    receipt = await officer.api.got(f"/v1/deletion-receipts/{old}")
    assert (receipt["vectors_removed"], receipt["vectors_remaining"]) == (1, 0)
    (expired,) = (await officer.api.got("/v1/retention/expirations"))["data"]
    assert (expired["document_id"], expired["knowledge_base_id"], expired["policy_id"]) == (
        old,
        base,
        made["id"],
    )
    assert (expired["keep_days"], expired["classification"], expired["status"]) == (30, "internal", "deleted")
    (event,) = (await company.admin.got("/v1/audit/events", action="retention.document.expire"))["data"]
    assert (event["actor"]["kind"], event["resource"]) == ("system", {"kind": "document", "id": old})
    assert event["facts"]["policy"] == made["id"]
    assert event["facts"]["due_at"].startswith(expired["due_at"][:19])
    assert (await company.admin.got("/v1/audit/verify"))["valid"]


async def test_without_a_policy_nothing_expires(company: Company, calendar: Calendar) -> None:
    base = await company.base()
    document = await company.document(base, "Parcels leave at noon.")
    calendar.age(document, 36_500)
    assert await calendar.look() is None
    assert await state(company, base, document) == 200


async def test_the_most_specific_policy_counts(company: Company, calendar: Calendar, officer: Person) -> None:
    mine, other = await company.base(), await company.base()
    await policy(officer, 10)
    await policy(officer, 20, classification="confidential")
    await policy(officer, 30, knowledge_base_id=mine)
    await policy(officer, 40, knowledge_base_id=mine, classification="confidential")
    terms: dict[str, int] = {}
    for base, level, days in (
        (other, "internal", 10), (other, "confidential", 20), (mine, "internal", 30),
        (mine, "confidential", 40),
    ):  # fmt: skip
        document = await company.document(base, f"Of {level}, {days} days.", classification=level)
        terms[document] = days
    listed = await officer.api.got("/v1/retention/due", within_days=100)
    assert [(due["document_id"], due["keep_days"]) for due in listed["data"]] == sorted(terms.items())
    soon = await officer.api.got("/v1/retention/due", within_days=25)
    assert soon["data"] == [due for due in listed["data"] if due["keep_days"] < 25]
    assert (await officer.api.got("/v1/retention/due"))["data"] == []
    paged = await officer.api.got("/v1/retention/due", within_days=100, limit=3)
    rest = await officer.api.got("/v1/retention/due", within_days=100, limit=3, cursor=paged["next_cursor"])
    assert [*paged["data"], *rest["data"]] == listed["data"]
    for document in terms:
        calendar.age(document, 35)
    assert await calendar.look() == 3
    await company.admin.got(f"/v1/knowledge-bases/{mine}/documents/{document}")


async def test_each_look_is_at_a_few_documents_and_what_is_due_behind_them_is_found(
    company: Company, calendar: Calendar, officer: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eai.retention.repository.LOOKED_AT", 2)
    base = await company.base()
    ids = sorted([await company.document(base, f"Parcels leave at {hour}.") for hour in range(5)])
    await policy(officer, 30)
    for document in (ids[2], ids[4]):
        calendar.age(document, 31)
    pages, cursor = [], {}
    while True:
        page = await officer.api.got("/v1/retention/due", **cursor)
        pages.append([due["document_id"] for due in page["data"]])
        if not page["has_more"]:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert pages == [[], [ids[2]], [ids[4]]]
    assert await calendar.look() == 2
    assert [await state(company, base, each) for each in ids] == [200, 200, 404, 200, 404]


async def test_the_level_that_counts_is_the_one_that_a_document_has_now(
    company: Company, calendar: Calendar, officer: Person
) -> None:
    base = await company.base()
    document = await company.document(base, "Parcels leave at noon.")
    await policy(officer, 1, classification="confidential")
    calendar.age(document, 2)
    assert await calendar.look() == 0
    changed = await company.admin.patch(
        f"/v1/knowledge-bases/{base}", json={"classification": "confidential"}
    )
    assert changed.status_code == 200
    assert await calendar.look() == 1


async def test_a_new_text_begins_anew_and_a_text_that_failed_does_not(
    company: Company, calendar: Calendar, officer: Person
) -> None:
    base = await company.base()
    replaced, failed = [await company.document(base, f"Parcels leave at {at}.") for at in ("noon", "six")]
    await policy(officer, 30)
    for document, content in ((replaced, "Parcels leave at one."), (failed, "-----")):
        calendar.age(document, 31)
        path = f"/v1/knowledge-bases/{base}/documents/{document}"
        assert (await company.admin.put(path, json={"content": content})).status_code == 202
        await eventually(lambda path=path: _has_settled(company, path))  # type: ignore[misc]
    assert await calendar.look() == 1
    assert (await state(company, base, replaced), await state(company, base, failed)) == (200, 404)


async def test_a_held_document_neither_expires_nor_is_deleted_until_it_is_released(
    company: Company, calendar: Calendar, officer: Person
) -> None:
    base = await company.base()
    document = await company.document(base, "Parcels leave at noon.")
    await policy(officer, 30)
    calendar.age(document, 31)
    hold = await held(officer, base, document)
    (due,) = (await officer.api.got("/v1/retention/due"))["data"]
    assert (due["document_id"], due["is_held"]) == (document, True)
    assert await calendar.look() == 0
    path = f"/v1/knowledge-bases/{base}"
    for target in (f"{path}/documents/{document}", path):
        assert code_of(await company.admin.delete(target)) == (409, "under_legal_hold")
    assert await state(company, base, document) == 200

    released = await officer.api.post(f"{HOLDS}/{hold['id']}/release", json={"reason": "Closed."})
    assert released.status_code == 200
    assert released.json()["released_by"] == officer.id
    again = await officer.api.post(f"{HOLDS}/{hold['id']}/release", json={"reason": "Closed."})
    assert code_of(again) == (409, "hold_released")
    assert await calendar.look() == 1
    placed, let_go = [
        (await company.admin.got("/v1/audit/events", action=f"retention.hold.{verb}"))["data"][0]
        for verb in ("place", "release")
    ]
    assert (placed["details"], let_go["details"]) == (REASON, {"reason": "Closed."})


async def test_a_held_base_keeps_all_of_its_documents_and_no_others(
    company: Company, calendar: Calendar, officer: Person
) -> None:
    mine, other = await company.base(), await company.base()
    kept, gone = [await company.document(base, "Parcels leave at noon.") for base in (mine, other)]
    await held(officer, mine)
    for base, document, status in ((mine, kept, 409), (other, gone, 200)):
        answer = await company.admin.delete(f"/v1/knowledge-bases/{base}/documents/{document}")
        assert answer.status_code == status


async def test_a_hold_that_comes_while_a_document_is_about_to_expire_keeps_it(
    company: Company, calendar: Calendar, officer: Person
) -> None:
    base = await company.base()
    document = await company.document(base, "Parcels leave at noon.")
    await policy(officer, 30)
    calendar.age(document, 31)
    with psycopg.connect(calendar.admin_url) as blocker:
        blocker.execute("SELECT FROM eai.kb_documents WHERE id = %s FOR UPDATE", [document])
        job = await calendar.start()
        assert job
        # The worker has found that it is due, and waits for the document.
        await eventually(lambda: somebody_waits(calendar.admin_url))
        await held(officer, base, document)
    assert await calendar.ended(job) == 0
    assert await state(company, base, document) == 200


async def test_a_hold_that_waits_for_the_deletion_of_its_base_comes_too_late(
    company: Company, calendar: Calendar, officer: Person
) -> None:
    base = await company.base()
    with psycopg.connect(calendar.admin_url) as blocker:
        # The deletion has found no hold, and waits to write its receipt.
        blocker.execute("LOCK TABLE eai.deletion_receipts IN SHARE MODE")
        deleting = asyncio.create_task(company.admin.delete(f"/v1/knowledge-bases/{base}"))
        await eventually(lambda: _waiting(calendar.admin_url, 1))
        placing = asyncio.create_task(officer.api.post(HOLDS, json={"knowledge_base_id": base, **REASON}))
        await eventually(lambda: _waiting(calendar.admin_url, 2))
    assert (await deleting).status_code == 202
    late = await placing
    missing = await officer.api.post(HOLDS, json={"knowledge_base_id": base, **REASON})
    assert code_of(late) == code_of(missing) == (422, "invalid_input")
    assert late.json()["error"]["details"] == missing.json()["error"]["details"]
    assert (await officer.api.got(HOLDS))["data"] == []


@pytest.mark.parametrize("first", ["replacement", "expiry"])
async def test_of_a_replacement_and_an_expiry_the_first_wins(
    company: Company, calendar: Calendar, officer: Person, first: str
) -> None:
    base = await company.base()
    document = await company.document(base, "Parcels leave at noon.")
    await policy(officer, 30)
    calendar.age(document, 31)
    path = f"/v1/knowledge-bases/{base}/documents/{document}"

    async def replace() -> httpx2.Response:
        return await company.admin.put(path, json={"content": "Parcels leave at one."})

    with psycopg.connect(calendar.admin_url) as blocker:
        blocker.execute("SELECT FROM eai.kb_documents WHERE id = %s FOR UPDATE", [document])
        if first == "replacement":
            replacing = asyncio.create_task(replace())
            await eventually(lambda: _waiting(calendar.admin_url, 1))
            job = await calendar.start()
        else:
            job = await calendar.start()
            await eventually(lambda: _waiting(calendar.admin_url, 1))
            replacing = asyncio.create_task(replace())
        await eventually(lambda: _waiting(calendar.admin_url, 2))
    assert job
    outcome = ((await replacing).status_code, await calendar.ended(job))
    assert outcome == {"replacement": (202, 0), "expiry": (404, 1)}[first]
    assert await state(company, base, document) == {"replacement": 200, "expiry": 404}[first]


async def test_there_is_one_policy_for_each_kind_of_document(company: Company, officer: Person) -> None:
    base = await company.base()
    made = await policy(officer, 30, knowledge_base_id=base)
    alias = (await company.admin.got(f"/v1/knowledge-bases/{base}"))["alias"]
    body = {"knowledge_base_id": alias, "keep_days": 60}
    again = await officer.api.post(POLICIES, json=body)
    assert code_of(again) == (409, "retention_policy_exists")
    assert again.json()["error"]["details"] == {"policy_id": made["id"]}
    key = {"idempotency-key": str(uuid4())}
    answers = [await officer.api.post(POLICIES, json={"keep_days": 90}, headers=key) for _ in range(2)]
    assert [answer.json()["id"] for answer in answers] == [answers[0].json()["id"]] * 2
    assert len((await officer.api.got(POLICIES))["data"]) == 2


async def test_a_policy_is_changed_by_who_has_seen_it_and_removed(company: Company, officer: Person) -> None:
    made = await policy(officer, 30)
    path = f"{POLICIES}/{made['id']}"
    tag = (await officer.api.get(path)).headers["etag"]
    changed = await officer.api.patch(path, json={"keep_days": 60}, headers={"if-match": tag})
    assert (changed.status_code, changed.json()["keep_days"]) == (200, 60)
    stale = await officer.api.patch(path, json={"keep_days": 90}, headers={"if-match": tag})
    assert code_of(stale) == (412, "precondition_failed")
    assert (await officer.api.delete(path)).status_code == 204
    assert code_of(await officer.api.get(path)) == (404, "not_found")
    told = [
        (event["action"], event["facts"]["keep_days"])
        for event in (await company.admin.got("/v1/audit/events", limit=200))["data"]
        if event["action"].startswith("retention.policy.")
    ]
    assert told == [
        ("retention.policy.create", 30), ("retention.policy.update", 60), ("retention.policy.delete", 60),
    ]  # fmt: skip


@pytest.mark.parametrize("keep_days", [0, -1, 36_501, 1.5, "30", True, None])
async def test_a_term_is_a_whole_number_of_days(officer: Person, keep_days: object) -> None:
    assert code_of(await officer.api.post(POLICIES, json={"keep_days": keep_days})) == (422, "invalid_input")


async def test_nobody_sets_how_long_what_lies_above_their_clearance_is_kept(
    company: Company, calendar: Calendar, officer: Person, low: Person
) -> None:
    base = await company.base()
    secret = await company.document(base, "Zanzibar closes on Tuesday.", classification="secret")
    calendar.age(secret, 31)
    reaching: list[Json] = [
        {"classification": "restricted"},
        {"classification": "secret", "knowledge_base_id": base},
        # Documents of every level can be in a base, whatever its own is.
        {"knowledge_base_id": base},
        {},
    ]
    for target in reaching:
        refused = await low.api.post(POLICIES, json={"keep_days": 1, **target})
        assert code_of(refused) == (403, "clearance_exceeded")
        assert refused.json()["error"]["details"] == {"clearance": "confidential"}
        made = await policy(officer, 36_500, **target)
        for answer in (
            await low.api.patch(f"{POLICIES}/{made['id']}", json={"keep_days": 1}),
            await low.api.delete(f"{POLICIES}/{made['id']}"),
        ):
            assert code_of(answer) == (403, "clearance_exceeded")
        assert (await low.api.got(f"{POLICIES}/{made['id']}"))["keep_days"] == 36_500
    assert await calendar.look() == 0
    # What the officer is cleared for is the officer's to set.
    for target in (
        {"classification": "confidential"},
        {"classification": "public", "knowledge_base_id": base},
    ):
        made = await policy(low, 1, **target)
        changed = await low.api.patch(f"{POLICIES}/{made['id']}", json={"keep_days": 2})
        assert (changed.status_code, changed.json()["keep_days"]) == (200, 2)
        assert await calendar.look() == 0
        assert (await low.api.delete(f"{POLICIES}/{made['id']}")).status_code == 204


async def test_what_lies_above_the_clearance_is_neither_told_nor_held(
    company: Company, calendar: Calendar, officer: Person, low: Person
) -> None:
    base = await company.base()
    secret = await company.document(base, "Zanzibar closes on Tuesday.", classification="secret")
    await policy(officer, 30)
    placed = await company.admin.made(
        HOLDS, {"knowledge_base_id": base, "document_id": secret, "reason": "Hush."}
    )
    assert (await low.api.got("/v1/retention/due", within_days=100))["data"] == []
    assert (await low.api.got(HOLDS))["data"] == []
    for answer in (
        await low.api.get(f"{HOLDS}/{placed['id']}"),
        await low.api.post(f"{HOLDS}/{placed['id']}/release", json=REASON),
    ):
        assert code_of(answer) == (404, "not_found")
    body = {"knowledge_base_id": base, "document_id": secret, **REASON}
    refused = await low.api.post(HOLDS, json=body)
    missing = await low.api.post(HOLDS, json={**body, "document_id": str(uuid4())})
    assert refused.json()["error"]["details"] == missing.json()["error"]["details"]
    await company.admin.made(f"{HOLDS}/{placed['id']}/release", REASON, status=200)
    calendar.age(secret, 31)
    assert await calendar.look() == 1
    assert (await low.api.got("/v1/retention/expirations"))["data"] == []
    assert len((await company.admin.got("/v1/retention/expirations"))["data"]) == 1
    assert (await low.api.got(HOLDS))["data"] == []


async def test_another_tenants_documents_are_not_ours_to_expire(
    stack: Stack, company: Company, calendar: Calendar, officer: Person
) -> None:
    theirs = await stack.company()
    base = await theirs.base()
    document = await theirs.document(base, "Parcels leave at noon.")
    await policy(officer, 1)
    with psycopg.connect(calendar.admin_url, autocommit=True) as admin:
        admin.execute(
            "UPDATE eai.kb_document_versions SET created_at = '2000-01-01' WHERE document_id = %s", [document]
        )
    assert await calendar.look() == 0
    assert await state(theirs, base, document) == 200


async def _is_deleted(company: Company, document: str) -> bool:
    answer = await company.admin.got(f"/v1/deletion-receipts/{document}")
    return bool(answer["status"] == "deleted")


async def _has_settled(company: Company, path: str) -> bool:
    shown = await company.admin.got(path)
    pending = shown["pending_version"]
    return pending is None or pending["status"] not in {"pending", "processing"}


async def _waiting(admin_url: str, fewest: int) -> bool:
    return await how_many_wait(admin_url) >= fewest
