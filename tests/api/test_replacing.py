"""A document is given another text over HTTP: what stays, what binds at once, and what is refused."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from eai.gateway.ports import Embedded, EmbeddingRole
from eai.integrations.local_models import HashEmbedder
from eai.kernel.errors import BadGateway, EaiError
from eai.knowledge.ports import VectorStoreUnavailable
from tests.api.test_ingestion_routes import settled
from tests.api.test_reindex_routes import ended, reindex
from tests.conftest import DatabaseUrls
from tests.integration.faults.outages import eventually
from tests.invariants import Judge
from tests.stack import Caller, Company, Json, Stack

NOON = "Parcels leave the depot at noon."
DAWN = "Parcels leave the depot at dawn."


@dataclass
class Embedding:
    """What documents' texts the model was asked for, and a way to hold or break what asks."""

    texts: list[str] = field(default_factory=list)
    held: dict[str, asyncio.Event] = field(default_factory=dict)
    broken: dict[str, EaiError] = field(default_factory=dict)
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def holding(self, text: str) -> AsyncIterator[Callable[[], None]]:
        """Let nobody pass with `text` until the block ends, or until what it yields is called."""
        self.held[text] = asyncio.Event()
        yield self.held[text].set
        self.held.pop(text).set()


@pytest.fixture
def embedding(monkeypatch: pytest.MonkeyPatch) -> Embedding:
    seen, embed = Embedding(), HashEmbedder.embed

    async def watched(self: HashEmbedder, texts: Sequence[str], role: EmbeddingRole) -> Embedded:
        if role is EmbeddingRole.DOCUMENT:
            seen.texts.extend(texts)
            for text in texts:
                if text in seen.held:
                    seen.asked.set()
                    await seen.held[text].wait()
                if text in seen.broken:
                    raise seen.broken[text]
        return await embed(self, texts, role)

    monkeypatch.setattr(HashEmbedder, "embed", watched)
    return seen


@pytest.fixture
def judge(stack: Stack, stack_urls: DatabaseUrls) -> Judge:
    return Judge(stack_urls.admin, stack.platform.vectors)


@dataclass(frozen=True)
class Page:
    """A document and who looks after it."""

    company: Company
    base: str
    id: str

    @property
    def path(self) -> str:
        return f"/v1/knowledge-bases/{self.base}/documents/{self.id}"

    async def put(self, by: Caller | None = None, *, status: int = 202, **body: Any) -> Json:
        answer = await (by or self.company.admin).put(self.path, json=body)
        assert answer.status_code == status, answer.text
        return dict(answer.json())

    async def refused(self, by: Caller | None = None, **body: Any) -> tuple[int, str]:
        return code_of(await (by or self.company.admin).put(self.path, json=body))

    async def settled(self) -> Json:
        """The document once its newest version is done with."""

        async def done() -> Json | None:
            document = await self.company.admin.got(self.path)
            pending = document["pending_version"] or document
            return None if pending["status"] in {"pending", "processing"} else document

        return await eventually(done)

    async def found(self, by: Caller | None = None) -> list[tuple[str, str]]:
        """Version and text of what a question finds."""
        path = f"/v1/knowledge-bases/{self.base}/query"
        hits = await (by or self.company.admin).made(path, {"query": "depot parcels"}, status=200)
        return [(hit["provenance"]["version"], hit["content"]) for hit in hits["results"]]


