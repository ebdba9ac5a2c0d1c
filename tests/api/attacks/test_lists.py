"""Attack lines 18 and 25: cursors that were made for others, and what counts tell."""

from typing import Any

import httpx2
import pytest

from tests.api.matrix.operations import Operation, operations
from tests.api.matrix.requests import Request
from tests.api.matrix.world import World
from tests.stack import Caller, Company, Stack

LISTS = [op for op in operations().values() if any(p["name"] == "cursor" for p in op.parameters("query"))]
every_list = pytest.mark.parametrize("operation", LISTS, ids=[op.name for op in LISTS])


def code(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"] if answer.is_error else ""


@pytest.fixture(scope="module")
async def cursors(stack: Stack, world: World) -> dict[str, str]:
    """A cursor of each list that has two pages, as its reader got it."""
    admin, base = world.mine.admin, world.my.base
    for name in ("Second", "Third"):
        await admin.post("/v1/knowledge-bases", json={"name": name, "embedding_model": "local-hash-256"})
        await admin.post("/v1/groups", json={"name": name})
    await stack.company()
    found = {}
    for operation in LISTS:
        answer = await listed(world, operation, limit="1")
        if (cursor := answer.json()["next_cursor"]) is not None:
            found[operation.name] = cursor
    assert {"list_knowledge_bases", "list_documents", "list_principals", "list_groups", "list_api_keys",
            "list_tenants", "list_audit_events"} <= set(found), base  # fmt: skip
    return found


def reader_of(world: World, operation: Operation) -> Caller:
    return world.stack.operator if operation.is_for_operators else world.mine.admin


async def listed(
    world: World, operation: Operation, caller: Caller | None = None, things: Any = None, **query: str
) -> httpx2.Response:
    request = Request.of(operation, things or world.my)
    asked = Request(operation, request.path, query)
    return await asked.sent(caller or reader_of(world, operation))


@every_list
async def test_a_cursor_opens_the_next_page_of_its_list_for_its_reader(
    world: World, cursors: dict[str, str], operation: Operation
) -> None:
    if operation.name not in cursors:
        pytest.skip("one page")
    first = await listed(world, operation, limit="1")
    second = await listed(world, operation, limit="1", cursor=cursors[operation.name])
    assert second.status_code == 200
    assert second.json()["data"] != first.json()["data"]


@every_list
async def test_a_cursor_of_somebody_else_or_of_elsewhere_is_refused(
    world: World, cursors: dict[str, str], operation: Operation
) -> None:
    invalid = (400, "cursor_invalid")
    own = cursors.get(operation.name)
    for name, cursor in cursors.items():
        if name != operation.name:
            assert code(await listed(world, operation, cursor=cursor)) == invalid, name
    for nonsense in ("x", "AAAA", "e30", "=", "é", "0" * 1999, "../x", "' OR 1=1 --"):
        assert code(await listed(world, operation, cursor=nonsense)) == invalid, nonsense
    if own is None:
        return
    edited = [
        own[:at] + ("A" if own[at] != "A" else "B") + own[at + 1 :] for at in (0, 10, len(own) // 2, -2)
    ]
    for cursor in (*edited, own[:-4], own + "AAAA", own * 2):
        assert code(await listed(world, operation, cursor=cursor)) == invalid, cursor
    if not operation.is_for_operators:
        theirs = await listed(world, operation, world.theirs.admin, world.their, cursor=own)
        assert code(theirs) == invalid
        colleague = (
            (await world.without(frozenset({"gateway:invoke"}))) if operation.name != "list_models" else None
        )
        if colleague is not None:
            assert code(await listed(world, operation, colleague, cursor=own)) == invalid


async def test_a_cursor_belongs_to_its_filters(world: World, cursors: dict[str, str]) -> None:
    operation = operations()["list_documents"]
    for query in ({"q": "About"}, {"status": "ready"}, {"external_id": "x"}):
        refused = await listed(world, operation, cursor=cursors["list_documents"], **query)
        assert code(refused) == (400, "cursor_invalid")


@every_list
@pytest.mark.parametrize("limit", ["0", "-1", "201", "1e9", "999999999999999999999", "a", "1.5", ""])
async def test_a_page_has_a_largest_size(world: World, operation: Operation, limit: str) -> None:
    answer = await listed(world, operation, limit=limit)
    assert code(answer) == (422, "invalid_input")
    assert [fault["path"] for fault in answer.json()["error"]["details"]["fields"]] == ["limit"]


async def test_pages_and_counts_are_the_same_whether_or_not_something_is_hidden(company: Company) -> None:
    reader = await company.person("member")
    base = await company.base(reader.reference)
    await company.document(base, "An open parcel.")

    async def seen() -> list[Any]:
        path = f"/v1/knowledge-bases/{base}"
        question = {"query": "parcel", "top_k": 1, "explain": True}
        return [
            await reader.api.got(f"{path}/documents", limit=1),
            await reader.api.got(f"{path}/documents", q="parcel"),
            await reader.api.got("/v1/knowledge-bases", limit=1),
            await reader.api.made(f"{path}/query", question, status=200),
            await reader.api.made(f"{path}/query", {**question, "top_k": 100}, status=200),
        ]

    def without_counters(answers: list[Any]) -> list[Any]:
        for page in answers[:2]:
            for document in page["data"]:
                del document["retrieval_count"], document["last_retrieved_at"]
        return answers

    before = without_counters(await seen())
    for number in range(12):
        await company.document(base, f"A hidden parcel {number}.", title="A parcel", readers=[])
        await company.document(base, f"Another parcel {number}.", classification="secret")
        await company.base()
    assert without_counters(await seen()) == before
    shown = await reader.api.got(f"/v1/knowledge-bases/{base}")
    assert (shown["documents_count"], shown["chunks_count"]) == (None, None)
