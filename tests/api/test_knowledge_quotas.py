"""Quotas on what is kept: none is passed, by many at once neither, and a refusal leaves nothing."""

import asyncio
from typing import Any

import httpx2
import pytest

from eai.gateway.ports import Embedded
from eai.integrations.local_models import HashEmbedder
from eai.kernel.errors import BadGateway
from tests.conftest import DatabaseUrls
from tests.invariants import Judge
from tests.stack import Caller, Company, Json, Stack

QUOTAS = "/v1/finops/quotas"


async def limit(company: Company, metric: str, most: int, owner: str = "tenant", **more: Any) -> str:
    """The path of a quota that is set."""
    body = {"owner": owner, "metric": metric, "limit": most, **more}
    answer = await company.admin.put(QUOTAS, json=body)
    assert answer.status_code == 200, answer.text
    return f"{QUOTAS}/{answer.json()['id']}"


async def add(by: Caller, base: str, content: str, **fields: Any) -> httpx2.Response:
    body = {"title": "A", "content": content, **fields}
    return await by.post(f"/v1/knowledge-bases/{base}/documents", json=body)


async def stands(company: Company, quota: str) -> tuple[int, int]:
    shown = await company.admin.got(quota)
    assert (shown["window"], shown["reserved"], shown["resets_at"]) == ("total", 0, None)
    return shown["used"], shown["remaining"]


def refusal(answer: httpx2.Response) -> Json:
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "quota_exceeded"), answer.text
    return dict(answer.json()["error"]["details"])


@pytest.fixture
def judge(stack: Stack, stack_urls: DatabaseUrls) -> Judge:
    return Judge(stack_urls.admin, stack.platform.vectors)


async def test_many_at_once_do_not_pass_a_limit_together_and_what_is_refused_leaves_nothing(
    company: Company, judge: Judge
) -> None:
    bases = await limit(company, "knowledge_bases", 3)
    made = await asyncio.gather(
        *(
            company.admin.post(
                "/v1/knowledge-bases", json={"name": f"base {n}", "embedding_model": "local-hash-256"}
            )
            for n in range(8)
        )
    )
    assert sorted(answer.status_code for answer in made) == [201] * 3 + [409] * 5
    assert await stands(company, bases) == (3, 0)
    base = next(answer.json()["id"] for answer in made if answer.is_success)
    documents = await limit(company, "documents", 4, f"knowledge_base:{base}")
    added = await asyncio.gather(*(add(company.admin, base, f"Parcel {n}.") for n in range(16)))
    assert sorted(answer.status_code for answer in added) == [201] * 4 + [409] * 12
    told = refusal(next(answer for answer in added if answer.status_code == 409))
    assert told == {
        "owner": f"knowledge_base:{base}", "metric": "documents", "window": "total",
        "limit": 4, "requested": 1, "used": 4,
    }  # fmt: skip
    assert await stands(company, documents) == (4, 0)
    listed = (await company.admin.got(f"/v1/knowledge-bases/{base}/documents"))["data"]
    assert len(listed) == 4
    ingested = await company.admin.got("/v1/audit/events", action="knowledge.document.ingest")
    assert len(ingested["data"]) == 4
    # Nothing is used up: what goes makes room, and another base has its own count.
    gone = f"/v1/knowledge-bases/{base}/documents/{listed[0]['id']}"
    assert (await company.admin.delete(gone)).status_code == 200
    assert (await add(company.admin, base, "Another parcel.")).status_code == 201
    await judge.judge(company.id)


async def test_bytes_are_counted_by_what_a_replacement_adds(company: Company, judge: Judge) -> None:
    base, other = await company.base(), await company.base()
    quota = await limit(company, "bytes", 100)
    first = (await add(company.admin, base, "a" * 60)).json()["id"]
    assert (await add(company.admin, base, "é" * 20)).status_code == 201
    assert refusal(await add(company.admin, base, "x"))["used"] == 100
    assert (await add(company.admin, other, "b" * 100)).status_code == 201
    path = f"/v1/knowledge-bases/{base}/documents/{first}"
    assert refusal(await company.admin.put(path, json={"content": "c" * 61}))["requested"] == 1
    versions = (await company.admin.got(f"{path}/versions"))["data"]
    assert [version["version"] for version in versions] == ["1"]
    sent = await asyncio.gather(
        *(company.admin.put(path, json={"content": letter * 55}) for letter in "cdef"),
        *(add(company.admin, base, letter * 5) for letter in "ghij"),
    )
    assert {answer.status_code for answer in sent} <= {201, 202, 409}
    assert (await stands(company, quota))[0] == 100
    # Only once it answers does a shorter text make room.
    await judge.judge(company.id)
    await asyncio.gather(*(add(company.admin, base, letter * 5) for letter in "lmn"))
    used, _ = await stands(company, await limit(company, "bytes", 10_000, f"knowledge_base:{base}"))
    assert used == 100
    assert await stands(company, quota) == (100, 0)
    # A limit that was lowered lets in what makes it less.
    await limit(company, "bytes", 10)
    assert refusal(await company.admin.put(path, json={"content": "k" * 56}))["limit"] == 10
    assert (await company.admin.put(path, json={"content": "k" * 50})).status_code == 202
    assert (await company.admin.put(path, json={"title": "No text"})).status_code == 200
    await judge.judge(company.id)


