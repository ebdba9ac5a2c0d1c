"""Documents coming in over HTTP: what is taken, what is refused, and that a refusal leaves nothing."""

import asyncio
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

import pytest

from eai.gateway.ports import Embedded, EmbeddingRole
from eai.integrations.local_models import HashEmbedder
from tests.integration.faults.outages import eventually
from tests.stack import Company, Stack

NOON = "Parcels leave the depot at noon."
Json = dict[str, Any]


async def settled(company: Company, path: str) -> Json:
    """The document once a worker is done with it."""

    async def done() -> Json | None:
        document = await company.admin.got(path)
        return None if document["status"] in {"pending", "processing"} else document

    return await eventually(done)


async def titles(company: Company, base: str) -> list[str]:
    listed = await company.admin.got(f"/v1/knowledge-bases/{base}/documents")
    return [document["title"] for document in listed["data"]]


async def refused(company: Company, base: str, **body: Any) -> tuple[int, str]:
    answer = await company.admin.post(f"/v1/knowledge-bases/{base}/documents", json=body)
    return answer.status_code, answer.json()["error"]["code"]


async def test_a_text_can_be_found_once_it_is_answered_201(company: Company) -> None:
    base = await company.base()
    answer = await company.admin.post(
        f"/v1/knowledge-bases/{base}/documents",
        json={"title": "Parcels", "content": NOON, "metadata": {"team": "depot"}, "language": "en"},
    )
    document = answer.json()
    assert (answer.status_code, document["status"], document["version"]) == (201, "ready", "1")
    assert (document["title"], document["metadata"]) == ("Parcels", {"team": "depot"})
    assert (document["chunks_count"], document["language"]) == (1, "en")
    assert (document["classification"], document["content_type"]) == ("internal", "text/plain")
    assert document["content_hash"] == "eb88d0cd957f0d675323c44c5998b469c54de2fec3dacc705cd17bbc47f08c2b"
    assert answer.headers["location"] == f"/v1/knowledge-bases/{base}/documents/{document['id']}"
    found = await company.admin.made(
        f"/v1/knowledge-bases/{base}/query", {"query": "when do parcels leave"}, status=200
    )
    assert [result["document_id"] for result in found["results"]] == [document["id"]]


async def test_markdown_and_html_are_read_as_what_they_are(company: Company) -> None:
    base = await company.base()
    page = "<h1>Depot</h1><script>hidden()</script><p>Parcels leave at <b>noon</b>.</p>"
    document = await company.document(base, page, content_type="text/html")
    content = await company.admin.got(f"/v1/knowledge-bases/{base}/documents/{document}/content")
    assert content["content"] == "Depot\n\nParcels leave at noon."
    marked = await company.document(base, "# Depot\n\nNoon.", content_type="text/markdown")
    content = await company.admin.got(f"/v1/knowledge-bases/{base}/documents/{marked}/content")
    assert content["content"] == "# Depot\n\nNoon."


async def test_a_declared_language_is_taken_at_its_word(company: Company) -> None:
    base = await company.base()
    body = {"title": "Parcels", "content": NOON, "language": "fr"}
    document = await company.admin.made(f"/v1/knowledge-bases/{base}/documents", body)
    assert document["language"] == "fr"


@pytest.mark.parametrize(
    ("path", "method"), [("", "post"), ("/{document}", "put")], ids=["a new one", "another text"]
)
async def test_the_form_of_a_file_is_described_as_it_is_taken(
    company: Company, path: str, method: str
) -> None:
    described = await company.admin.got("/openapi.json")
    operation = described["paths"][f"/v1/knowledge-bases/{{base}}/documents{path}"][method]
    form = operation["requestBody"]["content"]["multipart/form-data"]
    assert form["schema"]["required"] == ["file"]
    file = form["schema"]["properties"]["file"]
    assert (file["type"], file["format"]) == ("string", "binary")
    assert form["encoding"] == {
        name: {"contentType": "application/json"}
        for name in ("chunk_readers", "labels", "metadata", "readers")
    }