def code_of(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


async def page_of(company: Company, content: str = NOON, *readers: str, **fields: Any) -> Page:
    base = await company.base(*readers)
    return Page(company, base, await company.document(base, content, **fields))


async def test_another_text_takes_over_whole_and_the_document_stays_itself(
    company: Company, embedding: Embedding, judge: Judge
) -> None:
    page = await page_of(company, title="Depot", metadata={"team": "depot"}, classification="confidential")
    assert await page.found() == [("1", NOON)]
    before = await company.admin.got(page.path)
    async with embedding.holding(DAWN):
        answer = await company.admin.put(
            page.path, json={"content": DAWN, "source_uri": "https://d.example/"}
        )
        assert answer.status_code == 202
        assert (answer.headers["location"], answer.headers["retry-after"]) == (page.path, "1")
        await embedding.asked.wait()
        shown = await company.admin.got(page.path)
        assert (shown["status"], shown["version"], shown["source_uri"]) == ("ready", "1", None)
        assert shown["pending_version"] == {"version": "2", "status": "processing", "error": None}
        assert shown["job_id"] == answer.json()["job_id"]
        assert await page.found() == [("1", NOON)]
    after = await page.settled()
    assert (after["version"], after["pending_version"], after["job_id"]) == ("2", None, None)
    kept = ("id", "created_at", "title", "metadata", "classification", "external_id", "labels", "readers")
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    assert after["source_uri"] == "https://d.example/"
    assert after["retrieval_count"] == 2
    assert await page.found() == [("2", DAWN)]
    events = (await company.admin.got("/v1/audit/events", action="knowledge.document.replace"))["data"]
    assert [(event["resource"]["id"], event["facts"]["version"]) for event in events] == [(page.id, 2)]
    await judge.judge(company.id)


async def test_a_text_overtaken_while_its_base_moves_on_leaves_no_points(
    company: Company, embedding: Embedding, judge: Judge
) -> None:
    page = await page_of(company)
    async with embedding.holding(DAWN):
        await page.put(content=DAWN)
        await embedding.asked.wait()
        job = await reindex(company, page.base)
        assert (await ended(company.admin, page.base, job))["status"] == "completed"
        await page.put(content=f"{NOON} No exceptions.")
        assert (await page.settled())["version"] == "3"
    await judge.judge(company.id)
    assert await page.found() == [("3", f"{NOON} No exceptions.")]


async def test_the_same_text_is_not_processed_again_and_the_rest_is_applied(
    company: Company, embedding: Embedding, judge: Judge
) -> None:
    reader = await company.person("member")
    page = await page_of(company, NOON, reader.reference, metadata={"team": "depot"})
    embedding.texts.clear()
    shown = await page.put(status=200, content=NOON, title="Depot", metadata={})
    assert (shown["title"], shown["metadata"], shown["version"]) == ("Depot", {}, "1")
    assert await page.found(reader.api) == [("1", NOON)]
    assert (await page.put(status=200, content=NOON, readers=[]))["readers"] == []
    assert await page.found(reader.api) == []
    unchanged = await page.put(status=200, title=None)
    assert (unchanged["title"], unchanged["pending_version"]) == ("Depot", None)
    assert (await page.put(status=200, readers=None))["readers"] is None
    assert embedding.texts == []
    told = await company.admin.got("/v1/audit/events", limit="200")
    changes = [
        e for e in told["data"] if e["action"] in {"knowledge.document.update", "knowledge.document.acl.set"}
    ]
    assert [event["facts"]["changed"] for event in changes] == [
        ["metadata", "title"],
        ["readers"],
        ["readers"],
    ]
    await judge.judge(company.id)


async def test_the_same_text_read_otherwise_is_another(company: Company) -> None:
    page = await page_of(company, NOON)
    await page.put(content=NOON, content_type="text/markdown")
    assert (await page.settled())["content_type"] == "text/markdown"
    await page.put(content=NOON, language="fr")
    shown = await page.settled()
    assert (shown["version"], shown["language"], shown["content_type"]) == ("3", "fr", "text/markdown")
    assert (await page.put(status=200, content=NOON, language="fr"))["version"] == "3"


async def test_a_text_that_failed_is_queued_again_by_itself_or_by_retry(
    company: Company, embedding: Embedding, judge: Judge
) -> None:
    page = await page_of(company, NOON)
    embedding.broken[DAWN] = BadGateway()
    await page.put(content=DAWN, title="Dawn")
    failed = await page.settled()
    assert (failed["version"], failed["status"], failed["title"]) == ("1", "ready", "A document")
    assert failed["pending_version"]["status"] == "failed"
    error = failed["pending_version"]["error"]
    assert (error["code"], set(error["message_i18n"])) == ("bad_gateway", {"en", "fr"})
    again = await page.put(content=DAWN, metadata={"again": True})
    assert (again["pending_version"]["version"], again["pending_version"]["status"]) == ("2", "pending")
    assert again["job_id"] != failed["job_id"]
    assert (await page.settled())["pending_version"]["status"] == "failed"
    embedding.broken.clear()
    answer = await company.admin.post(f"{page.path}/retry")
    assert (answer.status_code, answer.headers["location"]) == (202, page.path)
    ready = await page.settled()
    assert (ready["version"], ready["title"], ready["metadata"]) == ("2", "Dawn", {"again": True})
    refused = await company.admin.post(f"{page.path}/retry")
    assert code_of(refused) == (409, "nothing_to_retry")
    assert refused.json()["error"]["details"] == {"status": "ready"}
    await judge.judge(company.id)


async def test_the_text_of_another_document_is_refused_with_its_id(
    company: Company, embedding: Embedding
) -> None:
    page = await page_of(company, NOON)
    path = f"/v1/knowledge-bases/{page.base}/documents"
    other = Page(company, page.base, await company.document(page.base, DAWN))
    answer = await company.admin.put(page.path, json={"content": DAWN})
    assert code_of(answer) == (409, "duplicate_content")
    assert answer.json()["error"]["details"] == {"document_id": other.id}
    # A text that is on its way counts, and the one that it replaces does not.
    third = "Parcels leave the depot at three."
    async with embedding.holding(third):
        await other.put(content=third)
        assert await page.refused(content=third) == (409, "duplicate_content")
        await page.put(content=DAWN)
    await page.settled()
    # What failed does not block, nor what a source names.
    embedding.broken[NOON] = BadGateway()
    made = await company.admin.post(
        path, json={"title": "N", "content": NOON}, headers={"prefer": "respond-async"}
    )
    assert (await settled(company, made.headers["location"]))["status"] == "failed"
    embedding.broken.clear()
    four = "Parcels leave the depot at four."
    await company.admin.made(path, {"title": "F", "content": four, "external_id": "four"})
    await page.put(content=NOON)
    await page.settled()
    await page.put(content=four)
    assert (await page.settled())["version"] == "4"


async def test_a_copy_that_the_caller_may_not_read_does_not_stand_in_the_way(company: Company) -> None:
    writer = await company.person("kb_manager")
    page = await page_of(company, NOON, writer.reference)
    acl = f"/v1/knowledge-bases/{page.base}/acl"
    entries = (await company.admin.got(acl))["entries"]
    entries.append({"principal": writer.reference, "permission": "write", "effect": "allow"})
    assert (await company.admin.put(acl, json={"entries": entries})).is_success
    await company.document(page.base, DAWN, readers=[])
    await page.put(writer.api, content=DAWN)
    assert (await page.settled())["version"] == "2"


async def test_parts_with_rights_of_their_own_must_be_named_anew(company: Company, judge: Judge) -> None:
    reader = await company.person("member")
    text = f"{NOON}\n\n{DAWN}"
    base = await company.base(reader.reference, chunk_size=100, chunk_overlap=0)
    # Each line is a passage of its own.
    long = "The depot also takes in parcels that nobody has sent for, and keeps them for a while. " * 2
    text = f"{NOON}\n\n{long}"
    spans = [{"start": 0, "end": len(NOON), "readers": []}]
    page = Page(company, base, await company.document(base, text, chunk_readers=spans))
    assert NOON not in "".join(text for _, text in await page.found(reader.api))
    assert await page.refused(content=f"{DAWN}\n\n{long}") == (422, "chunk_readers_required")
    assert (await page.put(status=200, content=text, title="T"))["title"] == "T"
    await page.put(
        content=f"{long}\n\n{DAWN}", chunk_readers=[{"start": len(long), "end": 500, "readers": []}]
    )
    assert (await page.settled())["version"] == "2"
    seen = "".join(text for _, text in await page.found(reader.api))
    assert "takes in parcels" in seen
    assert DAWN not in seen
    await page.put(content=DAWN, chunk_readers=[])
    await page.settled()
    assert await page.found(reader.api) == [("3", DAWN)]
    await judge.judge(company.id)


async def test_a_part_above_the_ceiling_of_the_model_never_reaches_it(company: Company) -> None:
    provider = await company.answering(classification_ceiling="confidential")
    model = await company.model(provider, capability="embeddings", dimensions=[8])
    page = await page_of(company, NOON)
    base = await company.base(embedding_model=model)
    spans = [{"start": 0, "end": 3, "classification": "secret"}]
    body = {"title": "A", "content": NOON, "chunk_readers": spans}
    answer = await company.admin.post(f"/v1/knowledge-bases/{base}/documents", json=body)
    assert code_of(answer) == (403, "classification_exceeded")
    await page.put(content=DAWN, chunk_readers=spans)
    await page.settled()
    told = (await company.admin.got("/v1/audit/events", action="model.invoke"))["data"]
    assert [event["facts"]["level"] for event in told] == ["internal", "secret"]


async def test_new_rights_bind_the_old_text_at_once_and_open_nothing_before_the_swap(
    company: Company, embedding: Embedding, judge: Judge
) -> None:
    old, new, both = [await company.person("member", clearance="secret") for _ in range(3)]
    base = await company.base(old.reference, new.reference, both.reference)
    readers = [old.reference, both.reference]
    page = Page(company, base, await company.document(base, NOON, readers=readers))
    async with embedding.holding(DAWN):
        await page.put(content=DAWN, readers=[new.reference, both.reference])
        assert await page.found(old.api) == []
        assert await page.found(new.api) == []
        assert await page.found(both.api) == [("1", NOON)]
        # Said again it opens no more; what a later one leaves out is not forgotten.
        assert (await page.put(status=200, content=DAWN, readers=[new.reference]))["readers"] == []
        await page.put(content="Parcels leave the depot at ten.", classification="secret")
        assert (await company.admin.got(page.path))["classification"] == "secret"
    await page.settled()
    assert await page.found(new.api) == [("3", "Parcels leave the depot at ten.")]
    assert await page.found(both.api) == []
    unknown = await page.refused(content=NOON, readers=["user:00000000-0000-4000-8000-00000000dead"])
    assert unknown == (422, "principal_unknown")
    assert await page.refused(content=NOON, classification="public") == (422, "invalid_input")
    lowered = await page.put(content=NOON, classification="public", reason="It was published.")
    assert (lowered["classification"], lowered["version"]) == ("secret", "3")
    assert (await page.settled())["classification"] == "public"
    await judge.judge(company.id)


async def test_what_a_source_names_is_replaced_by_posting_it_again(company: Company, judge: Judge) -> None:
    base = await company.base()
    path = f"/v1/knowledge-bases/{base}/documents"
    first = await company.admin.made(
        path, {"title": "A", "content": NOON, "external_id": "depot/1", "metadata": {"team": "depot"}}
    )
    page = Page(company, base, first["id"])
    again = await company.admin.post(path, json={"title": "B", "content": DAWN, "external_id": "depot/1"})
    assert (again.status_code, again.json()["id"]) == (202, page.id)
    assert again.headers["location"] == page.path
    shown = await page.settled()
    assert (shown["version"], shown["title"], shown["metadata"]) == ("2", "B", {"team": "depot"})
    same = {"title": "C", "content": DAWN, "external_id": "depot/1"}
    assert (await company.admin.made(path, same, status=200))["title"] == "C"
    renamed = await company.admin.put(page.path, json={"external_id": "depot/2"})
    assert renamed.json()["error"]["details"]["fields"][0]["code"] == "unchangeable"
    await page.put(status=200, external_id="depot/1")
    for title, content in (({"title": "Hours"}, NOON), ({}, DAWN)):
        file = {"file": ("depot.txt", content.encode(), "text/plain")}
        answer = await company.admin.post(path, files=file, data=title)
        assert answer.status_code == 202
        hours = Page(company, base, answer.json()["id"])
        await hours.settled()
    shown = await hours.settled()
    assert (shown["title"], shown["version"]) == ("Hours", "2")
    upload = await company.admin.put(
        page.path, files={"file": ("other.md", b"# Hours", "")}, data={"metadata": '{"a": 1}'}
    )
    assert upload.status_code == 202
    shown = await page.settled()
    assert (shown["external_id"], shown["content_type"]) == ("depot/1", "text/markdown")
    assert (shown["title"], shown["metadata"]) == ("C", {"a": 1})
    await judge.judge(company.id)


async def test_a_source_cannot_replace_what_lies_above_its_clearance(company: Company) -> None:
    mirror = await company.person("kb_manager")
    base = await company.base()
    entry = {"principal": mirror.reference, "permission": "write", "effect": "allow"}
    acl = f"/v1/knowledge-bases/{base}/acl"
    entries = [*(await company.admin.got(acl))["entries"], entry]
    assert (await company.admin.put(acl, json={"entries": entries})).is_success
    path = f"/v1/knowledge-bases/{base}/documents"
    names = {"title": "A", "content": NOON, "readers": []}
    hidden = await company.admin.made(path, {**names, "external_id": "hidden"})
    await company.admin.made(path, {**names, "external_id": "secret", "classification": "secret"})
    body = {"title": "B", "content": DAWN}
    assert (await mirror.api.made(path, {**body, "external_id": "hidden"}, status=202))["id"] == hidden["id"]
    answer = await mirror.api.post(path, json={**body, "external_id": "secret"})
    assert code_of(answer) == (409, "external_id_exists")
    assert answer.json()["error"]["details"] == {}


async def test_who_may_not_know_of_a_document_and_who_has_seen_another_one(
    company: Company, embedding: Embedding
) -> None:
    reader, unlisted = await company.person("kb_manager"), await company.person("kb_manager")
    page = await page_of(company, NOON, reader.reference)
    missing = Page(company, page.base, str(uuid4()))
    for method in ("put", "post"):
        for caller, there in ((unlisted.api, page), (company.admin, missing)):
            path = there.path if method == "put" else f"{there.path}/retry"
            answer = await caller.request(method, path, json={"content": DAWN} if method == "put" else None)
            assert code_of(answer) == (404, "not_found")
    assert await page.refused(reader.api, content=DAWN) == (403, "permission_missing")
    tag = (await company.admin.get(page.path)).headers["etag"]
    async with embedding.holding(DAWN):
        await page.put(content=DAWN)
        stale = await company.admin.put(page.path, json={"content": NOON}, headers={"if-match": tag})
        assert code_of(stale) == (412, "precondition_failed")
    await page.settled()
    tag = (await company.admin.get(page.path)).headers["etag"]
    fresh = await company.admin.put(page.path, json={"content": NOON}, headers={"if-match": tag})
    assert fresh.status_code == 202
    assert await page.refused(content="x", content_type="application/pdf") == (
        415,
        "content_type_not_accepted",
    )


async def test_many_replacements_at_once_leave_the_last_one(
    company: Company, embedding: Embedding, judge: Judge
) -> None:
    page = await page_of(company, NOON)
    keyed = {"idempotency-key": str(uuid4())}
    bodies = [{"content": f"Parcels leave the depot at {n}."} for n in range(10)]
    answers = await asyncio.gather(
        *(company.admin.put(page.path, json=body) for body in bodies),
        *(company.admin.put(page.path, json={"content": DAWN}, headers=keyed) for _ in range(3)),
        company.admin.put(f"{page.path}/acl", json={"readers": []}),
    )
    assert {answer.status_code for answer in answers} <= {200, 202, 409}
    document = await page.settled()
    versions = (await company.admin.got(f"{page.path}/versions", limit="50"))["data"]
    assert len(versions) == 12
    assert document["version"] == "12"
    assert document["readers"] == []
    overtaken = {version["error"]["code"] for version in versions if version["status"] == "failed"}
    assert overtaken <= {"version_superseded"}
    replayed = await company.admin.put(page.path, json={"content": DAWN}, headers=keyed)
    assert replayed.headers["idempotent-replayed"] == "true"
    await judge.judge(company.id)


@pytest.mark.parametrize("error", [BadGateway(), VectorStoreUnavailable()], ids=["refused", "down"])
async def test_a_first_text_that_is_refused_takes_no_newer_one_along(
    company: Company, embedding: Embedding, judge: Judge, error: EaiError
) -> None:
    base = await company.base()
    path = f"/v1/knowledge-bases/{base}/documents"
    embedding.broken[NOON] = error
    async with embedding.holding(NOON):
        first = asyncio.create_task(company.admin.post(path, json={"title": "A", "content": NOON}))
        await embedding.asked.wait()
        (made,) = (await company.admin.got(path))["data"]
        page = Page(company, base, made["id"])
        await page.put(content=DAWN)
    assert (await first).status_code == error.status
    assert (await page.settled())["version"] == "2"
    assert await page.found() == [("2", DAWN)]
    await judge.judge(company.id)


async def test_a_text_that_fails_after_it_was_overtaken_is_not_told_to_have_failed_twice(
    company: Company, embedding: Embedding
) -> None:
    page = await page_of(company)
    embedding.broken[DAWN] = BadGateway()
    async with embedding.holding(DAWN):
        job = (await page.put(content=DAWN))["job_id"]
        await embedding.asked.wait()
        await page.put(content="Parcels leave the depot at dusk.")
        assert (await page.settled())["version"] == "3"
    await eventually(lambda: _has_failed(company, job))
    versions = (await company.admin.got(f"{page.path}/versions"))["data"]
    assert [(v["status"], (v["error"] or {}).get("code")) for v in versions] == [
        ("ready", None), ("failed", "version_superseded"), ("ready", None),
    ]  # fmt: skip
    assert (await company.admin.got("/v1/audit/events", action="knowledge.document.failed"))["data"] == []


async def _has_failed(company: Company, job: str) -> bool:
    return bool((await company.admin.got(f"/v1/jobs/{job}"))["state"] == "failed")


async def test_the_levels_of_parts_fall_with_another_text_only_for_a_reason_of_who_manages(
    company: Company,
) -> None:
    writer = await company.person("kb_manager", clearance="restricted")
    page = await page_of(company, classification="internal")
    entry = {"principal": writer.reference, "permission": "write", "effect": "allow"}
    acl = f"/v1/knowledge-bases/{page.base}/acl"
    listed = (await company.admin.got(acl))["entries"]
    assert (await company.admin.put(acl, json={"entries": [*listed, entry]})).status_code == 200
    part = {"start": 0, "end": 7, "classification": "restricted"}
    await page.put(content=DAWN, chunk_readers=[part])
    await page.settled()
    assert await page.refused(writer.api, content=f"{DAWN} ", chunk_readers=[]) == (403, "permission_missing")
    lower = [{**part, "classification": "confidential"}]
    again = {"content": f"{DAWN} ", "chunk_readers": lower}
    assert await page.refused(writer.api, **again, reason="Published") == (403, "permission_missing")
    assert await page.refused(**again) == (422, "invalid_input")
    await page.put(writer.api, content=f"{DAWN} ", chunk_readers=[part])
    await page.put(content=f"{DAWN}  ", chunk_readers=lower, reason="Published")