async def test_what_many_sources_call_alike_takes_one_place(company: Company, judge: Judge) -> None:
    base = await company.base()
    quota = await limit(company, "documents", 1)
    sent = await asyncio.gather(
        *(add(company.admin, base, f"Parcel {n}.", external_id="depot/1") for n in range(4))
    )
    assert sorted(answer.status_code for answer in sent) == [201] + [202] * 3
    assert len({answer.json()["id"] for answer in sent}) == 1
    await judge.judge(company.id)
    assert await stands(company, quota) == (1, 0)


async def test_a_shorter_text_that_fails_has_made_no_room(company: Company, judge: Judge) -> None:
    base = await company.base()
    quota = await limit(company, "bytes", 100)
    first = (await add(company.admin, base, "a" * 90)).json()["id"]
    path = f"/v1/knowledge-bases/{base}/documents/{first}"
    nothing_to_read = await company.admin.put(path, json={"content": "---"})
    assert nothing_to_read.status_code == 202
    assert refusal(await add(company.admin, base, "b" * 90))["used"] == 90
    await judge.judge(company.id)
    assert (await company.admin.got(path))["pending_version"]["status"] == "failed"
    assert await stands(company, quota) == (90, 10)


async def test_what_failed_does_not_count_until_it_is_tried_again(
    company: Company, monkeypatch: pytest.MonkeyPatch, judge: Judge
) -> None:
    base = await company.base()
    embed = HashEmbedder.embed

    async def failing(*_: object) -> Embedded:
        raise BadGateway

    monkeypatch.setattr(HashEmbedder, "embed", failing)
    body = {"title": "A", "content": "Parcels."}
    answer = await company.admin.post(
        f"/v1/knowledge-bases/{base}/documents", json=body, headers={"prefer": "respond-async"}
    )
    await judge.judge(company.id)
    monkeypatch.setattr(HashEmbedder, "embed", embed)
    await limit(company, "documents", 1)
    assert (await add(company.admin, base, "Letters.")).status_code == 201
    assert refusal(await company.admin.post(f"{answer.headers['location']}/retry"))["used"] == 1
    assert (await company.admin.got(answer.headers["location"]))["status"] == "failed"
    await limit(company, "documents", 2)
    assert (await company.admin.post(f"{answer.headers['location']}/retry")).status_code == 202
    await judge.judge(company.id)


async def test_a_group_binds_its_members_and_a_month_of_tokens_is_foreseen(company: Company) -> None:
    member = await company.person("kb_manager")
    group = await company.group(member)
    base = await company.base()
    acl = f"/v1/knowledge-bases/{base}/acl"
    entry = {"principal": member.reference, "permission": "write", "effect": "allow"}
    entries = [*(await company.admin.got(acl))["entries"], entry]
    assert (await company.admin.put(acl, json={"entries": entries})).is_success
    await limit(company, "documents", 1, group)
    assert (await add(member.api, base, "One.")).status_code == 201
    assert refusal(await add(member.api, base, "Two."))["owner"] == group
    assert (await add(company.admin, base, "Two.")).status_code == 201
    await limit(company, "tokens", 1_000)
    patient = {"title": "A", "content": "Parcels leave at noon. " * 200}
    answer = await company.admin.post(
        f"/v1/knowledge-bases/{base}/documents", json=patient, headers={"prefer": "respond-async"}
    )
    told = refusal(answer)
    assert (told["metric"], told["window"], told["requested"]) == ("tokens", "month", 1_150)
    assert len((await company.admin.got(f"/v1/knowledge-bases/{base}/documents"))["data"]) == 2


async def test_a_metric_has_its_own_windows_and_owners(company: Company) -> None:
    group = await company.group()
    for owner, metric, window, code in (
        ("tenant", "bytes", "month", "window_not_for_metric"),
        ("tenant", "tokens", "total", "window_not_for_metric"),
        (group, "knowledge_bases", "total", "owner_not_for_metric"),
    ):
        body = {"owner": owner, "metric": metric, "limit": 1, "window": window}
        answer = await company.admin.put(QUOTAS, json=body)
        assert answer.status_code == 422
        assert [field["code"] for field in answer.json()["error"]["details"]["fields"]] == [code]