async def test_a_file_is_accepted_and_a_worker_makes_it_ready(company: Company) -> None:
    base = await company.base()
    answer = await company.admin.post(
        f"/v1/knowledge-bases/{base}/documents",
        files={"file": ("C:\\temp\\depot.md", NOON.encode(), "application/octet-stream")},
        data={"metadata": '{"team": "depot"}', "classification": "confidential"},
    )
    assert answer.status_code == 202, answer.text
    assert answer.headers["retry-after"] == "1"
    accepted = answer.json()
    assert (accepted["title"], accepted["external_id"]) == ("depot.md", "depot.md")
    document = await settled(company, answer.headers["location"])
    assert (document["status"], document["chunks_count"]) == ("ready", 1)
    assert (document["content_type"], document["classification"]) == ("text/markdown", "confidential")


async def test_a_client_that_prefers_not_to_wait_is_told_where_to_look(company: Company) -> None:
    base = await company.base()
    answer = await company.admin.post(
        f"/v1/knowledge-bases/{base}/documents",
        json={"title": "Parcels", "content": NOON},
        headers={"prefer": "respond-async"},
    )
    assert (answer.status_code, answer.json()["status"]) == (202, "pending")
    assert (await settled(company, answer.headers["location"]))["status"] == "ready"


async def test_what_a_worker_cannot_read_fails_with_its_reason(company: Company) -> None:
    base = await company.base()
    answer = await company.admin.post(
        f"/v1/knowledge-bases/{base}/documents", files={"file": ("a.txt", b"\xff\xfe\x00", "text/plain")}
    )
    document = await settled(company, answer.headers["location"])
    assert (document["status"], document["error"]["code"]) == ("failed", "content_unreadable")
    assert document["error"]["details"]["fields"][0]["code"] == "not_utf8"
    # What to do about it is told where the failure is seen, and not with the job alone.
    job = await company.admin.got(f"/v1/jobs/{document['job_id']}")
    assert document["error"]["message_i18n"] == job["error"]["message_i18n"]
    assert set(document["error"]["message_i18n"]) == {"en", "fr"}
    assert document["error"]["message_i18n"]["en"].startswith("The content is not what its type says")
    assert document["error"]["docs_url"] == "/docs/errors/content_unreadable"
    (version,) = (await company.admin.got(f"{answer.headers['location']}/versions"))["data"]
    assert version["error"] == document["error"]


async def test_a_type_that_nothing_reads_is_415_and_names_those_that_are_read(company: Company) -> None:
    base = await company.base()
    answer = await company.admin.post(
        f"/v1/knowledge-bases/{base}/documents", files={"file": ("a.pdf", b"%PDF-1.7", "application/pdf")}
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (415, "content_type_not_accepted")
    assert answer.json()["error"]["details"]["accepted"] == ["text/plain", "text/markdown", "text/html"]
    assert await titles(company, base) == []


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"content": " --- "}, 422, "content_empty"),
        ({"content": ""}, 422, "invalid_input"),
        ({"title": ""}, 422, "invalid_input"),
        ({"title": "x" * 1001}, 422, "invalid_input"),
        ({"source_uri": "http://insecure.example"}, 422, "invalid_input"),
        ({"readers": ["user:nobody"]}, 422, "principal_unknown"),
        ({"readers": ["group:0b6f3c1e-9a52-4d7e-8c1a-2f4e6d8b0a13"]}, 422, "principal_unknown"),
        ({"metadata": {"k": {"nested": 1}}}, 422, "invalid_input"),
        ({"tenant_id": "0b6f3c1e-9a52-4d7e-8c1a-2f4e6d8b0a13"}, 422, "invalid_input"),
        ({"version": "2"}, 422, "invalid_input"),
        ({"content": "x" * (5 * 1024 * 1024 + 1)}, 413, "content_too_large"),
        ({"content": "<div>" * 301, "content_type": "text/html"}, 422, "content_unreadable"),
    ],
)
async def test_a_refused_document_leaves_nothing_behind(
    company: Company, change: Json, status: int, code: str
) -> None:
    base = await company.base()
    body = {"title": "Parcels", "content": NOON, **change}
    assert await refused(company, base, **body) == (status, code)
    assert await titles(company, base) == []


