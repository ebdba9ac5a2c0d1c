"""Jobs over HTTP: how one stands, what becomes of it as it happens, and for whom that is."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import uuid4

import pytest

from eai.api.v1 import jobs as routes
from eai.gateway.ports import Embedded, EmbeddingRole
from eai.integrations.local_models import HashEmbedder
from tests.stack import Caller, Company, Json

LONG = "\n\n".join(f"Parcel {n} leaves the depot at noon. " * 20 for n in range(400))


async def accepted(company: Company, content: str, by: Caller | None = None) -> str:
    """The id of the job that takes a text in."""
    base = await company.base()
    answer = await (by or company.admin).post(
        f"/v1/knowledge-bases/{base}/documents",
        json={"title": "A", "content": content},
        headers={"prefer": "respond-async"},
    )
    assert answer.status_code == 202, answer.text
    return str(answer.json()["job_id"])


async def stream(caller: Caller, job: str, **headers: str) -> AsyncIterator[tuple[str, str, Json]]:
    """Id, name and data of each event; comments have the name `:`."""
    async with caller.stream("GET", f"/v1/jobs/{job}/events", headers=headers) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        seen: dict[str, str] = {}
        async for line in answer.aiter_lines():
            if line.startswith(":"):
                yield "", ":", {}
            elif line:
                name, _, value = line.partition(": ")
                seen[name] = value
            elif seen:
                yield seen.get("id", ""), seen["event"], json.loads(seen["data"])
                seen = {}


async def changes(caller: Caller, job: str, **headers: str) -> list[tuple[str, Json]]:
    """The events up to the end of the stream."""
    async with asyncio.timeout(30):
        return [(id_, data) async for id_, name, data in stream(caller, job, **headers) if name == "job"]


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Holds the embedding of documents until it is set."""
    go_on, embed = asyncio.Event(), HashEmbedder.embed

    async def held(self: HashEmbedder, texts: Sequence[str], role: EmbeddingRole) -> Embedded:
        if role is EmbeddingRole.DOCUMENT:
            await go_on.wait()
        return await embed(self, texts, role)

    monkeypatch.setattr(HashEmbedder, "embed", held)
    monkeypatch.setattr(routes, "POLL_S", 0.02)
    return go_on


async def test_each_change_is_told_once_and_a_stream_goes_on_where_it_was_cut(
    company: Company, slow: asyncio.Event
) -> None:
    job = await accepted(company, LONG)
    first: list[tuple[str, Json]] = []
    async for id_, name, data in stream(company.admin, job):
        if name == "job":
            first.append((id_, data))
        if data and data["progress"]["stage"] == "embedding":
            break
    slow.set()
    rest = await changes(company.admin, job, **{"last-event-id": first[-1][0]})
    whole = await changes(company.admin, job)
    assert first + rest == whole
    assert [id_ for id_, _ in whole] == [str(n) for n in range(1, len(whole) + 1)]
    told = [(data["state"], data["progress"]["stage"], data["progress"]["batches_done"]) for _, data in whole]
    total = whole[-1][1]["progress"]["batches_total"]
    assert total > 1
    assert told == [
        ("queued", None, None),
        ("running", None, None),
        ("running", "reading", None),
        *[("running", "embedding", n) for n in range(total)],
        ("running", "writing", total),
        ("completed", "writing", total),
    ]
    assert await changes(company.admin, job, **{"last-event-id": str(len(whole))}) == []
    shown = await company.admin.got(f"/v1/jobs/{job}")
    assert shown == whole[-1][1]
    names = ("id", "name", "state", "attempt", "error")
    assert [shown[name] for name in names] == [job, "ingestion.run", "completed", 1, None]
    malformed = await company.admin.get(f"/v1/jobs/{job}/events", headers={"last-event-id": "x"})
    assert malformed.status_code == 422


async def test_a_text_of_one_batch_that_is_taken_in_is_told_as_done(company: Company) -> None:
    end = (await changes(company.admin, await accepted(company, "Noon.")))[-1][1]
    told = ("stage", "batches_done", "batches_total")
    assert (end["state"], *(end["progress"][name] for name in told)) == ("completed", "writing", 1, 1)


