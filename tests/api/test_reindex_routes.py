"""Reindexes as clients meet them: asked for, followed, refused, cancelled and taken back."""

import asyncio
import threading
from typing import Any, LiteralString
from uuid import UUID, uuid4

import psycopg
import pytest

from eai.reindex import building, flipping
from eai.reindex.dropping import ReindexSweep
from eai.reindex.repository import tenants_with_retired_generations
from tests.api.test_jobs import changes
from tests.conftest import DatabaseUrls
from tests.integration.faults.outages import eventually
from tests.invariants import Judge
from tests.provider.steps import Step
from tests.stack import Caller, Company, Json, Stack

LONG = " ".join(f"Paragraph {number} tells of refunds, parcels and letters." for number in range(40))


@pytest.fixture
def judge(stack: Stack, stack_urls: DatabaseUrls) -> Judge:
    return Judge(stack_urls.admin, stack.platform.vectors)


async def model_of(company: Company, **fields: Any) -> str:
    """A new embedding model at the test provider."""
    endpoint = await company.answering()
    return await company.model(endpoint, **{"capability": "embeddings", "dimensions": [8], **fields})


async def reindex(company: Company, base: str, status: int = 202, **wanted: Any) -> Json:
    answer = await company.admin.post(f"/v1/knowledge-bases/{base}/reindex", json=wanted)
    assert answer.status_code == status, answer.text
    return dict(answer.json())


async def ended(caller: Caller, base: str, job: Json, *, within_s: float = 20) -> Json:
    """The reindex once it is over."""

    async def over() -> Json | None:
        shown = await caller.got(f"/v1/knowledge-bases/{base}/reindex-jobs/{job['job_id']}")
        return None if shown["status"] in {"queued", "running", "verifying"} else shown

    return await eventually(over, within_s)


async def found(company: Company, base: str, query: str = "refunds", **request: Any) -> list[str]:
    body = {"query": query, "top_k": 20, **request}
    answer = await company.admin.made(f"/v1/knowledge-bases/{base}/query", body, status=200)
    return [hit["document_id"] for hit in answer["results"]]


async def test_a_base_moves_to_another_model(company: Company, stack: Stack, judge: Judge) -> None:
    base, model = await company.base(), await model_of(company)
    documents = {await company.document(base, f"Note {n}: refunds are paid in week {n}.") for n in range(3)}
    before = await company.admin.got(f"/v1/knowledge-bases/{base}")
    path = f"/v1/knowledge-bases/{base}/reindex"
    answer = await company.admin.post(path, json={"embedding_model": model, "labels": {"project": "move"}})
    assert answer.status_code == 202
    job = answer.json()
    assert answer.headers["location"] == f"/v1/knowledge-bases/{base}/reindex-jobs/{job['job_id']}"
    assert (job["status"], job["documents_total"]) == ("queued", 3)
    assert job["from"]["embedding_model"] == "local-hash-256"
    assert job["from"]["generation"] == before["vector_generation"]
    assert (job["to"]["embedding_model"], job["to"]["dimensions"]) == (model, 8)

    done = await ended(company.admin, base, job)
    assert (done["status"], done["documents_done"], done["error"]) == ("completed", 3, None)
    after = await company.admin.got(f"/v1/knowledge-bases/{base}")
    assert (after["embedding_model"], after["dimensions"]) == (model, 8)
    assert after["vector_generation"] == job["to"]["generation"] != before["vector_generation"]
    assert after["vector_collection"] == job["to"]["collection"] != before["vector_collection"]
    assert (after["documents_count"], after["chunks_count"]) == (3, 3)
    assert set(await found(company, base)) == documents
    assert set(await found(company, base, mode="keyword")) == documents
    await judge.judge(company.id)

    listed = await company.admin.got(f"/v1/knowledge-bases/{base}/reindex-jobs")
    assert [each["job_id"] for each in listed["data"]] == [job["job_id"]]
    told = [e["action"] for e in (await company.admin.got("/v1/audit/events", limit=200))["data"]]
    assert told.count("knowledge_base.reindex.request") == told.count("knowledge_base.reindex.complete") == 1
    usage = await company.admin.got("/v1/finops/usage", group_by="operation")
    assert "reindex" in {row["operation"] for row in usage["data"]}


