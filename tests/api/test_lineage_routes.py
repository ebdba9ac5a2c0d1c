"""Lineage over HTTP: from a document to its versions, passages and generations, and to who was shown it."""

from hashlib import sha256
from uuid import uuid4

import httpx2
import pytest

from tests.integration.faults.outages import eventually
from tests.stack import Caller, Company, Json, Person

PARCELS, LETTERS = "Parcels leave the depot at noon.", "Letters leave the depot at six."


@pytest.fixture
async def auditor(company: Company) -> Person:
    """On no access list; may read the audit and nothing else."""
    return await company.person("auditor", clearance="public")


def lineage(base: str, document: str, what: str = "") -> str:
    return f"/v1/lineage/knowledge-bases/{base}/documents/{document}" + (f"/{what}" if what else "")


def code_of(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def ask(caller: Caller, base: str, query: str = "depot") -> httpx2.Response:
    answer = await caller.post(f"/v1/knowledge-bases/{base}/query", json={"query": query})
    assert answer.status_code == 200, answer.text
    return answer


async def every(caller: Caller, path: str, **parameters: str) -> list[Json]:
    """All of a list, page by page of one entry."""
    listed: list[Json] = []
    while True:
        page = await caller.got(path, limit=1, **parameters)
        listed += page["data"]
        if not page["has_more"]:
            return listed
        parameters["cursor"] = page["next_cursor"]


async def replaced(company: Company, base: str, document: str, content: str) -> None:
    path = f"/v1/knowledge-bases/{base}/documents/{document}"
    before = (await company.admin.got(path))["version"]
    assert (await company.admin.put(path, json={"content": content})).status_code == 202

    async def serves() -> bool:
        return bool((await company.admin.got(path))["version"] != before)

    await eventually(serves)


async def test_an_answer_is_found_from_each_document_that_it_cited(company: Company, auditor: Person) -> None:
    reader = await company.person("member")
    base = await company.base(reader.reference)
    parcels = await company.document(base, PARCELS)
    letters = await company.document(base, LETTERS)
    uncited = await company.document(await company.base(), "Nobody asks for this.")
    answer = await ask(reader.api, base)
    results = {hit["document_id"]: hit for hit in answer.json()["results"]}
    assert set(results) == {parcels, letters}
    for document in (parcels, letters):
        (cited,) = (await auditor.api.got(lineage(base, document, "answers")))["data"]
        assert cited["asked_by"] == reader.id
        assert cited["request_id"] == answer.headers["x-request-id"]
        assert cited["passages"] == [{"chunk_id": results[document]["chunk_id"], "version": "1"}]
        shown = (await company.admin.got(f"/v1/knowledge-bases/{base}"))["vector_generation"]
        assert cited["generation"] == shown
        (event,) = (await auditor.api.got("/v1/audit/events", action="knowledge.query"))["data"]
        assert (cited["seq"], cited["results_sha256"]) == (event["seq"], event["facts"]["results_sha256"])
    other = (await company.admin.got("/v1/knowledge-bases", limit=200))["data"]
    (elsewhere,) = [each["id"] for each in other if each["id"] != base]
    assert (await auditor.api.got(lineage(elsewhere, uncited, "answers")))["data"] == []


async def test_whoever_is_no_auditor_finds_the_answers_given_to_them_alone(company: Company) -> None:
    mine, other = await company.person("member"), await company.person("member")
    base = await company.base(mine.reference, other.reference)
    document = await company.document(base, PARCELS)
    for caller in (mine, other, mine):
        await ask(caller.api, base)
    seen = {
        person.id: [each["asked_by"] for each in await every(person.api, lineage(base, document, "answers"))]
        for person in (mine, other)
    }
    assert seen == {mine.id: [mine.id] * 2, other.id: [other.id]}
    assert len(await every(company.admin, lineage(base, document, "answers"))) == 3


async def test_a_version_tells_what_it_was_made_of_and_where_it_is(company: Company, auditor: Person) -> None:
    reader = await company.person("member")
    base = await company.base(reader.reference)
    document = await company.document(base, PARCELS)
    await replaced(company, base, document, LETTERS)
    newest, oldest = await every(reader.api, lineage(base, document, "versions"))
    assert (newest["version"], newest["is_serving"], newest["status"]) == ("2", True, "ready")
    assert newest["source_sha256"] == newest["content_sha256"] == sha256(LETTERS.encode()).hexdigest()
    shown = await company.admin.got(f"/v1/knowledge-bases/{base}")
    (placed,) = newest["generations"]
    assert (placed["id"], placed["state"], placed["chunks"]) == (shown["vector_generation"], "serving", 1)
    assert (placed["embedding_model"], placed["dimensions"]) == ("local-hash-256", 256)
    assert (oldest["version"], oldest["is_serving"]) == ("1", False)
    assert (oldest["source_sha256"], oldest["content_sha256"]) == (None, None)
    whole = await auditor.api.got(lineage(base, document))
    assert (whole["state"], whole["versions_count"], whole["serving_version"]) == ("live", 2, "2")
    assert (whole["answers_count"], whole["last_answer_at"], whole["receipt"]) == (0, None, None)


async def test_a_passage_is_followed_into_every_generation(company: Company, auditor: Person) -> None:
    base = await company.base()
    document = await company.document(base, PARCELS)
    former = (await company.admin.got(f"/v1/knowledge-bases/{base}"))["vector_generation"]
    made = await company.admin.made(f"/v1/knowledge-bases/{base}/reindex", {}, status=202)
    job = f"/v1/knowledge-bases/{base}/reindex-jobs/{made['job_id']}"

    async def is_over() -> bool:
        return bool((await company.admin.got(job))["status"] == "completed")

    await eventually(is_over)
    serving = (await company.admin.got(f"/v1/knowledge-bases/{base}"))["vector_generation"]
    (chunk,) = await every(auditor.api, lineage(base, document, "chunks"))
    assert (chunk["version"], chunk["start"], chunk["end"]) == ("1", 0, len(PARCELS))
    assert set(chunk["generations"]) == {former, serving}
    assert await every(auditor.api, lineage(base, document, "chunks"), version="2") == []


async def test_passages_come_in_order_and_none_is_lost_between_pages(company: Company) -> None:
    base = await company.base(chunk_size=100, chunk_overlap=0)
    text = " ".join(
        f"Parcel number {number} leaves the depot at noon and comes back." for number in range(12)
    )
    document = await company.document(base, text)
    listed = await every(company.admin, lineage(base, document, "chunks"))
    assert len(listed) > 3
    whole = await company.admin.got(lineage(base, document, "chunks"))
    assert listed == whole["data"]
    assert [each["start"] for each in listed] == sorted(each["start"] for each in listed)


async def test_a_reader_follows_to_the_passages_that_it_may_read(company: Company) -> None:
    reader, other = await company.person("member"), await company.person("member")
    base = await company.base(reader.reference, other.reference, chunk_size=100, chunk_overlap=0)
    rights = [{"start": 0, "end": len(PARCELS), "readers": [other.reference]}]
    text = f"{PARCELS} " + " ".join(f"Letter number {number} leaves the depot." for number in range(12))
    document = await company.document(base, text, chunk_readers=rights)
    hidden, whole = [
        {each["start"] for each in await every(person.api, lineage(base, document, "chunks"))}
        for person in (reader, other)
    ]
    assert len(whole) > 2
    assert hidden == whole - {0}


async def test_hashes_of_a_text_are_for_who_may_read_all_of_it_and_passages_are_counted_as_read(
    company: Company, auditor: Person
) -> None:
    reader, other = await company.person("member"), await company.person("member")
    manager = await company.person("tenant_admin")
    base = await company.base(reader.reference, other.reference, chunk_size=100, chunk_overlap=0)
    rest = " ".join(f"Letter number {number} leaves the depot." for number in range(12))
    document = await company.document(base, f"{PARCELS} {rest}")
    path = f"/v1/knowledge-bases/{base}/documents/{document}"
    rights = [{"start": 0, "end": len(PARCELS), "readers": [other.reference]}]
    body = {"content": f"{PARCELS} {rest} Again.", "chunk_readers": rights}
    assert (await company.admin.put(path, json=body)).status_code == 202

    async def serves() -> bool:
        return bool((await company.admin.got(path))["version"] == "2")

    await eventually(serves)
    shown, counts = {}, {}
    for person in (reader, manager, other, auditor):
        newest, oldest = await every(person.api, lineage(base, document, "versions"))
        hashes = [each[name] for each in (newest, oldest) for name in ("source_sha256", "content_sha256")]
        shown[person.id] = hashes
        counts[person.id] = newest["generations"][0]["chunks"]
    new = sha256(f"{PARCELS} {rest} Again.".encode()).hexdigest()
    assert shown == {
        reader.id: [None] * 4,
        manager.id: [None] * 4,
        other.id: [new, new, None, None],
        auditor.id: [None] * 4,
    }
    whole = counts[auditor.id]
    assert whole > 2
    assert counts == {reader.id: whole - 1, manager.id: 0, other.id: whole, auditor.id: whole}


async def test_who_manages_a_base_and_may_not_read_it_follows_to_no_passage(company: Company) -> None:
    manager = await company.person("tenant_admin")
    base = await company.base()
    document = await company.document(base, PARCELS)
    assert (await manager.api.get(lineage(base, document))).status_code == 200
    refused = await manager.api.get(lineage(base, document, "chunks"))
    assert code_of(refused) == (403, "permission_missing")


@pytest.mark.parametrize("what", ["", "versions", "chunks", "answers"])
async def test_who_may_not_see_a_document_cannot_follow_it(company: Company, what: str) -> None:
    unlisted = await company.person("member", clearance="secret")
    uncleared = await company.person("member", clearance="public")
    base = await company.base(uncleared.reference)
    document = await company.document(base, PARCELS)
    for person in (unlisted, uncleared):
        assert code_of(await person.api.get(lineage(base, document, what))) == (404, "not_found")


async def test_a_document_that_is_gone_is_followed_by_auditors_alone(
    company: Company, auditor: Person
) -> None:
    reader = await company.person("member")
    base = await company.base(reader.reference)
    document = await company.document(base, PARCELS)
    await ask(reader.api, base)
    receipt = (await company.admin.delete(f"/v1/knowledge-bases/{base}/documents/{document}")).json()
    whole = await auditor.api.got(lineage(base, document))
    assert (whole["state"], whole["versions_count"], whole["answers_count"]) == ("deleted", 0, None)
    assert whole["receipt"] == receipt
    (cited,) = (await auditor.api.got(lineage(base, document, "answers")))["data"]
    assert cited["asked_by"] == reader.id
    assert code_of(await reader.api.get(lineage(base, document))) == (404, "not_found")
    elsewhere = await company.base()
    assert code_of(await auditor.api.get(lineage(elsewhere, document))) == (404, "not_found")
    removed = await company.admin.delete(f"/v1/knowledge-bases/{base}")
    assert removed.status_code < 300
    assert (await auditor.api.got(lineage(base, document)))["state"] == "deleted"


async def test_an_answer_that_is_many_questions_away_is_found_page_by_page(
    company: Company, auditor: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eai.lineage.repository.SCANNED", 3)
    mine, other = await company.base(), await company.base()
    document = await company.document(mine, PARCELS)
    await company.document(other, LETTERS)
    for base in (other, other, other, other, mine):
        await ask(company.admin, base)
    page = await auditor.api.got(lineage(mine, document, "answers"))
    assert (page["data"], page["has_more"]) == ([], True)
    assert len(await every(auditor.api, lineage(mine, document, "answers"))) == 1


async def test_each_look_is_on_record(company: Company, auditor: Person) -> None:
    base = await company.base()
    document = await company.document(base, PARCELS)
    for what in ("", "versions", "chunks", "answers"):
        await auditor.api.got(lineage(base, document, what))
    events = (await auditor.api.got("/v1/audit/events", action="lineage.read"))["data"]
    assert [(e["actor"]["principal"], e["resource"]["id"], e["facts"]["what"]) for e in events] == [
        (auditor.id, document, what) for what in ("document", "versions", "chunks", "answers")
    ]


async def test_a_cursor_of_one_list_is_none_of_another(company: Company) -> None:
    base = await company.base(chunk_size=100, chunk_overlap=0)
    document = await company.document(base, f"{PARCELS} {LETTERS} " * 10)
    page = await company.admin.got(lineage(base, document, "chunks"), limit=1)
    answer = await company.admin.get(
        lineage(base, document, "answers"), params={"cursor": page["next_cursor"]}
    )
    assert answer.status_code == 400
    assert code_of(await company.admin.get(lineage(base, str(uuid4())))) == (404, "not_found")
