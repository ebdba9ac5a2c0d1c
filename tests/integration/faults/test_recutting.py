"""What happens to a document while a passage of it is cut anew (faults 23, 25)."""

import asyncio

import httpx2
import pytest

from tests.integration.faults.outages import Turnstile, eventually, have_jobs_taken_over
from tests.invariants import Judge
from tests.stack import Company, Json, Person

SAID, HIDDEN, MORE = "Refunds are paid.", "The reserve for refunds is small.", "Refunds take a week."
PART = {"start": len(SAID), "end": len(SAID) + len(HIDDEN) + 1, "readers": []}
ALL = {"start": 0, "end": 200, "readers": []}


class Page:
    """A document of one passage, of which everybody may read everything."""

    def __init__(self, company: Company, reader: Person, base: str, document: str) -> None:
        self._company, self._reader, self.base = company, reader, base
        self._path = f"/v1/knowledge-bases/{base}/documents/{document}"

    @classmethod
    async def of(cls, company: Company) -> "Page":
        reader, base = await company.person("member"), await company.base("tenant:*")
        path, body = (
            f"/v1/knowledge-bases/{base}/documents",
            {"title": "A", "content": f"{SAID} {HIDDEN} {MORE}"},
        )
        made = (await company.admin.post(path, json=body)).json()

        # The first text of all may take longer than a lease here, and is then a worker's.
        async def is_ready() -> bool:
            return (await company.admin.got(f"{path}/{made['id']}"))["status"] == "ready"

        await eventually(is_ready)
        return cls(company, reader, base, made["id"])

    async def give(self, *parts: Json) -> None:
        body = {"chunk_readers": list(parts), "reason": "Test"}
        answer = await self._company.admin.put(f"{self._path}/acl", json=body)
        assert answer.status_code == 200, answer.text

    async def replace(self) -> httpx2.Response:
        return await self._company.admin.put(self._path, json={"content": MORE, "chunk_readers": []})

    async def delete(self) -> httpx2.Response:
        return await self._company.admin.delete(self._path)

    async def found(self) -> list[str]:
        """What somebody finds for whom no part is open that is closed to anybody."""
        path = f"/v1/knowledge-bases/{self.base}/query"
        answer = await self._reader.api.made(path, {"query": "refunds", "top_k": 20}, status=200)
        return sorted(hit["content"] for hit in answer["results"])


@pytest.mark.parametrize(
    ("meanwhile", "in_the_end"),
    [
        ("nothing", [SAID, MORE]),
        ("more is hidden", []),
        ("all is opened", [f"{SAID} {HIDDEN} {MORE}"]),
        ("it is replaced", [MORE]),
        ("it is deleted", []),
    ],
)
async def test_whatever_happens_while_a_passage_is_cut_nothing_is_shown_that_is_hidden(
    company: Company, turnstile: Turnstile, judge: Judge, meanwhile: str, in_the_end: list[str]
) -> None:
    page = await Page.of(company)
    await judge.judge(company.id)
    async with turnstile.holding("upsert") as held:
        await page.give(PART)
        await held.reached.wait()
        assert await page.found() == []
        match meanwhile:
            case "more is hidden":
                await page.give(ALL)
            case "all is opened":
                await page.give()
            case "it is replaced":
                assert (await page.replace()).status_code == 202
            case "it is deleted":
                assert (await page.delete()).status_code == 200
    await judge.judge(company.id)
    assert await page.found() == in_the_end


async def test_an_attempt_that_was_frozen_leaves_no_piece_of_what_it_wrote_too_late(
    company: Company, turnstile: Turnstile, judge: Judge
) -> None:
    page = await Page.of(company)
    await judge.judge(company.id)
    async with turnstile.holding("upsert", is_frozen=True) as held:
        await page.give(PART)
        await held.reached.wait()
        await have_jobs_taken_over(judge.admin_url, company.id)
        await judge.judge(company.id)
        assert await page.found() == [SAID, MORE]
        await page.give(ALL)
        await judge.judge(company.id)
        held.go_on.set()
        await asyncio.wait_for(held.ended.wait(), 30)
    await judge.judge(company.id)
    assert await page.found() == []


async def test_what_rights_divide_that_came_since_is_cut_once_a_reindex_is_taken_back(
    company: Company, judge: Judge
) -> None:
    page = await Page.of(company)
    path = f"/v1/knowledge-bases/{page.base}"
    job = await company.admin.made(f"{path}/reindex", {}, status=202)
    await judge.judge(company.id)
    await page.give(PART)
    await judge.judge(company.id)
    assert await page.found() == [SAID, MORE]
    back = await company.admin.made(f"{path}/reindex-jobs/{job['job_id']}/rollback", {}, status=202)
    await judge.judge(company.id)
    done = await company.admin.got(f"{path}/reindex-jobs/{back['job_id']}")
    assert done["status"] == "completed"
    assert await page.found() == [SAID, MORE]


async def test_who_changes_rights_does_not_wait_for_the_store_to_remove_what_was_cut(
    company: Company, turnstile: Turnstile, judge: Judge
) -> None:
    page = await Page.of(company)
    await judge.judge(company.id)
    async with turnstile.holding("delete") as held:
        await page.give(PART)
        await held.reached.wait()
        async with asyncio.timeout(10):
            await page.give(ALL)
        assert await page.found() == []
    await judge.judge(company.id)
    assert await page.found() == []


@pytest.mark.parametrize("is_frozen", [False, True], ids=["late", "frozen"])
async def test_what_is_removed_late_is_written_again_where_it_has_come_to_be_served(
    company: Company, turnstile: Turnstile, judge: Judge, is_frozen: bool
) -> None:
    page = await Page.of(company)
    await judge.judge(company.id)
    async with turnstile.holding("delete", is_frozen=is_frozen) as held:
        async with turnstile.holding("upsert") as cutting:
            await page.give(PART)
            await cutting.reached.wait()
            await page.give()
        # Its pieces have no rows, and are about to go.
        await held.reached.wait()
        if is_frozen:
            await have_jobs_taken_over(judge.admin_url, company.id)
            await judge.judge(company.id)
        await page.give(PART)
        await eventually(lambda: is_cut(page))
        held.go_on.set()
        await asyncio.wait_for(held.ended.wait(), 30)
    await judge.judge(company.id)
    assert await page.found() == [SAID, MORE]


async def is_cut(page: Page) -> bool:
    return await page.found() == [SAID, MORE]