async def test_another_chunking_cuts_the_stored_text_anew(company: Company, judge: Judge) -> None:
    base = await company.base(chunk_size=800)
    document = await company.document(base, LONG)
    path = f"/v1/knowledge-bases/{base}/documents/{document}/acl"
    me = (await company.admin.got("/v1/me"))["principal"]["id"]
    spans = [{"start": 0, "end": 100, "readers": [f"user:{me}"]}]
    assert (await company.admin.put(path, json={"chunk_readers": spans})).status_code == 200
    before = await company.admin.got(f"/v1/knowledge-bases/{base}")
    done = await ended(company.admin, base, await reindex(company, base, chunk_size=200))
    assert done["status"] == "completed", done
    after = await company.admin.got(f"/v1/knowledge-bases/{base}")
    assert (after["chunk_size"], after["chunk_overlap"]) == (200, 100)
    assert after["chunks_count"] > 2 * before["chunks_count"]
    assert after["vector_collection"] == before["vector_collection"]
    assert set(await found(company, base)) == {document}
    await judge.judge(company.id)


async def switched(company: Company, model: str, *, engaged: bool) -> None:
    body = {"engaged": engaged, "reason": "Test"}
    answer = await company.admin.put(f"/v1/models/{model}/kill-switch", json=body)
    assert answer.status_code == 200, answer.text


async def test_what_could_not_be_cut_anew_when_its_rights_changed_is_cut_by_a_reindex(
    company: Company, judge: Judge
) -> None:
    model, reader = await model_of(company), await company.person("member")
    base = await company.base("tenant:*", embedding_model=model)
    said, hidden = "Refunds are paid within a week.", "The reserve for refunds is small."
    document = await company.document(base, f"{said} {hidden}")
    part = {"start": len(said), "end": len(said) + 1 + len(hidden), "readers": []}
    await switched(company, model, engaged=True)
    path = f"/v1/knowledge-bases/{base}/documents/{document}/acl"
    assert (await company.admin.put(path, json={"chunk_readers": [part]})).status_code == 200
    await judge.judge(company.id)
    await switched(company, model, engaged=False)
    question = {"query": "refunds", "mode": "keyword"}
    answer = await reader.api.made(f"/v1/knowledge-bases/{base}/query", question, status=200)
    assert answer["results"] == []

    assert (await ended(company.admin, base, await reindex(company, base)))["status"] == "completed"
    answer = await reader.api.made(f"/v1/knowledge-bases/{base}/query", question, status=200)
    assert [hit["content"] for hit in answer["results"]] == [said]
    await judge.judge(company.id)


async def test_the_same_settings_make_the_same_anew(company: Company, judge: Judge) -> None:
    base = await company.base()
    document = await company.document(base, LONG)
    first = await found(company, base)
    done = await ended(company.admin, base, await reindex(company, base))
    assert done["status"] == "completed"
    assert {k: v for k, v in done["from"].items() if k != "generation"} == {
        k: v for k, v in done["to"].items() if k != "generation"
    }
    assert await found(company, base) == first
    assert document in first
    await judge.judge(company.id)


async def test_two_models_of_one_size_never_mix(company: Company, stack: Stack, judge: Judge) -> None:
    one, other = await model_of(company), await model_of(company)
    first, second = await company.base(embedding_model=one), await company.base(embedding_model=other)
    for base in (first, second):
        await company.document(base, f"Refunds of {base}.")
    shown = [await company.admin.got(f"/v1/knowledge-bases/{base}") for base in (first, second)]
    spaces = [each["vector_collection"] for each in shown]
    assert spaces[0] != spaces[1]
    done = await ended(company.admin, first, await reindex(company, first, embedding_model=other))
    assert done["status"] == "completed"
    moved = await company.admin.got(f"/v1/knowledge-bases/{first}")
    assert (moved["vector_collection"], moved["dimensions"]) == (spaces[1], 8)
    assert len(await found(company, first)) == len(await found(company, second)) == 1
    assert await found(company, first) != await found(company, second)
    await judge.judge(company.id)


