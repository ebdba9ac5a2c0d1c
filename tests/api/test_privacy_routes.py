"""Erasures over HTTP: a person is found by what DLP detects and by identifiers, removed and redacted."""

import asyncio
import base64
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4

import httpx2
import orjson
import psycopg
import pytest

from tests.conftest import DatabaseUrls
from tests.integration.faults.outages import eventually, how_many_wait, somebody_waits
from tests.stack import Company, Json, Person

ERASURES = "/v1/privacy/erasures"
MAIL, NIR, NAME = "jeanne.morel@example.org", "2 69 05 49 588 157 80", "Jeanne Morel"
REASON = "Case 17"
BLOCK = "█"


@pytest.fixture
async def officer(company: Company) -> Person:
    """On no access list."""
    return await company.person("data_steward", clearance="confidential")


def code_of(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def ended(officer: Person, erasure: str) -> Json:
    async with asyncio.timeout(60):
        while True:
            shown = await officer.api.got(f"{ERASURES}/{erasure}")
            if shown["state"] != "running":
                return shown
            await asyncio.sleep(0.05)


async def erased(officer: Person, action: str, *identifiers: str, **more: Any) -> Json:
    body = {"action": action, "identifiers": list(identifiers), "reason": REASON, **more}
    made = await officer.api.made(ERASURES, body, status=202)
    shown = await ended(officer, made["id"])
    assert shown["state"] == "completed", shown
    return shown


async def found(officer: Person, erasure: Json) -> dict[str, Json]:
    listed = await officer.api.got(f"{ERASURES}/{erasure['id']}/documents", limit=200)
    return {each["document_id"]: each for each in listed["data"]}


async def state(company: Company, base: str, document: str) -> int:
    return (await company.admin.get(f"/v1/knowledge-bases/{base}/documents/{document}")).status_code


async def test_a_person_is_found_however_it_is_written_and_nobody_else_is(
    company: Company, officer: Person
) -> None:
    base = await company.base()
    texts = {
        "mail": f"Write to {MAIL} before noon.",
        "case": "Write to Jeanne.Morel@Example.ORG before noon.",
        "number": "Son numéro est 2.69.05.49.588.157.80, notez-le.",
        "tight": "Her number is 269054958815780.",
        "hidden": "Write to jeanne\u200b.morel@example\u200d.org before noon.",
        "wide": "Her number is ２６９０５４９５８８１５７８０.",  # noqa: RUF001
        "encoded": f"Attached: {base64.b64encode(f'mail {MAIL}'.encode()).decode()} end.",
        "accents": "Jeanne  Mōrel came by.",
    }
    there = {name: await company.document(base, text) for name, text in texts.items()}
    for text in (
        "Write to jeanne.morel@example.org.uk.",
        "Jeannette Morel came by.",
        "Number 2690549588157801.",
    ):
        await company.document(base, text)
    erasure = await erased(officer, "find", MAIL, NIR, NAME)
    documents = await found(officer, erasure)
    assert set(documents) == set(there.values())
    assert erasure["entities"] == ["email", "nir", None]
    assert (erasure["documents_searched"], erasure["documents"]) == (11, {"found": 8})
    assert documents[there["mail"]]["entities"] == ["email"]
    assert documents[there["number"]]["entities"] == ["nir"]
    assert (documents[there["accents"]]["entities"], documents[there["accents"]]["by_identifier"]) == ([], 1)
    assert await state(company, base, there["mail"]) == 200


async def test_the_recall_of_what_is_looked_for_is_told(officer: Person) -> None:
    erasure = await erased(officer, "find", MAIL, NAME)
    measured, names = erasure["recall"]
    assert measured["entity"] == "email"
    assert measured["tried"] > 100
    assert 0 < measured["low"] <= measured["found"] / measured["tried"] <= measured["high"] <= 1
    assert (names["entity"], names["detected"]) == (None, 0)
    assert names["found"] < names["tried"]


async def test_a_person_is_found_in_every_field_and_in_former_versions(
    company: Company, officer: Person
) -> None:
    base = await company.base()
    plain = "Parcels leave at noon."
    fields: dict[str, Json] = {
        "title": {"title": f"Letter of {NAME}"},
        "metadata": {"metadata": {"author": NAME}},
        "external_id": {"external_id": MAIL},
        "source_uri": {"source_uri": "https://example.org/jeanne.morel@example.org"},
    }
    there = {}
    for field, given in fields.items():
        body = {"title": "A letter", "content": f"{plain} {field}", **given}
        answer = await company.admin.post(f"/v1/knowledge-bases/{base}/documents", json=body)
        assert answer.status_code in {201, 202}, answer.text
        there[answer.json()["id"]] = [field]
    former = await company.document(base, f"{NAME} came by.")
    await replace(company, base, former, "Somebody came by.")
    there[former] = ["text"]
    documents = await found(officer, await erased(officer, "find", MAIL, NAME))
    assert {document: each["places"] for document, each in documents.items()} == there
    assert documents[former]["versions"] == ["1"]


async def test_what_is_removed_leaves_receipts_and_nothing_of_the_person(
    company: Company, officer: Person, stack_urls: DatabaseUrls
) -> None:
    base = await company.base()
    gone = await company.document(base, f"Write to {MAIL} before noon.")
    kept = await company.document(base, "Write to nobody before noon.")
    erasure = await erased(officer, "remove", MAIL)
    assert erasure["documents"] == {"removed": 1}
    assert (await state(company, base, gone), await state(company, base, kept)) == (404, 200)
    path = f"/v1/deletion-receipts/{gone}"

    async def is_deleted() -> bool:
        return bool((await officer.api.got(path))["status"] == "deleted")

    await eventually(is_deleted)
    assert (await officer.api.got(path))["vectors_remaining"] == 0
    with psycopg.connect(stack_urls.admin) as admin:
        (left,) = admin.execute(
            "SELECT count(*) FROM eai.privacy_erasures e WHERE tenant_id = %s"
            " AND (identifiers IS NOT NULL OR e::text LIKE %s)", [company.id, f"%{MAIL}%"],
        ).fetchone() or (None,)  # fmt: skip
    assert left == 0
    export = (await company.admin.get("/v1/audit/export")).text
    assert MAIL not in export
    told = [e["action"] for e in (await company.admin.got("/v1/audit/events", limit=200))["data"]]
    assert [action for action in told if action.startswith("privacy.")][:3] == [
        "privacy.erasure.request", "privacy.document.found", "privacy.erasure.complete",
    ]  # fmt: skip
    assert (await company.admin.got("/v1/audit/verify"))["valid"]


async def replace(company: Company, base: str, document: str, content: str) -> None:
    path = f"/v1/knowledge-bases/{base}/documents/{document}"
    before = (await company.admin.got(path))["version"]
    assert (await company.admin.put(path, json={"content": content})).status_code == 202

    async def serves() -> bool:
        return bool((await company.admin.got(path))["version"] != before)

    await eventually(serves)


async def test_what_is_redacted_answers_without_the_person_and_former_texts_are_gone(
    company: Company, officer: Person, stack_urls: DatabaseUrls
) -> None:
    reader = await company.person("member")
    base = await company.base(reader.reference)
    text = f"Parcels for {MAIL} leave the depot at noon."
    document = await company.document(base, text, title=f"Parcels of {NAME}", metadata={"for": NAME})
    erasure = await erased(officer, "redact", MAIL, NAME)
    assert erasure["documents"] == {"redacted": 1}
    path = f"/v1/knowledge-bases/{base}/documents/{document}"
    shown = await company.admin.got(path)
    assert (shown["status"], shown["version"]) == ("ready", "2")
    assert shown["title"] == f"Parcels of {BLOCK * len(NAME)}"
    assert shown["metadata"] == {"for": BLOCK * len(NAME)}
    content = (await company.admin.got(f"{path}/content"))["content"]
    assert content == text.replace(MAIL, BLOCK * len(MAIL))
    answer = await reader.api.post(f"/v1/knowledge-bases/{base}/query", json={"query": "parcels depot"})
    (hit,) = answer.json()["results"]
    assert hit["content"] == content
    versions = (await company.admin.got(f"{path}/versions"))["data"]
    assert [each["content_hash"] for each in versions] == [sha256(content.encode()).hexdigest(), None]
    with psycopg.connect(stack_urls.admin) as admin:
        for table in ("kb_document_versions", "kb_chunks", "kb_documents"):
            rows = admin.execute(
                f"SELECT t::text FROM eai.{table} t WHERE tenant_id = %s", [company.id]
            ).fetchall()
            assert rows
            # A digest of so few words is as good as the words.
            told = (MAIL, NAME, MAIL.encode().hex(), sha256(text.encode()).hexdigest())
            assert [row for (row,) in rows if any(each in row for each in told)] == []
    again = await erased(officer, "find", MAIL, NAME)
    assert again["documents"] == {}


async def test_what_only_a_field_tells_is_redacted_without_a_new_text(
    company: Company, officer: Person
) -> None:
    base = await company.base()
    document = await company.document(base, "Parcels leave at noon.", title=f"By {NAME}")
    assert (await erased(officer, "redact", NAME))["documents"] == {"redacted": 1}
    shown = await company.admin.got(f"/v1/knowledge-bases/{base}/documents/{document}")
    assert (shown["title"], shown["version"]) == (f"By {BLOCK * len(NAME)}", "1")


async def test_a_former_text_that_alone_holds_the_person_is_taken_away(
    company: Company, officer: Person
) -> None:
    base = await company.base()
    document = await company.document(base, f"{NAME} came by.")
    await replace(company, base, document, "Somebody came by.")
    assert (await erased(officer, "redact", NAME))["documents"] == {"redacted": 1}
    path = f"/v1/knowledge-bases/{base}/documents/{document}"
    assert (await company.admin.got(f"{path}/content"))["content"] == "Somebody came by."
    assert (await erased(officer, "find", NAME))["documents"] == {}


async def test_rights_of_parts_hold_in_a_redacted_text(company: Company, officer: Person) -> None:
    reader = await company.person("member")
    base = await company.base(reader.reference)
    text = f"Parcels for {MAIL} leave at noon. The gate code is 4711."
    start = text.index("The gate")
    hidden = {"start": start, "end": len(text), "readers": []}
    body = {"title": "Gate", "content": text, "chunk_readers": [hidden]}
    made = await company.admin.made(f"/v1/knowledge-bases/{base}/documents", body)
    assert (await erased(officer, "redact", MAIL))["documents"] == {"redacted": 1}
    path = f"/v1/knowledge-bases/{base}/documents/{made['id']}/content"
    shown = (await reader.api.got(path))["content"]
    assert "4711" not in shown
    assert MAIL not in shown


async def test_a_page_whose_marks_hide_the_person_is_redacted_as_it_was_read(
    company: Company, officer: Person
) -> None:
    base = await company.base()
    page = "<p>Write to jeanne.<b>morel</b>@example.org before noon.</p>"
    document = await company.document(base, page, content_type="text/html")
    assert (await erased(officer, "redact", MAIL))["documents"] == {"redacted": 1}
    path = f"/v1/knowledge-bases/{base}/documents/{document}"
    content = (await company.admin.got(f"{path}/content"))["content"]
    assert content.strip() == f"Write to {BLOCK * len(MAIL)} before noon."


async def test_a_text_that_comes_while_it_is_erased_is_redacted_too(
    company: Company, officer: Person, stack_urls: DatabaseUrls
) -> None:
    base = await company.base()
    document = await company.document(base, f"{NAME} came by.")
    path = f"/v1/knowledge-bases/{base}/documents/{document}"
    body = {"action": "redact", "identifiers": [NAME], "reason": REASON}
    with psycopg.connect(stack_urls.admin) as blocker:
        blocker.execute("SELECT FROM eai.kb_documents WHERE id = %s FOR UPDATE", [document])
        replacing = asyncio.create_task(company.admin.put(path, json={"content": f"{NAME} came twice."}))
        await eventually(lambda: somebody_waits(stack_urls.admin))
        made = await officer.api.made(ERASURES, body, status=202)
        await eventually(lambda: both_wait(stack_urls.admin))
    assert (await replacing).status_code == 202
    shown = await ended(officer, made["id"])
    assert shown["documents"] == {"redacted": 1}
    assert (await company.admin.got(f"{path}/content"))["content"] == f"{BLOCK * len(NAME)} came twice."


async def both_wait(admin_url: str) -> bool:
    return await how_many_wait(admin_url) >= 2


async def test_what_a_source_calls_its_own_cannot_be_redacted_and_is_told(
    company: Company, officer: Person
) -> None:
    base = await company.base()
    body = {"title": "Letter", "content": "Parcels leave at noon.", "external_id": MAIL}
    made = await company.admin.post(f"/v1/knowledge-bases/{base}/documents", json=body)
    documents = await found(officer, await erased(officer, "redact", MAIL))
    told = documents[made.json()["id"]]
    assert (told["outcome"], told["code"]) == ("failed", "not_redactable")


async def test_what_a_hold_keeps_is_told_and_stays(company: Company, officer: Person) -> None:
    base = await company.base()
    document = await company.document(base, f"Write to {MAIL}.")
    body = {"knowledge_base_id": base, "reason": "A court asks for it."}
    await company.admin.made("/v1/retention/holds", body)
    for action in ("remove", "redact"):
        told = (await found(officer, await erased(officer, action, MAIL)))[document]
        assert (told["outcome"], told["code"]) == ("held", "under_legal_hold")
    assert await state(company, base, document) == 200


async def test_documents_above_the_clearance_are_not_searched(company: Company, officer: Person) -> None:
    base = await company.base()
    await company.document(base, f"Write to {MAIL}.", classification="secret")
    erasure = await erased(officer, "remove", MAIL)
    assert (erasure["clearance"], erasure["documents_searched"], erasure["documents"]) == (
        "confidential", 0, {},
    )  # fmt: skip


async def test_who_is_cleared_for_less_knows_nothing_of_an_erasure(company: Company, officer: Person) -> None:
    erasure = await erased(officer, "find", MAIL)
    lower = await company.person("data_steward", clearance="internal")
    for path in (f"{ERASURES}/{erasure['id']}", f"{ERASURES}/{erasure['id']}/documents"):
        assert code_of(await lower.api.get(path)) == (404, "not_found")
    assert (await lower.api.got(ERASURES))["data"] == []
    assert [each["id"] for each in (await officer.api.got(ERASURES))["data"]] == [erasure["id"]]


async def test_the_details_of_a_principal_become_unreadable_and_the_chain_verifies(
    company: Company, officer: Person
) -> None:
    person = await company.person("tenant_admin")
    base = await company.base()
    body = {"title": "What they wrote", "content": "Parcels leave at noon."}
    await person.api.made(f"/v1/knowledge-bases/{base}/documents", body)

    async def details() -> list[tuple[str, Any]]:
        events = (await company.admin.got("/v1/audit/events", action="knowledge.document.ingest"))["data"]
        return [(event["details_state"], event["details"]) for event in events]

    assert await details() == [("readable", {"title": "What they wrote"})]
    erasure = await erased(officer, "remove", principal_id=person.id)
    assert erasure["audit_details_erased"] is True
    assert await details() == [("erased", None)]
    (event,) = (await company.admin.got("/v1/audit/events", action="audit.details.erase"))["data"]
    assert event["resource"] == {"kind": "principal", "id": person.id}
    assert (await company.admin.got("/v1/audit/verify"))["valid"]


async def test_a_principal_that_was_removed_is_erased_too(company: Company, officer: Person) -> None:
    person = await company.person("tenant_admin")
    base = await company.base()
    await person.api.made(
        f"/v1/knowledge-bases/{base}/documents", {"title": "Theirs", "content": "Parcels leave at noon."}
    )
    assert (await company.admin.delete(f"/v1/principals/{person.id}")).status_code == 204
    erasure = await erased(officer, "remove", principal_id=person.id)
    assert erasure["audit_details_erased"] is True


async def test_nobody_erases_their_own_details_nor_those_of_the_tenant(
    company: Company, officer: Person
) -> None:
    body = {"action": "remove", "reason": REASON}
    own = await officer.api.post(ERASURES, json={**body, "principal_id": officer.id})
    assert code_of(own) == (403, "self_erasure_forbidden")
    for nobody in (company.id, str(uuid4())):
        answer = await officer.api.post(ERASURES, json={**body, "principal_id": nobody})
        assert code_of(answer) == (422, "principal_unknown")


@pytest.mark.parametrize(
    "change",
    [
        {"identifiers": []},
        {"identifiers": ["a b"]},
        {"identifiers": [".-.-.-"]},
        {"identifiers": ["x" * 201]},
        {"identifiers": ["a name"] * 21},
        {"identifiers": [], "principal_id": str(uuid4())},
        {"action": "forget"},
        {"reason": ""},
    ],
)
async def test_what_means_nobody_is_refused(officer: Person, change: Json) -> None:
    body = {"action": "find", "identifiers": [MAIL], "reason": REASON, **change}
    answer = await officer.api.post(ERASURES, json=body)
    assert code_of(answer) == (422, "invalid_input")
    assert MAIL not in answer.text


async def test_another_tenant_is_neither_searched_nor_told(
    company: Company, officer: Person, stack: Any
) -> None:
    theirs = await stack.company()
    base = await theirs.base()
    document = await theirs.document(base, f"Write to {MAIL}.")
    erasure = await erased(officer, "remove", MAIL)
    assert erasure["documents_searched"] == 0
    assert await state(theirs, base, document) == 200
    assert code_of(await theirs.admin.get(f"{ERASURES}/{erasure['id']}")) == (404, "not_found")


async def test_the_same_request_again_erases_once(officer: Person) -> None:
    headers = {"idempotency-key": str(uuid4())}
    body = {"action": "find", "identifiers": [MAIL], "reason": REASON}
    answers = [await officer.api.post(ERASURES, json=body, headers=headers) for _ in range(2)]
    assert answers[0].json()["id"] == answers[1].json()["id"]
    assert len((await officer.api.got(ERASURES))["data"]) == 1
    assert answers[0].headers["location"] == f"{ERASURES}/{answers[0].json()['id']}"


async def test_what_is_kept_of_a_request_does_not_tell_whom_it_was_about(
    officer: Person, company: Company, stack_urls: DatabaseUrls
) -> None:
    """Whoever reads the database, and knows all of a body but a number, could try them all."""
    body = {"action": "find", "identifiers": [NIR], "reason": REASON}
    made = await officer.api.post(ERASURES, json=body, headers={"idempotency-key": str(uuid4())})
    assert made.status_code == 202
    with psycopg.connect(stack_urls.admin) as admin:
        statement = "SELECT fingerprint FROM eai.idempotency_records WHERE tenant_id = %s AND route LIKE %s"
        ((kept,),) = admin.execute(statement, [company.id, "%erasures%"]).fetchall()
    (key,) = (await company.admin.got("/v1/api-keys", principal_id=officer.id))["data"]
    known = ERASURES.encode() + b"\0\0"
    said = orjson.dumps(body, option=orjson.OPT_SORT_KEYS)
    tried = [sha256(known + said).digest(), sha256(known + UUID(key["id"]).bytes + said).digest()]
    assert kept not in tried