async def test_a_level_above_ones_own_clearance_is_refused(company: Company) -> None:
    writer = await company.person("kb_manager", clearance="confidential")
    base = await company.base()
    acl = [{"principal": writer.reference, "permission": "manage", "effect": "allow"}]
    assert (
        await company.admin.put(f"/v1/knowledge-bases/{base}/acl", json={"entries": acl})
    ).status_code == 200
    body = {"title": "Parcels", "content": NOON, "classification": "restricted"}
    answer = await writer.api.post(f"/v1/knowledge-bases/{base}/documents", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "clearance_exceeded")


async def test_a_reader_may_not_write_and_a_stranger_does_not_find_the_base(company: Company) -> None:
    reader = await company.person("kb_manager")
    stranger = await company.person("kb_manager")
    base = await company.base(reader.reference)
    body = {"title": "Parcels", "content": NOON}
    answer = await reader.api.post(f"/v1/knowledge-bases/{base}/documents", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "permission_missing")
    answer = await stranger.api.post(f"/v1/knowledge-bases/{base}/documents", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


async def test_a_large_body_is_read_only_for_those_who_may_write(company: Company) -> None:
    reader = await company.person("kb_manager")
    base = await company.base(reader.reference)
    json_type = {"content-type": "application/json"}
    statuses = {
        (who, size): (
            await api.post(
                f"/v1/knowledge-bases/{reference}/documents", content=b"{" * size, headers=json_type
            )
        ).status_code
        for who, api, reference in (
            ("writer", company.admin, base),
            ("reader", reader.api, base),
            ("stranger", company.admin, str(uuid4())),
        )
        for size in (10, 2_000_000)
    }
    assert statuses == {
        ("writer", 10): 400,
        ("writer", 2_000_000): 400,
        ("reader", 10): 400,
        ("reader", 2_000_000): 403,
        ("stranger", 10): 400,
        ("stranger", 2_000_000): 404,
    }


async def test_the_same_content_again_is_the_same_document(company: Company) -> None:
    base = await company.base()
    path = f"/v1/knowledge-bases/{base}/documents"
    first = await company.admin.made(path, {"title": "Parcels", "content": NOON})
    again = await company.admin.post(path, json={"title": "Parcels", "content": NOON})
    assert (again.status_code, again.json()["id"]) == (200, first["id"])
    other = await company.admin.post(path, json={"title": "Another title", "content": NOON})
    assert (other.status_code, other.json()["error"]["code"]) == (409, "duplicate_content")
    assert other.json()["error"]["details"] == {"document_id": first["id"]}
    assert await titles(company, base) == ["Parcels"]


async def test_the_same_bytes_read_as_another_type_are_another_document(company: Company) -> None:
    base = await company.base()
    path = f"/v1/knowledge-bases/{base}/documents"
    plain = await company.admin.made(path, {"title": "Parcels", "content": NOON})
    page = {"title": "Parcels", "content": NOON, "content_type": "text/html"}
    assert (await company.admin.made(path, page))["id"] != plain["id"]


@pytest.mark.parametrize("name", ["a\0b.txt", "a\x1b[31mb.txt", "x" * 300 + ".txt"])
async def test_a_file_name_is_judged_like_any_other_name(company: Company, name: str) -> None:
    base = await company.base()
    boundary = "frontier"
    part = f'--{boundary}\r\ncontent-disposition: form-data; name="file"; filename="{name}"\r\n'
    body = f"{part}content-type: text/plain\r\n\r\n{NOON}\r\n--{boundary}--\r\n"
    answer = await company.admin.post(
        f"/v1/knowledge-bases/{base}/documents",
        content=body.encode(),
        headers={"content-type": f"multipart/form-data; boundary={boundary}"},
    )
    assert answer.status_code in {202, 422}, answer.text
    if answer.status_code == 202:
        assert answer.json()["external_id"] == name[:255]
    else:
        assert answer.json()["error"]["code"] == "invalid_input"


async def test_a_model_that_was_asked_is_on_record_though_the_index_is_down(
    stack: Stack, company: Company
) -> None:
    base = await company.base()
    await stack.engine.kill()
    try:
        assert await refused(company, base, title="Parcels", content=NOON) == (
            503,
            "vector_store_unavailable",
        )
    finally:
        await stack.engine.start()
    events = await company.admin.got("/v1/audit/events", action="model.invoke")
    assert [event["facts"]["operation"] for event in events["data"]] == ["ingest"]


async def test_a_document_that_is_deleted_is_embedded_no_further(
    stack: Stack, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = await company.base()
    path = f"/v1/knowledge-bases/{base}/documents"
    asked, deleted, embed = asyncio.Event(), asyncio.Event(), HashEmbedder.embed
    calls: list[int] = []

    async def slowly(self: HashEmbedder, texts: Sequence[str], role: EmbeddingRole) -> Embedded:
        if role is EmbeddingRole.DOCUMENT:
            calls.append(len(texts))
            asked.set()
            await deleted.wait()
        return await embed(self, texts, role)

    monkeypatch.setattr(HashEmbedder, "embed", slowly)
    content = "\n\n".join(f"Parcel {n} leaves the depot at noon. " * 40 for n in range(200))
    body = {"title": "Parcels", "content": content}
    submitting = asyncio.create_task(company.admin.post(path, json=body))
    await asked.wait()
    (document,) = (await company.admin.got(path))["data"]
    assert (await company.admin.delete(f"{path}/{document['id']}")).is_success
    deleted.set()
    assert (await submitting).status_code == 404
    assert len(calls) == 1


async def test_a_copy_that_the_caller_may_not_read_does_not_show(company: Company) -> None:
    one, two = await company.person("kb_manager"), await company.person("kb_manager")
    base = await company.base(one.reference, two.reference)
    entries = [
        {"principal": person.reference, "permission": "write", "effect": "allow"} for person in (one, two)
    ]
    await company.admin.put(f"/v1/knowledge-bases/{base}/acl", json={"entries": entries})
    path = f"/v1/knowledge-bases/{base}/documents"
    hidden = {"title": "Parcels", "content": NOON, "readers": [one.reference]}
    first = await one.api.made(path, hidden)
    second = await two.api.made(path, {"title": "Parcels", "content": NOON})
    assert first["id"] != second["id"]


async def test_an_external_id_names_one_live_document(company: Company) -> None:
    base = await company.base()
    path = f"/v1/knowledge-bases/{base}/documents"
    first = await company.admin.made(path, {"title": "A", "content": NOON, "external_id": "depot/1"})
    again = await company.admin.made(
        path, {"title": "A", "content": NOON, "external_id": "depot/1"}, status=200
    )
    assert again["id"] == first["id"]
    await company.admin.delete(f"{path}/{first['id']}")
    again = await company.admin.made(path, {"title": "B", "content": "New.", "external_id": "depot/1"})
    assert again["status"] == "ready"


async def test_parallel_requests_with_one_key_make_one_document(company: Company) -> None:
    base = await company.base()
    path = f"/v1/knowledge-bases/{base}/documents"
    body = {"title": "Parcels", "content": NOON}
    headers = {"idempotency-key": "one-key"}
    answers = await asyncio.gather(*(company.admin.post(path, json=body, headers=headers) for _ in range(20)))
    made = {answer.json()["id"] for answer in answers if answer.status_code == 201}
    waiting = {a.json()["error"]["code"] for a in answers if a.status_code == 409}
    assert len(made) == 1
    assert waiting <= {"idempotency_in_progress"}
    assert await titles(company, base) == ["Parcels"]


async def test_with_the_index_down_a_waiting_client_gets_503_and_a_patient_one_is_accepted(
    stack: Stack, company: Company
) -> None:
    base = await company.base()
    path = f"/v1/knowledge-bases/{base}/documents"
    await stack.engine.kill()
    try:
        assert await refused(company, base, title="Parcels", content=NOON) == (
            503,
            "vector_store_unavailable",
        )
        assert await titles(company, base) == []
        patient = await company.admin.post(
            path,
            json={"title": "Patient", "content": "Trains run hourly."},
            headers={"prefer": "respond-async"},
        )
        assert (patient.status_code, patient.json()["status"]) == (202, "pending")
    finally:
        await stack.engine.start()
    assert (await settled(company, patient.headers["location"]))["status"] == "ready"
    assert await titles(company, base) == ["Patient"]