async def test_what_is_written_meanwhile_is_in_both(company: Company, stack: Stack, judge: Judge) -> None:
    base, model = await company.base(), await model_of(company)
    kept = await company.document(base, "Refunds are paid within a week.")
    doomed = await company.document(base, "Refunds are never paid.")
    provider = await stack.provider()
    await provider.forget()
    await provider.say(Step(wait_s=1.5))
    job = await reindex(company, base, embedding_model=model)
    await provider.has_come(within_s=10)
    late = await company.document(base, "Refunds came late.")
    gone = await company.admin.delete(f"/v1/knowledge-bases/{base}/documents/{doomed}")
    assert gone.json()["status"] == "deleted"
    assert set(await found(company, base)) == {kept, late}
    assert (await reindex(company, base, 409))["error"]["code"] == "reindex_in_progress"
    done = await ended(company.admin, base, job)
    assert (done["status"], done["documents_done"]) == ("completed", 2)
    assert set(await found(company, base)) == {kept, late}
    await judge.judge(company.id)


async def test_what_stands_against_a_reindex(company: Company) -> None:
    base = await company.base()
    unknown = await reindex(company, base, 422, embedding_model="no-such-model")
    assert unknown["error"]["details"]["fields"][0]["path"] == "embedding_model"
    sizes = await reindex(company, base, 422, dimensions=3)
    assert sizes["error"]["details"]["fields"][0]["path"] == "dimensions"
    overlap = await reindex(company, base, 422, chunk_size=200, chunk_overlap=150)
    assert overlap["error"]["details"]["fields"][0]["code"] == "chunk_overlap_too_large"
    capped = await model_of(company, classification_ceiling="public")
    refused = await reindex(company, base, 403, embedding_model=capped)
    assert refused["error"]["code"] == "classification_exceeded"
    assert (await company.admin.got(f"/v1/knowledge-bases/{base}/reindex-jobs"))["data"] == []


async def test_a_document_above_the_models_ceiling_fails_the_job_before_a_byte_leaves(
    company: Company, stack: Stack, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "DOCUMENTS_PER_BATCH", 1)
    base = await company.base()
    first = await company.document(base, "Refunds are public.", classification="public")
    document = await company.document(base, "Refunds are secret.", classification="secret")
    capped = await model_of(company, classification_ceiling="confidential")
    provider = await stack.provider()
    await provider.forget()
    failed = await ended(company.admin, base, await reindex(company, base, embedding_model=capped))
    assert (failed["status"], failed["error"]["code"]) == ("failed", "classification_exceeded")
    assert capped in failed["error"]["message_i18n"]["fr"]
    assert await provider.requests() == []
    assert set(await found(company, base)) == {first, document}
    await judge.judge(company.id)
    told = [e["action"] for e in (await company.admin.got("/v1/audit/events", limit=200))["data"]]
    assert "knowledge_base.reindex.failed" in told


