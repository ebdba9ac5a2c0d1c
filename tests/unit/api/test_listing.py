from typing import Annotated

import pytest
from fastapi import Depends
from pydantic import BaseModel

from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.etags import ETag
from eai.api.governed_route import GovernedRouter
from eai.api.listing import Listing, PageQuery
from eai.api.requirement import require
from eai.kernel.paging import Page
from tests.fakes.platform import Plumbing, subject

Reader = Annotated[Subject, Depends(require(Scope.KB_READ))]

router = GovernedRouter()


class Thing(BaseModel):
    number: int


@router.get("/numbers")
async def numbers(caller: Reader, page: PageQuery, parity: str | None = None) -> Listing[int]:
    """Numbers below ten."""
    wanted = [n for n in range(10) if parity is None or n % 2 == (parity == "odd")]
    after = int(page.request.after[0]) if page.request.after else -1
    rest = [n for n in wanted if n > after]
    shown = rest[: page.request.limit]
    return page.answer(Page(shown, (str(shown[-1]),) if len(rest) > len(shown) else None))


@router.get("/one")
async def one(caller: Reader, etag: ETag) -> Thing:
    """One thing."""
    return etag.show(Thing(number=1), 3)


@pytest.fixture
def plumbing() -> Plumbing:
    return Plumbing(router)


async def test_a_list_is_walked_by_its_cursors_or_its_links(plumbing: Plumbing) -> None:
    async with plumbing.client(subject(Scope.KB_READ)) as client:
        seen: list[int] = []
        address = "/v1/numbers?parity=odd&limit=2"
        while address:
            answer = await client.get(address)
            seen += answer.json()["data"]
            address = answer.links["next"]["url"] if answer.json()["has_more"] else ""
    assert seen == [1, 3, 5, 7, 9]
    assert answer.json() == {"data": [9], "has_more": False, "next_cursor": None}
    assert "link" not in answer.headers


async def test_a_cursor_serves_only_its_reader_and_its_list(plumbing: Plumbing) -> None:
    async with plumbing.client(subject(Scope.KB_READ)) as client:
        cursor = (await client.get("/v1/numbers?limit=2")).json()["next_cursor"]
        assert (await client.get("/v1/numbers", params={"cursor": cursor})).status_code == 200
        other_filter = await client.get("/v1/numbers", params={"cursor": cursor, "parity": "odd"})
        edited = await client.get("/v1/numbers", params={"cursor": cursor[:-2] + "AA"})
    async with plumbing.client(subject(Scope.KB_READ)) as other:
        stolen = await other.get("/v1/numbers", params={"cursor": cursor})
    for answer in (other_filter, edited, stolen):
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "cursor_invalid")


@pytest.mark.parametrize("limit", ["0", "201", "-1", "1e9", "many"])
async def test_a_page_has_1_to_200_entries(plumbing: Plumbing, limit: str) -> None:
    async with plumbing.client(subject(Scope.KB_READ)) as client:
        answer = await client.get("/v1/numbers", params={"limit": limit})
    assert answer.status_code == 422
    assert answer.json()["error"]["details"]["fields"][0]["path"] == "limit"


async def test_a_thing_that_did_not_change_is_not_sent_again(plumbing: Plumbing) -> None:
    async with plumbing.client(subject(Scope.KB_READ)) as client:
        first = await client.get("/v1/one")
        again = await client.get("/v1/one", headers={"if-none-match": first.headers["etag"]})
    async with plumbing.client(subject()) as stranger:
        refused = await stranger.get("/v1/one", headers={"if-none-match": first.headers["etag"]})
    assert first.headers["cache-control"] == "private, no-cache"
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    assert refused.status_code == 403
