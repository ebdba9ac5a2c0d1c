"""A document is replaced while it is replaced, deleted or moved to other rights (faults 25 and 26)."""

from itertools import permutations

import pytest

from tests.integration.faults.outages import Turnstile, eventually
from tests.integration.faults.test_races import AFTER_EMBEDDING, AFTER_WRITING
from tests.invariants import Judge
from tests.stack import Company, Json

OLD, NEW, NEWER = (f"Refunds are paid within {n} days." for n in ("seven", "nine", "eleven"))


def path_of(base: str, document: str) -> str:
    return f"/v1/knowledge-bases/{base}/documents/{document}"


async def put(company: Company, path: str, text: str) -> None:
    answer = await company.admin.put(path, json={"content": text})
    assert answer.status_code == 202, answer.text


async def texts(company: Company, base: str) -> list[str]:
    body = {"query": "refunds"}
    found = await company.admin.made(f"/v1/knowledge-bases/{base}/query", body, status=200)
    return [hit["content"] for hit in found["results"]]


@pytest.mark.parametrize("stage", [AFTER_EMBEDDING, AFTER_WRITING])
async def test_a_text_that_was_overtaken_is_dropped_and_the_newer_one_served(
    company: Company, turnstile: Turnstile, judge: Judge, stage: str
) -> None:
    base = await company.base()
    path = path_of(base, await company.document(base, OLD))
    async with turnstile.holding(stage) as held:
        await put(company, path, NEW)
        await held.reached.wait()
        await put(company, path, NEWER)

        async def is_served() -> bool:
            return bool((await company.admin.got(path))["version"] == "3")

        await eventually(is_served)
        held.go_on.set()
    await judge.judge(company.id)
    assert await texts(company, base) == [NEWER]
    versions = (await company.admin.got(f"{path}/versions"))["data"]
    told = [(v["version"], v["status"], (v["error"] or {}).get("code")) for v in versions]
    assert told == [("3", "ready", None), ("2", "failed", "version_superseded"), ("1", "ready", None)]


async def test_every_order_of_changes_to_a_document_ends_as_if_they_had_come_in_one(
    company: Company, turnstile: Turnstile, judge: Judge
) -> None:
    """While a new text is on its way: another one, other rights and a deletion, in every order."""
    base = await company.base()
    orders = list(permutations(("put", "acl", "delete"), 2))
    paths = [path_of(base, await company.document(base, f"{OLD} {n}")) for n, _ in enumerate(orders)]

    async def change(path: str, what: str) -> None:
        sends: Json = {
            "put": lambda: company.admin.put(path, json={"content": f"{NEWER} {path}"}),
            "acl": lambda: company.admin.put(f"{path}/acl", json={"readers": []}),
            "delete": lambda: company.admin.delete(path),
        }
        answer = await sends[what]()
        assert answer.status_code in {200, 202, 404}, answer.text

    for path, order in zip(paths, orders, strict=True):
        async with turnstile.holding(AFTER_WRITING) as held:
            await put(company, path, f"{NEW} {path}")
            await held.reached.wait()
            for what in order:
                await change(path, what)
    await judge.judge(company.id)
    for path, order in zip(paths, orders, strict=True):
        answer = await company.admin.get(path)
        assert answer.status_code == (404 if "delete" in order else 200)
        if answer.is_success:
            assert (answer.json()["version"], answer.json()["readers"]) == ("3", [])
    assert await texts(company, base) == []