async def test_a_level_that_is_raised_just_before_the_flip_is_judged_by_the_model_to_come(
    company: Company, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = await company.base()
    document = await company.document(base, "Refunds are paid within a week.")
    await judge.judge(company.id)
    capped = await model_of(company, classification_ceiling="internal")
    weighing, go_on, weigh = threading.Event(), threading.Event(), flipping.weights

    def held(*arguments: Any) -> Any:
        weighing.set()
        assert go_on.wait(30)
        return weigh(*arguments)

    monkeypatch.setattr(flipping, "weights", held)
    job = await reindex(company, base, embedding_model=capped, chunk_size=200)
    assert await asyncio.to_thread(weighing.wait, 30)
    path = f"/v1/knowledge-bases/{base}"
    raised = await company.admin.patch(path, json={"classification": "confidential"})
    assert raised.status_code == 200, raised.text
    go_on.set()
    failed = await ended(company.admin, base, job)
    assert (failed["status"], failed["error"]["code"]) == ("failed", "classification_exceeded")
    assert await found(company, base) == [document]
    await judge.judge(company.id)


async def test_a_model_that_fails_midway_leaves_the_former_generation(
    company: Company, stack: Stack, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "DOCUMENTS_PER_BATCH", 1)
    base, model = await company.base(), await model_of(company)
    documents = {await company.document(base, f"{n}. {LONG}") for n in range(3)}
    before = await company.admin.got(f"/v1/knowledge-bases/{base}")
    provider = await stack.provider()
    good, bad = Step(), Step(change={"dimensions": 5})
    await provider.say(good, bad)
    failed = await ended(company.admin, base, await reindex(company, base, embedding_model=model))
    assert (failed["status"], failed["error"]["code"]) == ("failed", "embedding_dimension_mismatch")
    after = await company.admin.got(f"/v1/knowledge-bases/{base}")
    assert after["vector_generation"] == before["vector_generation"]
    assert set(await found(company, base)) == documents
    await judge.judge(company.id)


async def test_a_cancelled_reindex_leaves_nothing(company: Company, stack: Stack, judge: Judge) -> None:
    base, model = await company.base(), await model_of(company)
    document = await company.document(base, "Refunds are paid within a week.")
    await (await stack.provider()).say(Step(wait_s=1))
    job = await reindex(company, base, embedding_model=model)
    path = f"/v1/knowledge-bases/{base}/reindex-jobs/{job['job_id']}/cancel"
    cancelled = await company.admin.made(path, {}, status=200)
    assert cancelled["status"] == "cancelled"
    assert (await company.admin.made(path, {}, status=200)) == cancelled
    await judge.judge(company.id)
    shown = await company.admin.got(f"/v1/knowledge-bases/{base}")
    assert shown["embedding_model"] == "local-hash-256"
    assert await found(company, base) == [document]
    again = await ended(company.admin, base, await reindex(company, base, embedding_model=model))
    assert again["status"] == "completed"


async def test_the_former_generation_is_gone_back_to_with_what_came_since(
    company: Company, stack: Stack, judge: Judge
) -> None:
    base, model = await company.base(), await model_of(company)
    kept = await company.document(base, "Refunds are paid within a week.")
    doomed = await company.document(base, "Refunds are never paid.")
    job = await ended(company.admin, base, await reindex(company, base, embedding_model=model))
    late = await company.document(base, "Refunds came late.")
    await company.admin.delete(f"/v1/knowledge-bases/{base}/documents/{doomed}")
    path = f"/v1/knowledge-bases/{base}/reindex-jobs/{job['job_id']}/rollback"
    answer = await company.admin.post(path)
    assert answer.status_code == 202
    back = await ended(company.admin, base, answer.json())
    assert (back["status"], back["rollback_of"]) == ("completed", job["job_id"])
    shown = await company.admin.got(f"/v1/knowledge-bases/{base}")
    assert shown["vector_generation"] == job["from"]["generation"]
    assert shown["embedding_model"] == "local-hash-256"
    assert set(await found(company, base)) == {kept, late}
    await judge.judge(company.id)
    again = await company.admin.post(path)
    assert (again.status_code, again.json()["error"]["code"]) == (409, "rollback_unavailable")


async def test_after_the_grace_period_the_former_generation_is_dropped(
    company: Company, stack: Stack, judge: Judge
) -> None:
    base = await company.base()
    document = await company.document(base, "Refunds are paid within a week.")
    job = await ended(company.admin, base, await reindex(company, base))
    dropping, tenant = stack.platform.generation_dropping, UUID(company.id)
    assert tenant not in await tenants_with_retired_generations(stack.platform.database, 86_400)
    assert await dropping.drop_retired(tenant) == 0
    assert tenant in await tenants_with_retired_generations(stack.platform.database, 0)
    dropping._grace_s = 0
    try:
        await ReindexSweep(dropping, interval_s=60).run_due()
    finally:
        dropping._grace_s = 86_400
    assert tenant not in await tenants_with_retired_generations(stack.platform.database, 0)
    await judge.judge(company.id)
    assert await found(company, base) == [document]
    path = f"/v1/knowledge-bases/{base}/reindex-jobs/{job['job_id']}/rollback"
    refused = await company.admin.post(path)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "rollback_unavailable")


