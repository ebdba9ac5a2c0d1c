"""After any change the very next answer is the one that nobody has cached.

A question is asked twice, so that the second answer comes from the cache; something is changed; it is asked
again, and once more with the cache switched off. The two last must not differ.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest

from eai.ingestion.recutting import Recutting
from eai.kernel.ids import TenantId
from tests.api.test_privacy_routes import erased
from tests.api.test_reindex_routes import ended, reindex
from tests.api.test_retention_routes import Calendar
from tests.api.test_review_routes import documents, settled
from tests.conftest import DatabaseUrls
from tests.integration.faults.outages import eventually
from tests.stack import Caller, Company, Json, Person, Stack

QUESTION = "Which refund does ann@example.org get?"
NAME, CARD = "Jeanne Morel", "4111 1111 1111 1111"
OPEN = "A refund is paid within a week."
GROUP = "A refund above a thousand euros is signed twice."
WIKI = f"{NAME} says on the wiki that a refund takes a form."
FIRST, SECOND = "The first refund goes to the depot.", "The second refund goes to the shop."
ALL = {"open", "group", "wiki"}
REASON = {"reason": "A test"}
WEIGHED = {"score", "keyword_score"}

Refused = tuple[int, str]


@dataclass
class Scene:
    """A base with a text for everybody, one for a group and one from a source; and who asks."""

    stack: Stack
    company: Company
    reader: Person
    base: str
    group: str
    ids: dict[str, str]
    calendar: Calendar
    asker: Caller
    kept: dict[str, Any] = field(default_factory=dict)

    @classmethod
    async def of(cls, stack: Stack, company: Company, urls: DatabaseUrls) -> "Scene":
        reader = await company.person("member", clearance="internal")
        group = await company.group(reader)
        await company.connector(name="wiki")
        base = await company.base(reader.reference)
        texts: dict[str, tuple[str, Json]] = {
            "open": (OPEN, {}),
            "group": (GROUP, {"readers": [group]}),
            "wiki": (WIKI, {"source_connector": "wiki"}),
        }
        ids = {
            title: await company.document(base, text, title=title, **fields)
            for title, (text, fields) in texts.items()
        }
        await cls._cache(company, "secret")
        calendar = Calendar(stack, company, urls.admin)
        return cls(stack, company, reader, base, group, ids, calendar, reader.api)

    @property
    def admin(self) -> Caller:
        return self.company.admin

    def path(self, title: str) -> str:
        return documents(self.base, self.ids[title])

    async def ask(self) -> tuple[set[str] | Refused, Any, bool]:
        """The titles that were found, or the refusal; all of the answer; and whether it was cached."""
        body = {"query": QUESTION, "top_k": 50, "explain": True}
        answer = await self.asker.post(f"/v1/knowledge-bases/{self.base}/query", json=body)
        if answer.is_error:
            refused = (answer.status_code, str(answer.json()["error"]["code"]))
            return refused, refused, False
        events = await self.admin.got("/v1/audit/events", action="knowledge.query", limit=200)
        told = next(
            event for event in events["data"] if event["request_id"] == answer.headers["x-request-id"]
        )
        titles = {hit["title"] for hit in answer.json()["results"]}
        return titles, answer.json(), bool(told["facts"].get("is_cached"))

    async def plainly(self) -> Any:
        """What is answered without a cache."""
        await self._cache(self.company, None)
        return (await self.ask())[1]

    async def put(self, path: str, body: Json, status: int = 200) -> None:
        answer = await self.admin.put(path, json=body)
        assert answer.status_code == status, answer.text

    async def patch(self, path: str, body: Json) -> None:
        answer = await self.admin.patch(path, json=body)
        assert answer.status_code == 200, answer.text

    async def delete(self, path: str) -> None:
        answer = await self.admin.delete(path)
        assert answer.is_success, answer.text

    async def replaced(self, title: str, content: str) -> None:
        await self.put(self.path(title), {"content": content}, 202)
        await settled(self.admin, self.base, self.ids[title], "2")

    async def told(self, action: str) -> None:
        """Return once the audit tells of it."""

        async def is_told() -> bool:
            return bool((await self.admin.got("/v1/audit/events", action=action))["data"])

        await eventually(is_told)

    @staticmethod
    async def _cache(company: Company, level: str | None) -> None:
        settings = {"cache": {"max_classification": level}}
        assert (await company.admin.patch("/v1/settings", json=settings)).status_code == 200


Change = Callable[[Scene], Awaitable[None]]


async def nothing(_: Scene) -> None:
    """Everything is as it was made."""


def source(**fields: Any) -> Change:
    async def change(scene: Scene) -> None:
        await scene.company.switch("wiki", **fields)

    return change


def rights(title: str, **acl: Any) -> Change:
    async def change(scene: Scene) -> None:
        await scene.put(f"{scene.path(title)}/acl", {**acl, **REASON})

    return change


def part(end: int) -> Change:
    return rights("open", chunk_readers=[{"start": 0, "end": end, "readers": []}])


def fields(document: str, /, **changed: Any) -> Change:
    async def change(scene: Scene) -> None:
        await scene.patch(scene.path(document), changed)

    return change


def text(title: str, content: str) -> Change:
    async def change(scene: Scene) -> None:
        await scene.replaced(title, content)

    return change


async def another_comes(scene: Scene) -> None:
    await scene.company.document(scene.base, "Another refund is paid at once.", title="new")


async def removed(scene: Scene) -> None:
    await scene.delete(scene.path("open"))


async def is_reindexed(scene: Scene) -> None:
    job = await reindex(scene.company, scene.base)
    assert (await ended(scene.admin, scene.base, job))["status"] == "completed"
    scene.kept["job"] = job["job_id"]


async def is_taken_back(scene: Scene) -> None:
    path = f"/v1/knowledge-bases/{scene.base}/reindex-jobs/{scene.kept['job']}/rollback"
    job = await scene.admin.made(path, {}, status=202)
    assert (await ended(scene.admin, scene.base, job))["status"] == "completed"


async def expires(scene: Scene) -> None:
    officer = await scene.company.person("security_officer", clearance="secret")
    scene.calendar.age(scene.ids["open"], 31)
    await officer.api.made("/v1/retention/policies", {"keep_days": 30, "knowledge_base_id": scene.base})
    assert await scene.calendar.look() == 1


def erasure(action: str) -> Change:
    async def change(scene: Scene) -> None:
        officer = await scene.company.person("data_steward", clearance="confidential")
        await erased(officer, action, NAME)

    return change


def members(*, is_in: bool) -> Change:
    async def change(scene: Scene) -> None:
        path = f"/v1/groups/{scene.group.removeprefix('group:')}/members"
        await scene.put(path, {"members": [scene.reader.id] if is_in else []})

    return change


async def group_removed(scene: Scene) -> None:
    await scene.delete(f"/v1/groups/{scene.group.removeprefix('group:')}")


def person(**changed: Any) -> Change:
    async def change(scene: Scene) -> None:
        await scene.patch(f"/v1/principals/{scene.reader.id}", changed)

    return change


async def person_removed(scene: Scene) -> None:
    await scene.delete(f"/v1/principals/{scene.reader.id}")


def base(**changed: Any) -> Change:
    async def change(scene: Scene) -> None:
        await scene.patch(f"/v1/knowledge-bases/{scene.base}", {**changed, **REASON})

    return change


async def base_removed(scene: Scene) -> None:
    await scene.delete(f"/v1/knowledge-bases/{scene.base}")


async def access_withdrawn(scene: Scene) -> None:
    path = f"/v1/knowledge-bases/{scene.base}/acl"
    entries = (await scene.admin.got(path))["entries"]
    await scene.put(path, {"entries": [e for e in entries if e["principal"] != scene.reader.reference]})


def policy(cedar: str) -> Change:
    async def change(scene: Scene) -> None:
        await scene.put("/v1/policies/p", {"cedar": cedar})

    return change


async def policy_removed(scene: Scene) -> None:
    await scene.delete("/v1/policies/p")


def quota(limit: int) -> Change:
    async def change(scene: Scene) -> None:
        body = {"owner": "tenant", "metric": "tokens", "limit": limit}
        answer = await scene.admin.put("/v1/finops/quotas", json=body)
        assert answer.status_code == 200, answer.text
        scene.kept["quota"] = answer.json()["id"]

    return change


async def quota_removed(scene: Scene) -> None:
    await scene.delete(f"/v1/finops/quotas/{scene.kept['quota']}")


async def switch_engaged(scene: Scene) -> None:
    await scene.put("/v1/kill-switches/tenant", {"engaged": True, **REASON})


async def rules_changed(scene: Scene) -> None:
    await scene.patch("/v1/settings", {"dlp": {"email": "block"}})


async def keys_rewrapped(scene: Scene) -> None:
    await scene.stack.platform.key_rewrapping.request(TenantId(UUID(scene.company.id)))
    await scene.told("tenant.keys.rewrap")


async def key_rotated(scene: Scene) -> None:
    path = f"/v1/api-keys/{await _key(scene)}/rotate"
    await scene.admin.made(path, {"grace_seconds": 0}, status=200)


async def key_revoked(scene: Scene) -> None:
    await scene.delete(f"/v1/api-keys/{await _key(scene)}")


async def _key(scene: Scene) -> str:
    listed = await scene.admin.got("/v1/api-keys", limit=200)
    (key,) = [each["id"] for each in listed["data"] if each["principal_id"] == scene.reader.id]
    return str(key)


UNKNOWN: Refused = (401, "unauthenticated")
GONE: Refused = (404, "not_found")
FORBID = "forbid (principal, action, resource);"
OTHERS = "forbid (principal is Agent, action, resource);"

CASES: dict[str, tuple[Change, Change, set[str] | Refused]] = {
    "a source is switched off": (nothing, source(enabled=False), {"open", "group"}),
    "a source is switched on": (source(enabled=False), source(enabled=True), ALL),
    "a source brings other levels": (nothing, source(allowed_classifications=["internal"]), ALL),
    "a document is closed": (nothing, rights("open", readers=[]), {"group", "wiki"}),
    "a document is opened": (rights("open", readers=[]), rights("open", readers=None), ALL),
    "a document is raised": (nothing, rights("open", classification="confidential"), {"group", "wiki"}),
    "a part is hidden": (nothing, part(len(OPEN)), {"group", "wiki"}),
    "a part is opened": (part(len(OPEN)), rights("open", chunk_readers=[]), ALL),
    "a title is worth more": (nothing, fields("open", title=f"open {CARD}"), {"group", "wiki"}),
    "a title is worth less": (fields("open", title=f"open {CARD}"), fields("open", title="open"), ALL),
    "metadata is changed": (nothing, fields("open", metadata={"year": 2026}), ALL),
    "a text is replaced": (nothing, text("open", "A refund is paid on Mondays."), ALL),
    "a text is worth more": (nothing, text("open", f"A refund goes to {CARD}."), {"group", "wiki"}),
    "a document comes": (nothing, another_comes, {*ALL, "new"}),
    "a document is removed": (nothing, removed, {"group", "wiki"}),
    "a document expires": (nothing, expires, {"group", "wiki"}),
    "an erasure removes": (nothing, erasure("remove"), {"open", "group"}),
    "an erasure redacts": (nothing, erasure("redact"), ALL),
    "a base moves to another generation": (nothing, is_reindexed, ALL),
    "a base is taken back": (is_reindexed, is_taken_back, ALL),
    "a base is raised": (nothing, base(classification="confidential"), set()),
    "a base is removed": (nothing, base_removed, GONE),
    "access is withdrawn": (nothing, access_withdrawn, GONE),
    "a group is left": (nothing, members(is_in=False), {"open", "wiki"}),
    "a group is joined": (members(is_in=False), members(is_in=True), ALL),
    "a group is removed": (nothing, group_removed, {"open", "wiki"}),
    "a clearance is lowered": (nothing, person(clearance="public"), set()),
    "a clearance is raised": (person(clearance="public"), person(clearance="internal"), ALL),
    "a role is lost": (nothing, person(roles=[]), (403, "scope_missing")),
    "a person is removed": (nothing, person_removed, UNKNOWN),
    "a policy forbids": (nothing, policy(FORBID), (403, "policy_denied")),
    "a policy forbids others": (nothing, policy(OTHERS), ALL),
    "a policy is removed": (policy(OTHERS), policy_removed, ALL),
    "a quota is used up": (nothing, quota(0), (409, "quota_exceeded")),
    "a quota is removed": (quota(10**9), quota_removed, ALL),
    "a kill switch is engaged": (nothing, switch_engaged, (403, "kill_switch_engaged")),
    "DLP blocks the question": (nothing, rules_changed, (403, "dlp_blocked")),
    "the tenant's keys are rotated": (nothing, keys_rewrapped, ALL),
    "the key is rotated": (nothing, key_rotated, UNKNOWN),
    "the key is revoked": (nothing, key_revoked, UNKNOWN),
}


@pytest.mark.parametrize("case", CASES)
async def test_the_next_answer_is_that_of_a_tenant_without_a_cache(
    stack: Stack, company: Company, stack_urls: DatabaseUrls, case: str
) -> None:
    given, change, left = CASES[case]
    scene = await Scene.of(stack, company, stack_urls)
    await given(scene)
    await warmed(scene)
    await change(scene)
    found, answer, is_cached = await scene.ask()
    assert (found, is_cached) == (left, False)
    assert unscored(answer) == unscored(await scene.plainly())


async def test_a_passage_that_is_cut_anew_is_found_in_its_pieces(
    stack: Stack, company: Company, stack_urls: DatabaseUrls, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = await Scene.of(stack, company, stack_urls)
    scene.ids["two"] = await company.document(scene.base, f"{FIRST} {SECOND}", title="two")
    async with recuts_wait(monkeypatch):
        hidden = {"start": 0, "end": len(FIRST), "readers": []}
        await rights("two", chunk_readers=[hidden])(scene)
        assert await warmed(scene) == ALL
    await scene.told("knowledge.document.recut")

    async def with_the_pieces() -> tuple[Any, bool] | None:
        found, answer, is_cached = await scene.ask()
        assert found in (ALL, {*ALL, "two"})
        return (answer, is_cached) if "two" in found else None

    # Their points follow the rows in a moment.
    answer, is_cached = await eventually(with_the_pieces)
    assert not is_cached
    assert [hit["content"] for hit in answer["results"] if hit["title"] == "two"] == [SECOND]
    assert unscored(answer) == unscored(await scene.plainly())


async def test_the_level_up_to_which_answers_are_kept_holds_for_those_that_are_kept(
    stack: Stack, company: Company, stack_urls: DatabaseUrls
) -> None:
    scene = await Scene.of(stack, company, stack_urls)
    await warmed(scene)
    await scene.patch("/v1/settings", {"cache": {"max_classification": "public"}})
    assert [(await scene.ask())[2] for _ in range(2)] == [False, False]


def unscored(answer: Any) -> Any:
    """All of an answer, in its order, but what the index weighs by points that may be on their way out."""
    if isinstance(answer, tuple):
        return answer
    return {
        **answer,
        "results": [
            {name: value for name, value in hit.items() if name not in WEIGHED} for hit in answer["results"]
        ],
    }


async def warmed(scene: Scene) -> set[str] | Refused:
    """What is found, once it is told from the cache: points may have to follow what was changed before."""

    async def from_cache() -> tuple[set[str] | Refused] | None:
        found, _, is_cached = await scene.ask()
        return (found,) if is_cached else None

    return (await eventually(from_cache))[0]


@asynccontextmanager
async def recuts_wait(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """No passage is cut anew until this is left."""
    may_go, embedded = asyncio.Event(), Recutting._embedded

    async def waiting(*parts: Any) -> Any:
        await may_go.wait()
        return await embedded(*parts)

    monkeypatch.setattr(Recutting, "_embedded", waiting)
    try:
        yield
    finally:
        may_go.set()