async def test_a_job_whose_document_was_deleted_ends_as_cancelled_and_says_why(
    company: Company, slow: asyncio.Event
) -> None:
    job = await accepted(company, LONG)
    shown = await company.admin.got(f"/v1/jobs/{job}")
    path = f"/v1/knowledge-bases/{shown['knowledge_base_id']}/documents/{shown['document_id']}"
    assert (await company.admin.delete(path)).status_code == 200
    slow.set()
    end = (await changes(company.admin, job))[-1][1]
    assert (end["state"], end["error"]["code"]) == ("cancelled", "no_longer_wanted")
    assert end["error"]["message"].startswith("What the job was for was deleted or replaced")


async def test_a_job_that_failed_says_what_to_do(company: Company) -> None:
    job = await accepted(company, "---")
    (_, end), *_ = reversed(await changes(company.admin, job, **{"accept-language": "fr"}))
    assert (end["state"], end["error"]["code"]) == ("failed", "content_empty")
    assert end["error"]["message"].startswith("Il ne reste rien à lire")
    assert end["error"]["message_i18n"]["en"].endswith("Check that it holds words.")
    assert end["error"]["details"]["fields"][0]["path"] == "content"
    assert end["error"]["docs_url"] == "/docs/errors/content_empty"


async def test_a_job_is_for_who_asked_for_it_and_for_administrators(company: Company) -> None:
    owner, other = await company.person("kb_manager"), await company.person("kb_manager")
    key = await owner.api.made("/v1/api-keys", {"principal_id": owner.id, "scopes": ["rag:query"]})
    base = (
        await owner.api.made(
            "/v1/knowledge-bases", {"name": f"b {uuid4()}", "embedding_model": "local-hash-256"}
        )
    )["id"]
    answer = await owner.api.post(
        f"/v1/knowledge-bases/{base}/documents",
        json={"title": "A", "content": "Noon."},
        headers={"prefer": "respond-async"},
    )
    job, missing = answer.json()["job_id"], str(uuid4())
    narrow = Caller(str(owner.api.base_url), key["api_key"])
    async with narrow:
        assert (await narrow.got(f"/v1/jobs/{job}"))["id"] == job
    assert (await changes(company.admin, job))[-1][1]["state"] == "completed"
    for path in ("", "/events"):
        refusals = [
            await other.api.get(f"/v1/jobs/{job}{path}"),
            await other.api.get(f"/v1/jobs/{missing}{path}"),
            await other.api.get(f"/v1/jobs/nonsense{path}"),
        ]
        assert {refusal.status_code for refusal in refusals} == {404}
        bodies = [_told(refusal.json()) for refusal in refusals]
        assert bodies == [bodies[0]] * 3


def _told(body: Json) -> Any:
    body["error"].pop("request_id")
    return {name: value for name, value in body.items() if name != "instance"}


async def test_a_stream_is_judged_again_and_kept_awake_and_counted(
    company: Company, slow: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "REAUTHORISE_S", 0.2)
    monkeypatch.setattr(routes, "HEARTBEAT_S", 0.05)
    follower = await company.person("tenant_admin")
    job = await accepted(company, "Noon.")
    comments, end = 0, None
    async with asyncio.timeout(30):
        async for _, name, data in stream(follower.api, job):
            comments += name == ":"
            if comments == 3:
                own = (await company.admin.got("/v1/api-keys", principal_id=follower.id))["data"][0]["id"]
                assert (await company.admin.delete(f"/v1/api-keys/{own}")).status_code == 204
            end = (name, data)
    assert end is not None
    assert (end[0], end[1]["error"]["code"]) == ("error", "unauthenticated")
    slow.set()


async def test_nobody_has_more_than_half_of_the_streams_that_a_tenant_has(
    company: Company, slow: asyncio.Event
) -> None:
    job = await accepted(company, "Noon.")
    other, late = await company.person("tenant_admin"), await company.person("tenant_admin")
    streams = [aiter(stream(company.admin, job)) for _ in range(10)]
    await asyncio.gather(*(anext(each) for each in streams))
    refused = await company.admin.get(f"/v1/jobs/{job}/events")
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limited")
    streams += [aiter(stream(other.api, job)) for _ in range(10)]
    await asyncio.gather(*(anext(each) for each in streams[10:]))
    assert (await late.api.get(f"/v1/jobs/{job}/events")).status_code == 429
    slow.set()
    for each in streams:
        async for _ in each:
            pass
    assert (await changes(company.admin, job))[-1][1]["state"] == "completed"