async def test_one_key_asks_for_one_reindex(company: Company) -> None:
    base = await company.base()
    path, headers = f"/v1/knowledge-bases/{base}/reindex", {"idempotency-key": str(uuid4())}
    first = await company.admin.post(path, json={}, headers=headers)
    again = await company.admin.post(path, json={}, headers=headers)
    assert (first.status_code, again.json()) == (202, first.json())
    assert len((await company.admin.got(f"/v1/knowledge-bases/{base}/reindex-jobs"))["data"]) == 1


async def test_who_follows_the_job_sees_how_many_documents_are_done(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "DOCUMENTS_PER_BATCH", 2)
    base = await company.base()
    for n in range(3):
        await company.document(base, f"Note {n}: refunds are paid in week {n}.")
    job = await reindex(company, base)
    told = [
        (data["state"], *(data["progress"][name] for name in ("stage", "documents_done", "documents_total")))
        for _, data in await changes(company.admin, job["job_id"])
    ]
    assert told == [
        ("queued", None, None, None),
        ("running", None, None, None),
        ("running", "building", 0, 3),
        ("running", "building", 2, 3),
        ("running", "building", 3, 3),
        ("running", "verifying", 3, 3),
        ("completed", "verifying", 3, 3),
    ]


_LOSE_CHUNKS = "DELETE FROM eai.kb_chunks WHERE document_id = %s"
_LOSE_TEXT = "UPDATE eai.kb_document_versions SET content = NULL WHERE document_id = %s"


async def _damage(urls: DatabaseUrls, document: str, *statements: LiteralString) -> None:
    async with await psycopg.AsyncConnection.connect(urls.admin) as connection:
        for statement in statements:
            await connection.execute(statement, [document])


async def test_a_document_without_passages_is_brought_from_its_text(
    company: Company, stack_urls: DatabaseUrls
) -> None:
    base, model = await company.base(), await model_of(company)
    documents = {await company.document(base, f"Note {n}: refunds are paid in week {n}.") for n in range(3)}
    await _damage(stack_urls, min(documents), _LOSE_CHUNKS)
    done = await ended(company.admin, base, await reindex(company, base, embedding_model=model))
    assert (done["status"], done["documents_done"]) == ("completed", 3)
    assert set(await found(company, base, mode="vector")) == documents


@pytest.mark.parametrize("wanted", [{}, {"chunk_size": 200}], ids=["copied", "cut anew"])
async def test_a_document_that_says_nothing_any_more_ends_the_reindex(
    company: Company, stack_urls: DatabaseUrls, wanted: Json
) -> None:
    base = await company.base()
    documents = [await company.document(base, f"Note {n}: refunds are paid in week {n}.") for n in range(3)]
    await _damage(stack_urls, documents[1], _LOSE_CHUNKS, _LOSE_TEXT)
    failed = await ended(company.admin, base, await reindex(company, base, **wanted))
    assert (failed["status"], failed["error"]["code"]) == ("failed", "reindex_incomplete")
    assert set(await found(company, base)) == {documents[0], documents[2]}
    again = await reindex(company, base, **wanted)
    assert (await ended(company.admin, base, again))["error"]["code"] == "reindex_incomplete"
